"""Matrices, convolutions and pooling."""

from __future__ import annotations

from typing import Any

import numpy as np

from .cases import exact, kernel, near


def _normal(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return rng.standard_normal(shape).astype(np.float32)


def _windows(x: np.ndarray, size: int, stride: int, padding: int, fill: float = 0.0) -> np.ndarray:
    """[..., out height, out width, size, size] of [..., height, width]."""
    pads = [(0, 0)] * (x.ndim - 2) + [(padding, padding)] * 2
    padded = np.pad(x, pads, constant_values=fill)
    windows = np.lib.stride_tricks.sliding_window_view(padded, (size, size), axis=(-2, -1))
    return windows[..., ::stride, ::stride, :, :]


@kernel((33, 17, 50), (16, 64, 7), (1, 1, 1))
def gemm_tiled(rng: np.random.Generator, m: int, n: int, k: int) -> list[Any]:
    a, b, c = _normal(rng, m, k), _normal(rng, k, n), _normal(rng, m, n)
    wide = a.astype(np.float64) @ b * 0.5 + c * 2.0
    scale = np.abs(a.astype(np.float64)) @ np.abs(b) + 2 * np.abs(c)
    return [a, b, near(wide, terms=k, scale=scale, initial=c), m, n, k, 0.5, 2.0]


@kernel((37, 70, 45, 1), (64, 32, 5, 0))
def gemm_registers(rng: np.random.Generator, m: int, n: int, k: int, biased: int) -> list[Any]:
    a, b, bias = _normal(rng, m, k), _normal(rng, k, n), _normal(rng, n)
    wide = a.astype(np.float64) @ b + (bias if biased else 0)
    scale = np.abs(a.astype(np.float64)) @ np.abs(b) + np.abs(bias)
    return [a, b, bias, near(wide, terms=k, scale=scale), m, n, k, biased]


@kernel((33, 17, 100), (5, 40, 64))
def gemm_int8(rng: np.random.Generator, m: int, n: int, k: int) -> list[Any]:
    a, b = rng.integers(-128, 128, (m, k)).astype(np.int8), rng.integers(-128, 128, (n, k)).astype(np.int8)
    scales = (2.0 ** rng.integers(-12, -8, n)).astype(np.float32)  # exact, ties included
    sums = a.astype(np.int64) @ b.astype(np.int64).T
    c = np.clip(np.rint(sums * scales.astype(np.float64)), -128, 127)
    return [a, b, scales, exact(sums.astype(np.int32)), exact(c.astype(np.int8)), m, n, k]


@kernel((10, 77), (7, 500), (2, 13004))
def matvec(rng: np.random.Generator, rows: int, columns: int) -> list[Any]:
    matrix, vector = _normal(rng, rows, columns), _normal(rng, columns)
    wide = matrix.astype(np.float64)
    output = near(wide @ vector, terms=columns // 32 + 8, scale=np.abs(wide) @ np.abs(vector))
    return [matrix, vector, output, rows, columns]


@kernel(
    (2, 3, 4, 13, 19),
)
def conv3x3(rng: np.random.Generator, batch: int, channels: int, filters: int, height: int, width: int) -> list[Any]:
    x, w = _normal(rng, batch, channels, height, width), _normal(rng, filters, channels, 3, 3)
    bias = _normal(rng, filters)
    wide = np.einsum("bcyxij,fcij->bfyx", _windows(x.astype(np.float64), 3, 1, 1), w) + bias[:, None, None]
    return [x, w, bias, near(np.maximum(wide, 0), terms=9 * channels), batch, channels, filters, height, width]


@kernel((2, 3, 13, 19, 3, 1), (1, 5, 18, 7, 3, 2), (1, 2, 11, 30, 5, 1))
def conv_depthwise(
    rng: np.random.Generator, batch: int, channels: int, height: int, width: int, size: int, stride: int
) -> list[Any]:
    x, w = _normal(rng, batch, channels, height, width), _normal(rng, channels, size, size)
    wide = np.einsum("bcyxij,cij->bcyx", _windows(x.astype(np.float64), size, stride, size // 2), w)
    return [x, w, near(wide, terms=size * size), batch, channels, height, width, size, stride]


@kernel((13, 37, 5), (4, 16, 1))
def stencil_2d(rng: np.random.Generator, height: int, width: int, steps: int) -> list[Any]:
    x = _normal(rng, height, width)
    wide = x.astype(np.float64)
    for _ in range(steps):
        padded = np.pad(wide, 1, mode="edge")
        around = padded[:-2, 1:-1] + padded[2:, 1:-1] + padded[1:-1, :-2] + padded[1:-1, 2:]
        wide = wide + 0.125 * (around - 4 * wide)
    return [x, near(wide, terms=8 * steps, scale=float(np.abs(x).max())), height, width, steps, 0.125]


@kernel((3, 13, 17, 3, 2, 1), (2, 8, 8, 2, 2, 0))
def max_pool(
    rng: np.random.Generator, planes: int, height: int, width: int, size: int, stride: int, padding: int
) -> list[Any]:
    x = rng.permutation(planes * height * width).reshape(planes, height, width).astype(np.float32)
    windows = _windows(x, size, stride, padding, -np.inf)
    best = windows.max((-2, -1))
    places = np.array([[[np.flatnonzero(x[p] == v)[0] for v in row] for row in best[p]] for p in range(planes)])
    return [x, exact(best), exact(places.astype(np.int32)), planes, height, width, size, stride, padding]


@kernel((2, 9, 7, 70, 3, 2, 1, 0), (1, 6, 8, 10, 3, 1, 1, 1))
def average_pool(
    rng: np.random.Generator,
    batch: int,
    height: int,
    width: int,
    channels: int,
    size: int,
    stride: int,
    padding: int,
    counted: int,
) -> list[Any]:
    x = _normal(rng, batch, height, width, channels).astype(np.float16)
    wide = x.astype(np.float64)
    sums = _windows(wide.transpose(0, 3, 1, 2), size, stride, padding).sum((-2, -1)).transpose(0, 2, 3, 1)
    inside = _windows(np.ones((height, width)), size, stride, padding).sum((-2, -1))[:, :, None]
    pooled = near(sums / (size * size if counted else inside), np.float16, terms=size * size)
    every = near(wide.mean((1, 2)), terms=height * width // 8 + 8, scale=np.abs(wide).mean((1, 2)))
    return [x, pooled, every, batch, height, width, channels, size, stride, padding, counted]
