"""Points with values in other ranges than the usual ones: large, far below zero, far from zero in relation to how much
they differ, and the same in each row.

What overflows, what starts a maximum at a number, and what cancels is right on values about zero. A layer is taken to
compute in FP32 whatever its tensors' types are: it may be off by what its result moves by if its inputs are off by a
few roundings of FP32.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from pluginkit.dtypes import DType
from pluginkit.network.networks import Array
from pluginkit.testing.points import Point, generator

_LARGE: dict[DType, float] = {DType.FLOAT16: 1000.0, DType.BFLOAT16: 1e5}
"""Of other types `_WIDEST`. A sum of some FP16 numbers of such a size has no FP16 number."""
_WIDEST = 1e5
_FAR = 256.0
"""How far from zero: FP16's numbers are a quarter apart there."""


def points(point: Point, kind: DType, seed: int) -> list[Point]:
    """The points, with the shapes of another one; none where it has no floating-point values.

    Args:
        point: whose shapes they have.
        kind: the coarsest floating-point type that the plugin reads or writes.
        seed: what the values follow from.
    """
    if not any(array.dtype.kind == "f" and array.size for array in point.feeds.values()):
        return []
    most = _LARGE.get(kind, _WIDEST)

    def made(name: str, draw: Callable[[np.random.Generator, Array], Array]) -> Point:
        feeds = {
            key: draw(generator(seed, name, point.profile, key), array).astype(np.float32).reshape(array.shape)
            if array.dtype.kind == "f"
            else array
            for key, array in point.feeds.items()
        }
        return replace(point, name=name, feeds=feeds)

    return [
        made("values-large", lambda rng, array: rng.uniform(-most, most, array.shape)),
        made("values-negative", lambda rng, array: rng.uniform(-most, -most * 0.7, array.shape)),
        made("values-far", lambda rng, array: _FAR + rng.normal(0.0, 1.0, array.shape)),
        made("values-constant", _constant),
    ]


def _constant(rng: np.random.Generator, array: Array) -> Array:
    rows = rng.normal(0.0, 2.0, (*array.shape[:-1], 1) if array.ndim else ())
    return np.broadcast_to(rows, array.shape)
