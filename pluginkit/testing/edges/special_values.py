"""The point `special`: NaN, infinities and denormals at a few places, and the output elements that they may change.

A layer may pass NaN and infinities on or not: no document of TensorRT says. Elements that don't depend on them must be
as they are without. Which these are follows from the reference: they are the same whatever stands at those places.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from pluginkit.dtypes import DType
from pluginkit.errors import CheckFailed
from pluginkit.network.model import Array, Tolerance
from pluginkit.testing.points import generator

_NOT_FINITE = (np.nan, np.inf, -np.inf)
_DENORMALS: dict[DType, float] = {DType.FLOAT32: 1e-40, DType.BFLOAT16: 1e-40, DType.FLOAT16: 3e-6}
_OTHERS = (60.0, -60.0, 0.5, -0.5, 0.0, *_NOT_FINITE)
"""What stands in the places of what isn't finite: where all give the same, nothing depends on these places."""
_FEWEST = 32
"""Elements of an input that has room for special values."""


@dataclass(frozen=True)
class Special:
    """Feeds with special values, what must come out, and which elements of it mean nothing."""

    feeds: dict[str, Array]
    expected: dict[str, Array]
    arbitrary: dict[str, Array]


def make(
    feeds: Mapping[str, Array],
    kind: DType,
    seed: int,
    oracle: Callable[[dict[str, Array]], dict[str, Array]],
    tolerance: Tolerance,
) -> Special | None:
    """The special values in feeds of the network `plain`; None where there is no room, or the reference refuses them.

    Args:
        feeds: of another point.
        kind: the precision, which is no INT8.
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

    def filled(not_finite: tuple[float, ...], denormals: tuple[float, float]) -> dict[str, Array]:
        found = {name: array.copy() for name, array in feeds.items()}
        for name, where in places.items():
            found[name].flat[where] = (*not_finite, *denormals)
        return found

    tiny = _DENORMALS[kind]
    given = filled(_NOT_FINITE, (tiny, -tiny))
    try:
        expected = oracle(filled((0.0,) * 3, (tiny, -tiny)))
        answers = [oracle(filled((value,) * 3, (tiny, -tiny))) for value in _OTHERS] + [oracle(given)]
        flushed = oracle(filled((0.0,) * 3, (0.0, -0.0)))
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
