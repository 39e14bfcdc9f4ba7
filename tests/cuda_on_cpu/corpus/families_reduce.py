"""Reductions and histograms."""

from __future__ import annotations

from typing import Any

import numpy as np

from .cases import exact, kernel, near


def _values(rng: np.random.Generator, n: int) -> np.ndarray:
    return (rng.standard_normal(n) + 0.5).astype(np.float32)


def _total(x: np.ndarray, terms: int) -> Any:
    """The sum of all; its error comes with the sum of what is added, not with what is left of it."""
    wide = x.astype(np.float64)
    return near(wide.sum(keepdims=True), terms=terms, scale=np.abs(wide).sum())


@kernel((10, 64), (1001, 64), (5000, 128), (10007, 256), (10007, 512))
def reduce_tree(rng: np.random.Generator, n: int, threads: int) -> list[Any]:
    x = _values(rng, n)
    return [x, _total(x, n // (6 * threads) + 20), n, threads]


@kernel((33,), (10007,))
def reduce_shuffle(rng: np.random.Generator, n: int) -> list[Any]:
    x, wide = _values(rng, n), rng.standard_normal(n)
    integers = rng.integers(-(10**9), 10**9, n).astype(np.int32)
    extremes = np.array([integers.min(), integers.max()], np.int32)
    found = np.array([2**31 - 1, -(2**31)], np.int32)
    wide_sum = near(wide.sum(keepdims=True), np.float64, terms=0, scale=np.abs(wide).sum() * 2**-24)
    return [x, wide, integers, _total(x, n // 288 + 20), wide_sum, exact(extremes, found), n]


@kernel((100,), (20011,))
def reduce_last_block(rng: np.random.Generator, n: int) -> list[Any]:
    x = _values(rng, n)
    halves = np.array([x.astype(np.float64).sum(), x[: n // 2].astype(np.float64).sum()])
    return [x, near(halves, terms=n // 1600 + 30, scale=np.abs(x.astype(np.float64)).sum()), n]


@kernel(
    (1001, 7),
)
def reduce_cas(rng: np.random.Generator, n: int, bins: int) -> list[Any]:
    x = _values(rng, n)
    at = rng.integers(0, bins, n).astype(np.int32)
    largest = np.array([x[at == b].max() for b in range(bins)])
    products = np.array([x[at == b].astype(np.float64).prod() for b in range(bins)])
    close = near(products, np.float64, scale=np.abs(products) * 2**-24, initial=np.ones(bins))
    return [x, at, exact(largest, np.full(bins, -1e30, np.float32)), close, n, bins]


@kernel((5, 33), (7, 500))
def reduce_tiles(rng: np.random.Generator, rows: int, columns: int) -> list[Any]:
    x = _values(rng, rows * columns).reshape(rows, columns)
    wide = x.astype(np.float64)
    sums = near(wide.sum(1), terms=columns // 8 + 4, scale=np.abs(wide).sum(1))
    return [x, sums, exact(x.max(1)), rows, columns]


@kernel((10,), (3002,))
def dot_half(rng: np.random.Generator, n: int) -> list[Any]:
    a, b = _values(rng, n).astype(np.float16), _values(rng, n).astype(np.float16)
    products = a.astype(np.float64) * b
    size = np.abs(products).sum()
    total = products.sum(keepdims=True)
    # In half each addition has an error of 2**-11 of the sum so far.
    narrow = near(total, np.float16, terms=(n // 64 + 8) * 2**13, scale=size)
    return [a, b, near(total, terms=n // 192 + 10, scale=size), narrow, n]


@kernel((1000, 17, 50), (333, 5, 9))
def segment_sum(rng: np.random.Generator, n: int, rows: int, width: int) -> list[Any]:
    ids = np.sort(rng.integers(0, rows, n)).astype(np.int32)
    ids[ids == 2] = 3  # a row without elements
    offsets = np.searchsorted(ids, np.arange(rows + 1)).astype(np.int32)
    columns = rng.integers(0, width, n).astype(np.int32)
    values, dense = _values(rng, n), _values(rng, width)
    weighted = values.astype(np.float64) * dense[columns]
    product = np.bincount(ids, weighted, rows)
    sums = np.bincount(ids, values.astype(np.float64), rows)
    sizes = np.bincount(ids, np.abs(values.astype(np.float64)), rows)
    counts = np.bincount(ids, minlength=rows).astype(np.int32)
    outputs = [near(product, terms=n, scale=np.bincount(ids, np.abs(weighted), rows)), near(sums, terms=n, scale=sizes)]
    return [values, columns, dense, offsets, ids, *outputs, exact(counts), n, rows, width]


@kernel((1003, 10), (10001, 77))
def histogram(rng: np.random.Generator, n: int, bins: int) -> list[Any]:
    data = (rng.integers(0, 256, n) * rng.integers(0, 2, n)).astype(np.uint8)
    low, high = -1.0, 1.5
    # In the middle of bins: their edges are at the mercy of the last bit.
    at = rng.integers(-3, bins + 3, n)
    x = (low + (high - low) * (at + 0.5) / bins).astype(np.float32)
    counts = np.bincount(at[(at >= 0) & (at < bins)], minlength=bins).astype(np.int32)
    byte_bins = np.bincount(data, minlength=256).astype(np.uint32)
    return [data, x, exact(byte_bins), exact(counts), bins, low, high, n]
