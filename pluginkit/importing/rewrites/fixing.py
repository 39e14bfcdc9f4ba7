"""`pluginkit doctor --fix OUT.onnx`: known rewrites, compared with the original by onnxruntime first."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx

from pluginkit.errors import CheckFailed, PluginkitError, UsageError, unwritable
from pluginkit.importing import inputs, onnx_graph, plugin_node, running
from pluginkit.importing.files import external
from pluginkit.importing.missing_operators import MissingOperator
from pluginkit.importing.rewrites import conditionals, definitions, loop_sizes, recurrences
from pluginkit.importing.rules import structure
from pluginkit.network.networks import Array, NetworkProfile

SEEDS = 3
"""On so many random inputs a rewrite is compared with the original, at each of min and opt."""
RTOL, ATOL = 1e-4, 1e-5
"""What other operators for the same values may differ by in FP32; in FP16 ten times as much."""


@dataclass(frozen=True)
class Fixed:
    """What came of it.

    Attributes:
        changes: what was rewritten, a sentence each; nothing is written if there are none.
        runs: on how many random inputs both models gave the same.
        difference: the largest difference of an element.
    """

    changes: tuple[str, ...]
    runs: int = 0
    difference: float = 0.0


def fix(
    model: Path,
    made: Path,
    unserved: Sequence[MissingOperator],
    profile: NetworkProfile,
    *,
    seed: int,
    timeout: float,
) -> Fixed:
    """Write a model again with all known rewrites; nothing if there are none.

    Args:
        model: the file.
        made: the file to write; what was there is replaced.
        unserved: the operators that are missing.
        profile: the shapes of random inputs: of its min and its opt.
        seed: what these follow from.
        timeout: seconds for each run.

    Raises:
        UsageError: it would replace the model itself, or can't be written or compared.
        ToolMissing: onnxruntime isn't installed.
        CheckFailed: the rewritten model gives other values. Nothing is written.
    """
    if made.resolve() == model.resolve():
        raise UsageError(f"--fix would replace the model itself, {model}.", hint="Give it another file.")
    proto = onnx_graph.load(model)
    if missing := external.left_out(proto):
        raise UsageError(f"{model} can't be rewritten: {missing}.")
    if broken := next((one for one in structure.check(proto) if one.level == "error"), None):
        where = f"node {broken.node}: " if broken.node else ""
        raise UsageError(f"{model} can't be rewritten: {where}{broken.text}", hint=broken.fix)
    rewritten, changes = apply(proto, unserved)
    if not changes:
        return Fixed(())
    feeds = [random_feeds(proto, at(profile, point), seed, number) for point in (0, 1) for number in range(SEEDS)]
    largest = _compare(proto, rewritten, feeds, timeout)
    write(rewritten, made)
    return Fixed(tuple(changes), len(feeds), largest)


def apply(proto: onnx.ModelProto, unserved: Sequence[MissingOperator]) -> tuple[onnx.ModelProto, list[str]]:
    """The model with all known rewrites, not compared yet, and what was done, a sentence each."""
    copied = onnx.ModelProto()
    copied.CopyFrom(proto)
    changes = []
    for one in unserved:
        domain, _, kind = one.operator.rpartition("::")
        made = definitions.written_out(copied, [(domain, kind)]) if one.rewrite else None
        if made is not None:
            copied = made
            count = f"{len(one.nodes)} node{'s' if len(one.nodes) > 1 else ''}"
            changes.append(f"{one.operator} ({count}): written by the operators that define it")
    changes += recurrences.rewrite(copied)
    changes += loop_sizes.rewrite(copied)
    changes += conditionals.rewrite(copied)
    return copied, changes


def at(profile: NetworkProfile, point: int) -> NetworkProfile:
    """The profile with one of its points as its opt."""
    shapes = {name: (ends[point],) * 3 for name, ends in profile.shapes.items()}
    values = {name: (ends[point],) * 3 for name, ends in profile.values.items()}
    return NetworkProfile(profile.name, shapes, values)


def random_feeds(proto: onnx.ModelProto, profile: NetworkProfile, seed: int, number: int) -> dict[str, Array]:
    """Random inputs; all conditions are true in the first run and false in the second, for both branches."""
    feeds, _ = inputs.draw(proto, profile, plugin_node.DOMAIN, np.random.default_rng(seed + number))
    chosen = {0: True, 1: False}.get(number)
    if chosen is None:
        return feeds
    return {name: np.full_like(one, chosen) if one.dtype == bool else one for name, one in feeds.items()}


def _compare(
    proto: onnx.ModelProto, rewritten: onnx.ModelProto, feeds: Sequence[dict[str, Array]], timeout: float
) -> float:
    try:
        expected = running.standards(proto, feeds, timeout)
    except UsageError as error:
        raise UsageError(
            f"Nothing is written: the model itself can't be run by onnxruntime, so a rewrite of it can't be compared: "
            f"{error.message}",
            hint="Give other shapes by --profile, or remove first what onnxruntime does not have.",
        ) from None
    try:
        got = running.standards(rewritten, feeds, timeout)
    except PluginkitError as error:
        raise CheckFailed(f"Nothing is written: the rewritten model can't be run: {error.message}") from None
    return max(
        (difference(name, made[name], one[name]) for made, one in zip(got, expected, strict=True) for name in one),
        default=0.0,
    )


def difference(name: str, got: Array, expected: Array) -> float:
    """The largest difference of an element between an output of a changed model and of the original.

    Raises:
        CheckFailed: it is more than other operators for the same values may have, or types or shapes differ.
    """
    if got.shape != expected.shape or got.dtype != expected.dtype:
        raise CheckFailed(
            f"Nothing is written: '{name}' is {got.dtype} {list(got.shape)} in the rewritten model, and "
            f"{expected.dtype} {list(expected.shape)} in the original."
        )
    if expected.dtype.kind not in "fc":
        if not np.array_equal(got, expected):
            raise CheckFailed(f"Nothing is written: '{name}' has other values in the rewritten model.")
        return 0.0
    loose = 10 if expected.dtype.itemsize == 2 else 1
    wide, other = expected.astype(np.float64), got.astype(np.float64)
    if not np.allclose(other, wide, rtol=RTOL * loose, atol=ATOL * loose, equal_nan=True):
        worst = float(np.nanmax(np.abs(other - wide)))
        raise CheckFailed(f"Nothing is written: '{name}' differs by {worst:.1e} in the rewritten model.")
    finite = np.isfinite(wide) & np.isfinite(other)
    return float(np.max(np.abs(other - wide), initial=0.0, where=finite))


def write(model: onnx.ModelProto, made: Path) -> None:
    """Write a model whole or not at all.

    Raises:
        UsageError: it can't be written.
    """
    try:
        with tempfile.TemporaryDirectory(dir=made.resolve().parent, prefix=".pluginkit-") as scratch:
            file = Path(scratch) / made.name
            file.write_bytes(model.SerializeToString())
            file.replace(made)
    except OSError as error:
        raise unwritable(made, error) from None
    except ValueError as error:
        raise UsageError(f"{made} cannot be written: {error}.") from None
