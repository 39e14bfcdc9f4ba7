"""Softmax, what comes of it, and the largest of rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from .cases import exact, kernel, near


def _softmax(x: np.ndarray, where: np.ndarray | None = None) -> np.ndarray:
    wide = x.astype(np.float64)
    if where is not None:
        wide = np.where(where, wide, -np.inf)
    e = np.exp(wide - wide.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def _scores(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return (rng.standard_normal(shape) * 3).astype(np.float32)


@kernel((1, 1), (5, 100), (3, 1025))
def softmax_naive(rng: np.random.Generator, rows: int, columns: int) -> list[Any]:
    x = _scores(rng, rows, columns)
    return [x, near(_softmax(x), terms=columns // 128 + 32), rows, columns]


@kernel((7, 33), (4, 1000))
def softmax_online(rng: np.random.Generator, rows: int, columns: int) -> list[Any]:
    x = _scores(rng, rows, columns)
    return [x, near(_softmax(x), terms=columns // 64 + 32), rows, columns]


@kernel((9, 31, 0), (6, 77, 1), (5, 128, 1), (3, 1000, 0))
def softmax_warp(rng: np.random.Generator, rows: int, columns: int, logarithm: int) -> list[Any]:
    x = _scores(rng, rows, columns)
    y = _softmax(x)
    return [x, near(np.log(y) if logarithm else y, terms=columns // 32 + 16), rows, columns, logarithm]


@kernel((2, 3, 5, 70), (1, 2, 7, 193))
def softmax_masked(rng: np.random.Generator, batch: int, heads: int, queries: int, keys: int) -> list[Any]:
    scores = _scores(rng, batch, heads, queries, keys).astype(np.float16)
    mask = rng.integers(0, 2, (batch, keys)).astype(np.uint8)
    mask[:, 3] = 1
    wide = scores.astype(np.float64) * 0.125
    expected = _softmax(wide, mask[:, None, None, :] != 0)
    # The kernel adds 1e-6 to the sum of exponentials, which is at least 1.
    output = near(expected, np.float16, terms=64 + 17, initial=scores)
    return [output, mask, 0.125, batch, heads, queries, keys]


@kernel((2, 50, 0), (3, 37, 1))
def attention_online(rng: np.random.Generator, heads: int, length: int, causal: int) -> list[Any]:
    q, k, v = (rng.standard_normal((heads, length, 32)).astype(np.float32) for _ in range(3))
    scores = q.astype(np.float64) @ k.astype(np.float64).transpose(0, 2, 1) / np.sqrt(32)
    seen = np.tri(length, dtype=bool) if causal else np.ones((length, length), bool)
    return [q, k, v, near(_softmax(scores, seen) @ v, terms=4 * length + 32), heads, length, causal]


@kernel((3, 50), (5, 1001))
def argmax(rng: np.random.Generator, rows: int, columns: int) -> list[Any]:
    x = rng.integers(-20, 20, (rows, columns)).astype(np.float32)  # with many ties
    x[rows // 2] -= 100
    indices = x.argmax(1).astype(np.int32)
    return [x, exact(x.max(1)), exact(indices), exact(np.array([x.argmax()], np.int32)), rows, columns]


@kernel((3, 40, 5), (4, 999, 7), (1, 6, 6))
def top_k(rng: np.random.Generator, rows: int, columns: int, k: int) -> list[Any]:
    x = (rng.integers(-500, 500, (rows, columns)) / 4).astype(np.float32)
    order = np.argsort(-x, axis=1, kind="stable")[:, :k].astype(np.int32)
    return [x, exact(np.take_along_axis(x, order, 1)), exact(order), rows, columns, k]
