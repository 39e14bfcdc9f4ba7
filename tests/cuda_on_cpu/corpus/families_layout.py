"""Kernels that move: transposes, gathers, scatters."""

from __future__ import annotations

from typing import Any

import numpy as np

from .cases import exact, kernel, near


@kernel((2, 33, 70, 4), (1, 100, 31, 2), (3, 8, 45, 8))
def transpose_padded(rng: np.random.Generator, batch: int, height: int, width: int, size: int) -> list[Any]:
    x = rng.integers(0, 60000, (batch, height, width)).astype({2: np.uint16, 4: np.uint32, 8: np.uint64}[size])
    return [x, exact(x.transpose(0, 2, 1).copy()), batch, height, width, size]


@kernel((2, 0, 1), (3, 1, 0, 2), (0, 2, 1, 4, 3), (5, 3, 0, 1, 4, 2))
def permute(rng: np.random.Generator, *order: int) -> list[Any]:
    extents = np.array([3, 7, 5, 2, 4, 6][: len(order)], np.int32)
    x = rng.standard_normal(extents).astype(np.float32)
    return [x, extents, np.array(order, np.int32), exact(np.transpose(x, order).copy()), len(order)]


@kernel((3, 10, 13, 0), (2, 7, 40, 1), (1, 33, 5, 2))
def pad(rng: np.random.Generator, planes: int, height: int, width: int, mode: int) -> list[Any]:
    x = rng.standard_normal((planes, height, width)).astype(np.float32)
    left, right, top, bottom = 3, 2, 4, 1
    pads = ((0, 0), (top, bottom), (left, right))
    if mode == 0:
        y = np.pad(x, pads, constant_values=-1.5)
    else:
        y = np.pad(x, pads, mode="edge") if mode == 1 else np.pad(x, pads, mode="reflect")
    return [x, exact(y), planes, height, width, left, right, top, bottom, mode, -1.5]


@kernel(
    (7, 3, 50, 11),
)
def concat(rng: np.random.Generator, outer: int, *lengths: int) -> list[Any]:
    parts = [rng.standard_normal((outer, length)).astype(np.float32) for length in lengths]
    whole = np.concatenate(parts, 1)
    return [*parts, exact(whole), exact(whole), outer, *lengths]


@kernel((2, 9, 20, 64), (3, 5, 11, 33))
def gather_embedding(rng: np.random.Generator, batch: int, length: int, vocabulary: int, width: int) -> list[Any]:
    ids = rng.integers(-2, vocabulary + 2, (batch, length)).astype(np.int32)
    segments = rng.integers(0, 2, (batch, length)).astype(np.int32)
    message, places, kinds = (rng.standard_normal((n, width)).astype(np.float32) for n in (vocabulary, length, 2))
    known = (ids >= 0) & (ids < vocabulary)
    wide = np.where(known[..., None], message[np.where(known, ids, 0)].astype(np.float64), 0)
    wide = wide + places + kinds[segments]
    return [ids, segments, message, places, kinds, near(wide, terms=2), batch, length, vocabulary, width]


@kernel(*[(9, 13, 30, reduction, kind) for reduction in range(4) for kind in range(3)])
def scatter_elements(
    rng: np.random.Generator, rows: int, columns: int, updates: int, reduction: int, kind: int
) -> list[Any]:
    # Products and sums of these are exact in every type: the order of the atomics doesn't matter.
    dtype = [np.float32, np.float16, np.int64][kind]
    choices = [1, 1, 1, -1, 2] if reduction == 1 else range(-20, 20)
    data = rng.integers(-3, 4, (rows, columns)).astype(dtype)
    update = rng.choice(choices, (updates, columns)).astype(dtype)
    indices = rng.integers(-rows, rows, (updates, columns))
    expected = data.copy()
    operation = [np.add, np.multiply, np.minimum, np.maximum][reduction]
    operation.at(expected, (indices, np.broadcast_to(np.arange(columns), indices.shape)), update)
    return [exact(expected, data), indices, update, rows, columns, updates, reduction, kind]


@kernel((50, 2, 35), (20, 1, 7))
def scatter_nd_add(rng: np.random.Generator, tuples: int, depth: int, slice_: int) -> list[Any]:
    slice_ += slice_ % 2  # pairs of halves
    extents = (6, 5)[:depth]
    shape = (*extents, slice_)
    indices = np.stack([rng.integers(0, extent, tuples) for extent in extents], 1).astype(np.int32)
    strides = np.array([int(np.prod(shape[axis + 1 :])) for axis in range(depth)], np.int32)
    outputs, updates = [], []
    for dtype in (np.float32, np.float64, np.float16):
        data = rng.integers(-5, 5, shape).astype(dtype)
        update = (rng.integers(-20, 20, (tuples, slice_)) / 4).astype(dtype)  # sums are exact
        expected = data.copy()
        np.add.at(expected, tuple(indices.T), update)
        outputs.append(exact(expected, data))
        updates.append(update)
    size = int(np.prod(shape))
    return [*outputs, indices, *updates, size, tuples, depth, slice_, strides]
