"""Kernels on CUB, in one group: its headers take the longest to compile."""

from __future__ import annotations

from typing import Any

import numpy as np

from .cases import exact, kernel, near


def _normal(rng: np.random.Generator, dtype: type, *shape: int) -> np.ndarray:
    return (rng.standard_normal(shape) * 1.5 + 0.25).astype(dtype)


@kernel((4, 30, 0), (3, 257, 0), (3, 385, 1))
def layer_norm_cub(rng: np.random.Generator, rows: int, width: int, half: int) -> list[Any]:
    dtype = np.float16 if half else np.float32
    x, skip = _normal(rng, dtype, rows, width), _normal(rng, dtype, rows, width)
    beta, gamma = _normal(rng, dtype, width), _normal(rng, dtype, width)
    added = (x.astype(np.float32) + skip.astype(np.float32)).astype(dtype)  # the kernel stores it in between
    wide = added.astype(np.float64)
    mean = wide.mean(1, keepdims=True)
    expected = (wide - mean) / np.sqrt(wide.var(1, keepdims=True) + 1e-5) * gamma + beta
    return [x, skip, beta, gamma, near(expected, dtype, terms=width // 8 + 64), rows, width, half]


@kernel((1, 100), (3, 1001))
def scan_cub(rng: np.random.Generator, rows: int, n: int) -> list[Any]:
    x = rng.integers(-100, 100, (rows, n)).astype(np.int32)
    sums = np.cumsum(x, 1).astype(np.int32)
    return [x, exact(sums), exact(sums - x), rows, n]


@kernel((5, 100, 0), (6, 1001, 1))
def reduce_cub(rng: np.random.Generator, rows: int, columns: int, raking: int) -> list[Any]:
    x = rng.permutation(rows * columns).reshape(rows, columns).astype(np.float32) / 64
    sums = near(x.astype(np.float64).sum(1), terms=columns // 96 + 12, scale=np.abs(x).sum(1))
    return [x, sums, exact(x.argmax(1).astype(np.int32)), exact(x.max(1)), rows, columns, raking]
