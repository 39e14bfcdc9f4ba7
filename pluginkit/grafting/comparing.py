"""Both models on the same inputs: the original by onnxruntime, the other with the plugin's kernel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx

from pluginkit.errors import CheckFailed, PluginkitError, UsageError
from pluginkit.importing import inputs, plugin_node, profiles, running
from pluginkit.importing.files import recorded
from pluginkit.importing.implementations import Implementation, PluginLibrary, find_implementations
from pluginkit.importing.plugin_node import Expected
from pluginkit.importing.profiles import POINTS
from pluginkit.importing.rewrites.fixing import at, random_feeds
from pluginkit.network.networks import Array, NetworkProfile, Tolerance
from pluginkit.onnxruntime.session import of_libraries
from pluginkit.patterns import TEXTS
from pluginkit.testing.comparison import compare


@dataclass(frozen=True)
class ComparedRun:
    """Both models on one set of inputs.

    Attributes:
        inputs: which: random at a point of the profile, or a file's.
        error: the largest difference of an element of any output.
        output: that output.
        allowed: what the tolerance allows there.
        mean: the mean difference of that output's elements; None: of integers, say.
    """

    inputs: str
    error: float
    output: str
    allowed: float
    mean: float | None


def feeds(
    model: onnx.ModelProto, profile: NetworkProfile, seed: int, data: Sequence[Path]
) -> list[tuple[str, dict[str, Array]]]:
    """What the models are run on, with what to call it: random inputs at each point of the profile; a second time at
    its opt; and those of each file, with random ones for what it lacks.

    Raises:
        UsageError: a file can't be read, or doesn't fit the model.
    """
    found: list[tuple[str, dict[str, Array]]] = []
    for point, number in ((1, 0), (1, 1), (0, 2), (2, 3)):
        here = at(profile, point)
        if number > 1 and here.shapes == at(profile, 1).shapes and here.values == at(profile, 1).values:
            continue
        found.append((f"random, {POINTS[point]}, seed {seed + number}", random_feeds(model, here, seed, number)))
    for file in data:
        given = recorded.read(model, file, None).inputs
        _shapes_fit(model, file, given)
        shapes = {name: (one.shape,) * 3 for name, one in given.items()}
        here = NetworkProfile(profile.name, {**at(profile, 1).shapes, **shapes}, at(profile, 1).values)
        drawn, _ = inputs.draw(model, here, plugin_node.DOMAIN, np.random.default_rng(seed))
        found.append((str(file), recorded.fed(file, given, drawn)))
    return found


def _shapes_fit(model: onnx.ModelProto, file: Path, given: Mapping[str, Array]) -> None:
    for one in profiles.declared_inputs(model):
        array = given.get(one.name)
        if array is None:
            continue
        fits = len(array.shape) == len(one.dims) and all(
            size in {-1, wanted} for size, wanted in zip(one.dims, array.shape, strict=True)
        )
        if not fits:
            declared = ", ".join("?" if size == -1 else str(size) for size in one.dims)
            raise UsageError(f"{file}: {one.name} has the shape {list(array.shape)}, and the model takes [{declared}].")


def tolerance(
    libraries: Sequence[PluginLibrary], grafted: onnx.ModelProto, rtol: float | None, atol: float | None
) -> Tolerance:
    """What may differ: what the user says; else what `pluginkit import` allows of these plugins."""
    plugins = [one for one in find_implementations(grafted, libraries, onnx.defs.has) if one.by == "plugin"]
    half = any(value.type.tensor_type.elem_type == onnx.TensorProto.FLOAT16 for value in grafted.graph.output)
    outputs = {"": np.zeros(0, np.float16 if half else np.float32)}
    own = running.tolerance(plugins, Expected(outputs))
    return Tolerance("close", rtol=own.rtol if rtol is None else rtol, atol=own.atol if atol is None else atol)


def run(
    original: onnx.ModelProto,
    grafted: onnx.ModelProto,
    libraries: Sequence[PluginLibrary],
    given: Sequence[tuple[str, dict[str, Array]]],
    allowed: Tolerance,
    timeout: float,
) -> list[ComparedRun]:
    """Run both, and compare.

    Raises:
        UsageError: the original can't be run by onnxruntime on these inputs.
        CheckFailed: the grafted model can't be run, or gives something else.
        PluginCrashed: the plugin ends its process, or hangs.
    """
    try:
        wanted = _outputs(original, libraries, given, timeout)
    except UsageError as error:
        raise UsageError(
            f"Nothing is written: the original can't be run, so there is nothing to compare with: {error.message}",
            hint="Give the sizes that it is for by --profile, or inputs by --data.",
        ) from None
    try:
        got = _outputs(grafted, libraries, given, timeout)
    except UsageError as error:
        raise CheckFailed(
            f"Nothing is written: the model with the plugin can't be run: {error.message}", hint=error.hint
        ) from None
    except PluginkitError as error:
        error.message = f"Nothing is written: {error.message}"
        raise
    return [_compared(name, a, b, allowed) for (name, _), a, b in zip(given, got, wanted, strict=True)]


def _outputs(
    model: onnx.ModelProto,
    libraries: Sequence[PluginLibrary],
    given: Sequence[tuple[str, dict[str, Array]]],
    timeout: float,
) -> list[dict[str, Array]]:
    implementations: list[Implementation] = find_implementations(model, libraries, onnx.defs.has)
    by_reference = [one for one in implementations if one.library is not None and one.library.target == "gpu"]
    if by_reference and all(one.member is not None for one in by_reference):
        return [running.expected(model, implementations, one, timeout).outputs for _, one in given]
    names = [value.name for value in model.graph.output]
    with of_libraries(model, libraries, timeout) as session:
        return [dict(zip(names, session.run(None, one), strict=True)) for _, one in given]


def _compared(name: str, got: Mapping[str, Array], wanted: Mapping[str, Array], allowed: Tolerance) -> ComparedRun:
    for output, value in wanted.items():
        if not isinstance(value, np.ndarray) or value.dtype.kind in TEXTS:
            raise UsageError(
                f"Nothing is written: output '{output}' is not a tensor of numbers, and TensorRT has no others."
            )
        if got[output].dtype != value.dtype:
            raise CheckFailed(
                f"Nothing is written: '{output}' is {got[output].dtype} with the plugin, {value.dtype} in the original."
            )
    found = compare(
        {key: running.narrow(value) for key, value in got.items()},
        {key: running.wide(value) for key, value in wanted.items()},
        allowed,
    )
    if not found.ok:
        raise CheckFailed(
            f"Nothing is written: on {name} inputs the model with the plugin gives other results:\n{found.message}",
            hint="Does the plugin compute what the nodes do, with these attributes? --rtol and --atol allow more.",
        )
    worst = found.worst
    return ComparedRun(name, worst.error, worst.name, worst.allowed, worst.mean)
