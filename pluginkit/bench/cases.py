"""The shapes that are measured, and the bytes that each must move at least."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from pluginkit.bench.measurements import BenchCase
from pluginkit.dtypes import DType
from pluginkit.errors import NothingSelected, UsageError
from pluginkit.manifest import Manifest, Point
from pluginkit.manifest.bench_section import BenchShape

_POINTS: tuple[Point, ...] = ("min", "opt", "max")


def cases(manifest: Manifest, precisions: Sequence[DType] | None = None, names: Sequence[str] = ()) -> list[BenchCase]:
    """The shapes of `[bench]`, or without one min, opt and max of each profile, in each precision.

    Args:
        manifest: the signature.
        precisions: which of its precisions; None means all.
        names: which of the shapes; none means all.

    Raises:
        NothingSelected: no such precision or shape.
        UsageError: a shape that makes an output's dimension negative.
    """
    known = shapes(manifest)
    for name in names:
        if name not in known:
            raise NothingSelected(f"There is no shape '{name}'.", hint=f"There are: {', '.join(known)}.")
    kinds = declared(manifest, precisions)
    chosen = [shape for name, shape in known.items() if not names or name in names]
    return [case_of(manifest, shape, kind) for shape in chosen for kind in kinds]


def declared(manifest: Manifest, precisions: Sequence[DType] | None) -> list[DType]:
    """Those of the precisions that the manifest declares; None means all that it does.

    Raises:
        NothingSelected: it doesn't declare one.
    """
    there = manifest.precisions()
    for kind in precisions or ():
        if kind not in there:
            names = ", ".join(one.value for one in there)
            raise NothingSelected(f"No input of {manifest.plugin.name} is {kind.value}.", hint=f"Declared: {names}.")
    return [kind for kind in there if precisions is None or kind in precisions]


def shapes(manifest: Manifest) -> dict[str, BenchShape]:
    """The shapes of `[bench]`, or without one those of the profiles, by name."""
    return {shape.name: shape for shape in manifest.bench.shapes or _of_profiles(manifest)}


def _of_profiles(manifest: Manifest) -> list[BenchShape]:
    """Each profile's points, but none twice."""
    found: dict[tuple[tuple[str, int], ...], BenchShape] = {}
    for profile in manifest.profiles:
        for point in _POINTS:
            symbols = profile.at(point)
            name = point if len(manifest.profiles) == 1 else f"{profile.name}-{point}"
            found.setdefault(tuple(sorted(symbols.items())), BenchShape(name=name, symbols=symbols))
    return list(found.values())


def case_of(manifest: Manifest, shape: BenchShape, kind: DType) -> BenchCase:
    """A shape in a precision.

    Raises:
        UsageError: the shape makes a dimension negative.
    """
    baseline = manifest.bench.baseline if shape.baseline is None else shape.baseline
    return BenchCase(
        shape.name,
        kind,
        dict(shape.symbols),
        dict(shape.fields),
        baseline,
        shape.allowed.get(kind.value),
        least_bytes(manifest.with_fields(shape.fields), shape.symbols, kind),
    )


def least_bytes(manifest: Manifest, symbols: Mapping[str, int], kind: DType) -> int:
    """Each input read once and each output written once, in bytes.

    Raises:
        UsageError: a dimension is negative.
    """
    total = 0
    for tensor in (*manifest.inputs, *manifest.outputs):
        dims = tensor.dims(symbols)
        if any(dim < 0 for dim in dims):
            raise UsageError(f"'{tensor.name}' would have the shape {list(dims)} at {dict(symbols)}.")
        total += math.prod(dims) * manifest.type_of(tensor, kind).itemsize
    return total
