"""Kernels that are here for the way they are launched or written."""

from __future__ import annotations

from typing import Any

import numpy as np

from .cases import exact, kernel, near


@kernel((1001, 0), (77, 1))
def axpy_launch(rng: np.random.Generator, n: int, negate: int) -> list[Any]:
    x, y = (rng.standard_normal(n).astype(np.float32) for _ in range(2))
    expected = y + (-0.75 if negate else 0.75) * x.astype(np.float64)
    return [x, near(expected, initial=y), 0.75, negate, n]


@kernel((2, 5, 3, 7), (1, 9, 2, 10), (2, 3, 4, 32))
def split_qkv(rng: np.random.Generator, batch: int, length: int, heads: int, size: int) -> list[Any]:
    x = rng.standard_normal((batch, length, 3, heads, size)).astype(np.float16)
    bias = rng.standard_normal((3, heads, size)).astype(np.float16)
    expected = (x + bias).transpose(2, 0, 3, 1, 4).copy()
    return [x, bias, exact(expected), batch, length, heads, size]


@kernel((1001,))
def function_table(rng: np.random.Generator, n: int) -> list[Any]:
    x = (rng.standard_normal(n) * 3).astype(np.float32)
    w = x.astype(np.float64)
    softplus = np.log1p(np.exp(w))
    a = np.abs(w) + 1
    turn = np.arctan2(np.sin(w), np.cos(w))
    expected = [
        np.maximum(w, 0),
        softplus,
        w * np.tanh(softplus),
        np.where(w > 0, w, np.expm1(np.minimum(w, 0))),
        0.5 * w**3 - 1.25 * w**2 + 0.75 * w + 2,
        np.sin(w) * np.cos(w) + turn + np.sqrt(0.5) + 1,
        np.sqrt(a) + np.cbrt(a) + a**-0.5 + (a**2 + 1) ** -0.5 + 2**-a + np.log2(a) + a**0.3 + np.clip(w, 0, 1),
    ]
    scale = np.array([np.abs(each).max() for each in expected])[:, None]
    return [x, near(np.stack(expected), terms=16, scale=scale), n]


@kernel((1001, 0), (500, 1))
def printed_report(rng: np.random.Generator, n: int, loud: int) -> list[Any]:
    x = rng.standard_normal(n).astype(np.float32)
    x[[70, 80, 130]], x[[90, 91]] = np.nan, [np.inf, -np.inf]
    return [x, exact(np.array([3, 2], np.int32)), n, loud]
