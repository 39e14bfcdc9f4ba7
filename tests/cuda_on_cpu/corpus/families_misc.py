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


@kernel((100,), (5003,))
def reduce_sample(rng: np.random.Generator, n: int) -> list[Any]:
    x, wide = rng.standard_normal(n).astype(np.float32), rng.standard_normal(n)
    whole = rng.integers(-1000, 1000, n).astype(np.int32)
    limit = 0.25
    sums = [
        near(x.astype(np.float64).sum(keepdims=True), terms=n // 1280 + 30, scale=float(np.abs(x).sum())),
        near(wide.sum(keepdims=True), np.float64, terms=0, scale=np.abs(wide).sum() * 2**-24),
        exact(whole.sum(keepdims=True).astype(np.int32)),
    ]
    seen = exact((x > limit).astype(np.int32), np.zeros(n, np.int32))
    return [x, wide, whole, *sums, seen, limit, n]


def _bytes(message: np.ndarray, dtype: type = np.uint8) -> np.ndarray:
    return message.astype(np.uint32).view(np.uint8).reshape(-1, 4).view(dtype).astype(np.int64)


def _words(values: np.ndarray) -> np.ndarray:
    return values.astype(np.uint8).copy().view(np.uint32)[:, 0]


@kernel((501,))
def bit_intrinsics(rng: np.random.Generator, n: int) -> list[Any]:
    a = (rng.integers(0, 2**32, n) >> rng.integers(0, 33, n)).astype(np.uint32)
    b = rng.integers(0, 2**32, n).astype(np.uint32)
    a[:3], b[1:4] = 0, 0
    x, y = [int(v) for v in a], [int(v) for v in b]
    wide = [p << 32 | q for p, q in zip(x, y, strict=True)]
    signed = [v - 2**32 if v >= 2**31 else v for v in x], [v - 2**32 if v >= 2**31 else v for v in y]
    au, bu, as_, bs = _bytes(a), _bytes(b), _bytes(a, np.int8), _bytes(b, np.int8)
    pairs = list(zip(x, y, strict=True))

    def first_set(v: int) -> int:
        return (v & -v).bit_length()

    rows = [
        [int(f"{v:032b}"[::-1], 2) for v in x],
        [32 - v.bit_length() for v in x],
        [first_set(v) for v in x],
        [v.bit_count() + 100 * w.bit_count() for v, w in zip(x, wide, strict=True)],
        [64 - w.bit_length() + 100 * first_set(w) for w in wide],
        [((q << 32 | p) << (q & 31)) >> 32 for p, q in pairs],
        [(q << 32 | p) >> min(q & 63, 32) for p, q in pairs],
        _words(np.stack([au[:, 0], bu[:, 0], au[:, 1], bu[:, 1]], 1)),
        _words((au + bu) & 255),
        _words(np.maximum(as_, bs) & 255),
        _words(np.abs(au - bu)),
        [abs(p - q) + 7 for p, q in pairs],
        [(p & 0xFFFF) * (q & 0x7FFF) for p, q in pairs],
        [(p * q) >> 32 for p, q in zip(*signed, strict=True)],
        [(w * w) >> 96 for w in wide],
        (as_ * bs).sum(1) - 5,
        [((p >> 1) + (q >> 1) + 1) >> 1 for p, q in pairs],
        [int(f"{w:064b}"[::-1], 2) for w in wide],
    ]
    expected = np.array([[int(v) & 0xFFFFFFFF for v in row] for row in rows], np.uint32)
    return [a, b, exact(expected), n]


@kernel((333,))
def inline_ptx(rng: np.random.Generator, n: int) -> list[Any]:
    x = rng.standard_normal(n).astype(np.float32)
    i = np.arange(n)
    lane = i % 96 % 32
    positive = (x > 0).astype(int)
    before = np.cumsum(positive) - positive
    below = before - before[i - lane]
    message = np.stack(
        [below + 100 * lane, (0x89ABCDEF >> (i % 24)) & 0xFF, (i * 0x01010101 + 0x03020100) & 0xFFFFFFFF], 1
    )
    message[:, 2] = message[:, 2].astype(np.uint32).byteswap()
    y = 2.0 ** (2 * x.astype(np.float64) - 1)
    return [x, near(y), exact(message.astype(np.uint32)), n]


@kernel((1000, 5), (3000, 12))
def hash_voxels(rng: np.random.Generator, n: int, side: int) -> list[Any]:
    size = 0.5
    cells = rng.integers(-1, side + 1, (n, 3))
    points = np.concatenate([(cells + rng.uniform(0.05, 0.95, (n, 3))) * size, rng.uniform(0, 1, (n, 1))], 1)
    points = points.astype(np.float32)
    inside = ((cells >= 0) & (cells < side)).all(1)
    keys = ((cells[:, 2] * side + cells[:, 1]) * side + cells[:, 0])[inside]
    counts = np.bincount(keys, minlength=side**3)
    sums = np.stack([np.bincount(keys, points[inside, c].astype(np.float64), side**3) for c in range(4)], 1)
    means = sums / np.maximum(counts, 1)[:, None]
    output = near(means, terms=int(counts.max()), scale=size * side)
    return [points, output, exact(counts.astype(np.uint32)), n, side, size]


@kernel((7, 1001), (2, 300))
def stream_pipeline(rng: np.random.Generator, chunks: int, size: int) -> list[Any]:
    x = rng.standard_normal((chunks, size)).astype(np.float32)
    calls = exact(np.array([chunks], np.int32), np.zeros(1, np.int32))
    return [x, near((x.astype(np.float64) ** 2).sum(0), terms=chunks), calls, chunks, size]


@kernel((100,), (237,))
def nbody(rng: np.random.Generator, n: int) -> list[Any]:
    bodies = np.concatenate([rng.standard_normal((n, 3)) * 3, rng.uniform(0.1, 1, (n, 1))], 1).astype(np.float32)
    wide = bodies.astype(np.float64)
    apart = wide[None, :, :3] - wide[:, None, :3]
    parts = wide[None, :, 3:] * apart / ((apart**2).sum(-1, keepdims=True) + 1e-3) ** 1.5
    # A difference of two places has an error of a unit of the places, that of near bodies is much more of their own.
    return [bodies, near(parts.sum(1), terms=n + 64, scale=float(np.abs(parts).sum(1).max())), n]


@kernel((13, 150, 3), (40, 33, 8))
def separable_filter(rng: np.random.Generator, height: int, width: int, radius: int) -> list[Any]:
    image = rng.integers(0, 256, (height, width)).astype(np.uint8)
    taps = (rng.integers(1, 9, 2 * radius + 1) / 64).astype(np.float32)  # every sum is exact: so are the ties

    def filtered(rows: np.ndarray) -> np.ndarray:
        padded = np.pad(rows, ((0, 0), (radius, radius)), mode="edge")
        return np.stack([np.convolve(row, taps[::-1].astype(np.float64), "valid") for row in padded])

    between = filtered(image.astype(np.float64))
    both = np.clip(np.rint(filtered(between.T).T), 0, 255)
    outputs = [exact(between.astype(np.float32)), exact(both.astype(np.uint8))]
    return [image, taps, *outputs, height, width, radius]


@kernel((200, 700), (50, 60))
def breadth_first(rng: np.random.Generator, nodes: int, edge_count: int) -> list[Any]:
    sources = np.sort(rng.integers(0, nodes, edge_count))
    edges = rng.integers(0, nodes, edge_count).astype(np.int32)
    offsets = np.searchsorted(sources, np.arange(nodes + 1)).astype(np.int32)
    start = int(sources[0])
    levels = np.full(nodes, -1, np.int32)
    levels[start] = 0
    frontier = [start]
    while frontier:
        found = [int(edges[e]) for node in frontier for e in range(offsets[node], offsets[node + 1])]
        following = sorted({node for node in found if levels[node] < 0})
        levels[following] = levels[frontier[0]] + 1
        frontier = following
    return [offsets, edges, exact(levels), nodes, edge_count, start]


@kernel((3, 0), (5, 1))
def fft_shared(rng: np.random.Generator, rows: int, inverse: int) -> list[Any]:
    x = rng.standard_normal((rows, 128, 2)).astype(np.float32)
    z = x.astype(np.float64) @ np.array([1, 1j])
    y = np.fft.ifft(z) * 128 if inverse else np.fft.fft(z)
    return [x, near(np.stack([y.real, y.imag], -1), terms=7 * 4), rows, inverse]


@kernel(
    (300, 3),
)
def lambda_tile(rng: np.random.Generator, n: int, radius: int) -> list[Any]:
    x = rng.standard_normal(n).astype(np.float32)
    padded = np.zeros(-(-n // 64) * 64)
    padded[:n] = x
    tiles = np.pad(padded.reshape(-1, 64), ((0, 0), (radius, radius)))
    sums = np.lib.stride_tricks.sliding_window_view(tiles, 2 * radius + 1, axis=1).sum(-1)
    return [x, near(sums.reshape(-1)[:n], terms=2 * radius), n, radius]
