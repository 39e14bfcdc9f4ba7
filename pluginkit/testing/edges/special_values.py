"""The point `special`: NaN, infinities and denormals at a few places, and the output elements that they may change;
and points with those values that the manifest says the layer is defined for.

A layer may pass NaN and infinities on or not: no document of TensorRT says. Elements that don't depend on them must be
as they are without. Which these are follows from the reference: they are the same whatever stands at those places.
Where `pluginkit.toml` has them in `special`, the reference says what comes of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from pluginkit.dtypes import DType
from pluginkit.errors import CheckFailed
from pluginkit.network.networks import Array, Tolerance
from pluginkit.testing.edges import SPECIAL
from pluginkit.testing.points import Point, generator

_NOT_FINITE = (np.nan, np.inf, -np.inf)
_DENORMALS: dict[DType, float] = {DType.FLOAT16: 3e-6, DType.FLOAT8: 3 * 2.0**-9}
"""FP32's and BF16's are below 1.2e-38; FP8's is in steps."""
_OTHERS = (60.0, -60.0, 0.5, -0.5, 0.0, *_NOT_FINITE)
"""What stands in the places of what isn't finite: where all give the same, nothing depends on these places."""
_DEFINED: dict[str, tuple[float, ...]] = {"nan": (np.nan,), "infinity": (np.inf, -np.inf)}
"""By the names of the manifest's `special`."""
_FEWEST = 32
"""Elements of an input that has room for special values."""


@dataclass(frozen=True)
class Special:
    """Feeds with special values, what must come out, and which elements of it mean nothing."""

    feeds: dict[str, Array]
    expected: dict[str, Array]
    arbitrary: dict[str, Array]


def defined(point: Point, kinds: Sequence[str], seed: int) -> list[Point]:
    """A point for each of the manifest's `special`, with these values in each floating-point input of another point:
    each at a place of its own, as far as there are so many."""
    found = []
    for kind in kinds:
        feeds = {name: array.copy() for name, array in point.feeds.items()}
        for name, array in feeds.items():
            if array.dtype.kind == "f":
                values = _DEFINED[kind][: array.size]
                places = generator(seed, "special", kind, name).choice(array.size, len(values), replace=False)
                array.flat[places] = values
        found.append(replace(point, name=f"{SPECIAL}-{kind}", feeds=feeds))
    return found


def denormal(kind: DType, scale: float) -> float:
    """A denormal number of a type, as a real number."""
    return _DENORMALS.get(kind, 1e-40) * (scale if kind.is_quantized else 1.0)


def make(
    feeds: Mapping[str, Array],
    denormals: Mapping[str, float],
    seed: int,
    oracle: Callable[[dict[str, Array]], dict[str, Array]],
    tolerance: Tolerance,
) -> Special | None:
    """The special values in feeds of the network `plain`; None where there is no room, or the reference refuses them.

    Args:
        feeds: of another point.
        denormals: for each of them, a denormal number of the type that the plugin gets it in, which is not INT8.
        seed: what the places follow from.
        oracle: the outputs for feeds.
        tolerance: within which a denormal may be taken for zero.
    """
    places = {}
    for name, array in feeds.items():
        if array.dtype.kind == "f" and array.size >= _FEWEST:
            places[name] = generator(seed, "special", name).choice(array.size, len(_NOT_FINITE) + 2, replace=False)
    if not places:
        return None

    def filled(not_finite: tuple[float, ...], *, flushed: bool = False) -> dict[str, Array]:
        found = {name: array.copy() for name, array in feeds.items()}
        for name, where in places.items():
            tiny = 0.0 if flushed else denormals[name]
            found[name].flat[where] = (*not_finite, tiny, -tiny)
        return found

    given = filled(_NOT_FINITE)
    try:
        expected = oracle(filled((0.0,) * 3))
        answers = [oracle(filled((value,) * 3)) for value in _OTHERS] + [oracle(given)]
        flushed = oracle(filled((0.0,) * 3, flushed=True))
    except CheckFailed:
        return None
    arbitrary = {}
    for name, want in expected.items():
        if any(answer[name].shape != want.shape for answer in (*answers, flushed)):
            return None
        alike = np.ones(want.shape, np.bool_)
        for answer in answers:
            alike &= answer[name] == want
        with np.errstate(invalid="ignore"):
            off = np.abs(flushed[name] - want)
        near = (flushed[name] == want) | (off <= np.maximum(tolerance.atol, tolerance.rtol * np.abs(want)))
        arbitrary[name] = ~(alike & near)
    return Special(given, expected, arbitrary)
