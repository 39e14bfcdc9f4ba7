"""Prefix sums, and what is made with them: compaction and sorting."""

from __future__ import annotations

from typing import Any

import numpy as np

from .cases import exact, kernel, near


@kernel((77,), (1001,), (20011,))
def scan_hillis_steele(rng: np.random.Generator, n: int) -> list[Any]:
    x = rng.standard_normal(n).astype(np.float32)
    integers = rng.integers(-(2**40), 2**40, n)
    wide = x.astype(np.float64)
    sums = near(np.cumsum(wide), terms=32, scale=np.cumsum(np.abs(wide)))
    return [x, sums, integers, exact(np.cumsum(integers)), n]


@kernel((5,), (1000,), (30001,))
def scan_blelloch(rng: np.random.Generator, n: int) -> list[Any]:
    x = rng.integers(-100, 100, n).astype(np.int32)
    total = x.sum(keepdims=True).astype(np.int32)
    return [x, exact((np.cumsum(x) - x).astype(np.int32)), exact(total), n]


@kernel((31,), (160,), (10007,))
def scan_warp(rng: np.random.Generator, n: int) -> list[Any]:
    x = rng.integers(-1000, 1000, n).astype(np.int32)
    return [x, exact(np.cumsum(x).astype(np.int32)), n]


@kernel((3, 200, 5, 0, 0), (2, 65, 7, 1, 0), (4, 33, 1, 0, 1), (1, 300, 2, 1, 1))
def cumsum(rng: np.random.Generator, outer: int, length: int, inner: int, exclusive: int, reverse: int) -> list[Any]:
    x = rng.standard_normal((outer, length, inner)).astype(np.float32)

    def summed(values: np.ndarray) -> np.ndarray:
        values = values[:, ::-1] if reverse else values
        sums = np.cumsum(values, 1) - (values if exclusive else 0)
        return sums[:, ::-1] if reverse else sums

    wide = x.astype(np.float64)
    scale = np.abs(wide).sum(1, keepdims=True)
    return [x, near(summed(wide), terms=length // 64 + 12, scale=scale), outer, length, inner, exclusive, reverse]


@kernel((50,), (10007,))
def stream_compaction(rng: np.random.Generator, n: int) -> list[Any]:
    x = rng.standard_normal(n).astype(np.float32)
    x[256:700] = -1  # blocks that keep nothing
    at = np.flatnonzero(x > 0).astype(np.int32)
    kept, places = np.zeros(n, np.float32), np.full(n, -1, np.int32)
    outputs = [exact(kept.copy(), kept.copy()), exact(places.copy(), places.copy())]
    outputs[0].expected[: at.size], outputs[1].expected[: at.size] = x[at], at
    return [x, *outputs, exact(np.array([at.size], np.int32)), n]


@kernel((100, 32), (3001, 10))
def radix_sort(rng: np.random.Generator, n: int, bits: int) -> list[Any]:
    keys = rng.integers(0, 2**bits, n).astype(np.uint32)
    values = np.arange(n, dtype=np.int32)
    order = np.argsort(keys, kind="stable")
    return [keys, values, exact(keys[order]), exact(values[order]), n, bits]


@kernel((100,), (1500,))
def bitonic_sort(rng: np.random.Generator, n: int) -> list[Any]:
    keys = (rng.permutation(n) - n / 2).astype(np.float32)  # no two are equal: the sort is not stable
    values = np.arange(n, dtype=np.int32)
    order = np.argsort(keys)
    return [keys, values, exact(keys[order]), exact(values[order]), n]
