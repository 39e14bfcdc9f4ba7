"""`pluginkit doctor --cut`: the parts are compared with the whole by onnxruntime, and written."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx

from pluginkit.errors import CheckFailed, UsageError
from pluginkit.importing import inputs, onnx_graph, plugin_node, running
from pluginkit.importing.cutting.parts import Part, parts
from pluginkit.importing.files import external
from pluginkit.importing.rewrites import fixing
from pluginkit.network.networks import Array, NetworkProfile

POINTS = range(3)
"""Min, opt and max of a profile."""


@dataclass(frozen=True)
class Cut:
    """What came of it.

    Attributes:
        parts: the parts, from front to back.
        files: their files.
        profiles: of each part what `--profile` takes: the sizes, or values of shape tensors, that its inputs have at
            the whole model's min, opt and max. Empty where onnxruntime can't run the model.
        difference: the largest difference of an element between the parts one after the other and the whole; None if
            onnxruntime can't run the model.
    """

    parts: tuple[Part, ...]
    files: tuple[Path, ...]
    profiles: tuple[tuple[str, ...], ...]
    difference: float | None


def cut(
    model: Path, cuts: Sequence[Sequence[str]], into: Path, profile: NetworkProfile, *, seed: int, timeout: float
) -> Cut:
    """Write a model's parts as MODEL-A.onnx, MODEL-B.onnx, ...

    Args:
        model: the file.
        cuts: as of `parts`.
        into: the folder to write to.
        profile: the shapes of random inputs.
        seed: what these follow from.
        timeout: seconds for each run.

    Raises:
        UsageError: the model can't be cut there, or a file can't be written.
        ToolMissing: onnxruntime isn't installed.
        CheckFailed: the parts give other values. Nothing is written.
    """
    proto = onnx_graph.load(model)
    if missing := external.left_out(proto):
        raise UsageError(f"{model} can't be cut: {missing}.")
    found = parts(proto, cuts)
    files = tuple(into / f"{model.stem}-{part.name}.onnx" for part in found)
    profiles: tuple[tuple[str, ...], ...] = tuple(() for _ in found)
    largest: float | None = None
    try:
        made, largest = _run(proto, found, profile, seed, timeout)
    except UsageError:
        # The model has operators that onnxruntime lacks: its parts can be written all the same.
        pass
    else:
        for part in found:
            _declare(part, made)
        profiles = tuple(tuple(_ranges(part, made)) for part in found)
    for part, file in zip(found, files, strict=True):
        fixing.write(part.model, file)
    return Cut(found, files, profiles, largest)


def _run(
    proto: onnx.ModelProto, found: Sequence[Part], profile: NetworkProfile, seed: int, timeout: float
) -> tuple[list[dict[str, Array]], float]:
    """All tensors at the parts' ends, at min, opt and max, and the largest difference."""
    feeds = [
        inputs.draw(proto, fixing.at(profile, point), plugin_node.DOMAIN, np.random.default_rng(seed))[0]
        for point in POINTS
    ]
    expected = running.standards(proto, feeds, timeout)
    every: list[dict[str, Array]] = [dict(one) for one in feeds]
    for part in found:
        names = [value.name for value in part.model.graph.input]
        given = [{name: made[name] for name in names if name in made} for made in every]
        try:
            outputs = running.standards(part.model, given, timeout)
        except UsageError as error:
            raise CheckFailed(f"Nothing is written: part {part.name} can't be run: {error.message}") from None
        for made, more in zip(every, outputs, strict=True):
            made.update(more)
    largest = max(
        fixing.difference(name, made[name], one)
        for made, results in zip(every, expected, strict=True)
        for name, one in results.items()
    )
    return every, largest


def _declare(part: Part, made: Sequence[dict[str, Array]]) -> None:
    """Ranks, and the dimensions that are always the same, of what crosses into a part and has no shape yet."""
    for value in part.model.graph.input:
        if not value.type.tensor_type.HasField("shape"):
            sizes = zip(*(one[value.name].shape for one in made), strict=True)
            shape = [size[0] if len(set(size)) == 1 else None for size in sizes]
            kind = value.type.tensor_type.elem_type
            value.CopyFrom(onnx.helper.make_tensor_value_info(value.name, kind, shape))


def _ranges(part: Part, made: Sequence[dict[str, Array]]) -> Iterator[str]:
    for value in part.model.graph.input:
        name = value.name
        shaped = name not in part.shape_inputs
        points = [one[name].shape if shaped else tuple(one[name].reshape(-1).tolist()) for one in made]
        rises = all(0 <= low <= best <= high for low, best, high in zip(*points, strict=True))
        if points[0] and rises and (not shaped or len(set(points)) > 1):
            low, best, high = ("x".join(map(str, point)) for point in points)
            yield f"{name}:min={low},opt={best},max={high}"
