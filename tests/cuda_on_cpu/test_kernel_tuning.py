"""Other block sizes and packs change no bit of what the device headers' kernels write; by g++, and by nvcc on a GPU.

Rows and scans take a maximum here. A sum is added up in another order with other values: its last bits may differ. Some
kernels that move and choose elements write how they were launched: that values are taken is seen.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from .conftest import EVERYWHERE, at

pytestmark = [pytest.mark.compile, pytest.mark.slow]  # half a minute of CPU to compile, and a minute
Load = Callable[[str], ctypes.CDLL]
SIZES = (1, 15, 16, 17, 4096, 5 * 4096 + 3)
COLUMNS = (5, 64, 512, 1027, 4100)
by_two = pytest.mark.parametrize("anywhere", [EVERYWHERE[0], EVERYWHERE[-1]], indirect=True)
"""What clang++ makes of the headers the other tests see."""


def every_set(call: Callable[[int, np.ndarray], int], like: np.ndarray, sets: int = 3) -> np.ndarray:
    """What the usual values write; the other sets must write the same."""
    found = []
    for number in range(sets):
        y = np.full(like.shape, 77, like.dtype)
        assert call(number, y) == 0
        found.append(y)
    assert [one.tobytes() == found[0].tobytes() for one in found] == [True] * sets
    return found[0]


@by_two
def test_values_change_no_results(anywhere: Load) -> None:
    library = anywhere("kernel_tuning")
    rng = np.random.default_rng(0)
    wide = ctypes.c_int64
    for n in SIZES:
        x = rng.integers(-128, 128, n).astype(np.int8)
        found = every_set(lambda number, y, x=x, n=n: library.leaky(number, at(x), at(y), wide(n)), x)
        number = x.astype(np.float32) * np.float32(0.7)
        wanted = np.clip(np.rint(np.where(number >= 0, number, np.float32(0.1) * number) * 2), -128, 127)
        assert np.abs(found - wanted).max() <= 1
        bias = rng.integers(-128, 128, 48).astype(np.int8)
        every_set(lambda number, y, x=x, n=n, b=bias: library.biased(number, at(x), at(b), at(y), wide(n), wide(48)), x)
    for columns in COLUMNS:
        rows = rng.standard_normal((3, columns)).astype(np.float32)
        sizes = wide(3), wide(columns)
        found = every_set(lambda number, y, r=rows, s=sizes: library.centred(number, at(r), at(y), *s), rows)
        np.testing.assert_array_equal(found, rows - rows.max(axis=1, keepdims=True))
        found = every_set(lambda number, y, r=rows, s=sizes: library.scanned(number, at(r), at(y), *s), rows)
        np.testing.assert_array_equal(found, np.maximum.accumulate(rows, axis=1))
        table = rng.standard_normal((50, columns)).astype(np.float32)
        indices = rng.integers(-1, 50, 7).astype(np.int32)
        found = every_set(
            lambda number, y, t=table, i=indices, c=columns: library.gathered(
                number, at(t), at(i), at(y), wide(7), wide(c)
            ),
            np.empty((7, columns), np.float32),
        )
        np.testing.assert_array_equal(found, table[indices])


@by_two
def test_a_set_that_there_is_not(anywhere: Load) -> None:
    library = anywhere("kernel_tuning")
    x = np.zeros(4, np.int8)
    assert library.leaky(3, at(x), at(x), ctypes.c_int64(4)) != 0


MOVES = 6
"""Sets of kernel_tuning_moves.cu: the usual one; 64 threads and 4 packs; 96 and 3; 1024 and 16; 512; 1 pack."""
THREADS = (256, 64, 96, 1024, 512, 256)
MODES = ("constant", "edge", "reflect")


def dims(*sizes: int) -> Any:
    return (ctypes.c_int64 * len(sizes))(*sizes)


def wide(*sizes: int) -> list[ctypes.c_int64]:
    return [ctypes.c_int64(size) for size in sizes]


def launches(call: Callable[[int, np.ndarray], int], like: np.ndarray) -> list[tuple[int, int]]:
    """The blocks of a launch and their threads, with each set."""
    found = []
    for number in range(MOVES):
        y = np.zeros(like.shape, np.float32)
        assert call(number, y) == 0
        assert (y == y.flat[0]).all()
        found.append(divmod(int(y.flat[0]), 2048))
    return found


@by_two
def test_transposition(anywhere: Load) -> None:
    library = anywhere("kernel_tuning_moves")
    rng = np.random.default_rng(0)
    # Small ones, tiles of packs, whole and not, and tiles of elements.
    for shape in ((3, 5, 7), (1, 336, 400), (1, 367, 363)):
        whole = rng.integers(-100, 100, shape).astype(np.int8)
        like = np.empty((shape[0], shape[2], shape[1]), np.int8)
        for scale, factor in ((0.5, 1.0), (0.25, 2.0)):
            found = every_set(
                lambda number, y, x=whole, s=scale: library.transposedInt8(
                    number, at(x), at(y), *wide(*x.shape), ctypes.c_float(s)
                ),
                like,
                MOVES,
            )
            wanted = np.clip(whole.transpose(0, 2, 1) * factor, -128, 127)
            np.testing.assert_array_equal(found, wanted)
        numbers = whole.astype(np.float32)
        found = every_set(
            lambda number, y, x=numbers: library.transposedFloat(number, at(x), at(y), *wide(*x.shape)),
            like.astype(np.float32),
            MOVES,
        )
        np.testing.assert_array_equal(found, numbers.transpose(0, 2, 1))
    for rows, columns, threads in (
        (64, 64, THREADS),
        (512, 256, (256, 64, 64, 256, 256, 256)),
        (511, 257, THREADS),
    ):
        x = np.zeros((rows, columns), np.float32)
        found = launches(lambda number, y, x=x: library.transposedLaunch(number, at(x), at(y), *wide(*x.shape)), x)
        assert [one for _, one in found] == list(threads)


@by_two
def test_padding(anywhere: Load) -> None:
    library = anywhere("kernel_tuning_moves")
    rng = np.random.default_rng(0)
    # Elements, tiles, and whole rows of few and of many words; then more than 4 MiB.
    for shape, padding in (
        ((2, 3, 9, 20), ((0, 0), (0, 0), (1, 2), (3, 1))),
        ((3, 3, 90, 260), ((1, 0), (0, 0), (2, 1), (3, 8))),
        ((1, 200_000), ((0, 1), (5, 3))),
        ((62, 47, 66), ((0, 0), (1, 1), (1, 1))),
        ((800, 5, 50), ((0, 1), (2, 2), (1, 1))),
        ((500, 500), ((1, 1), (0, 7))),
        ((1, 1_100_000), ((0, 0), (5, 3))),
        ((17_000, 64), ((1, 1), (1, 1))),
    ):
        x = rng.integers(-50, 50, shape).astype(np.int8)
        numbers = x.astype(np.float32)
        before = dims(*(first for first, _ in padding))
        for place, mode in enumerate(MODES):
            given: dict[str, Any] = {"constant_values": 5} if mode == "constant" else {}
            expected = np.pad(numbers, padding, mode=mode, **given)
            sizes = len(shape), dims(*shape), before, dims(*expected.shape), place
            found = every_set(
                lambda number, y, x=numbers, sizes=sizes: library.paddedFloat(number, at(x), at(y), *sizes),
                expected,
                MOVES,
            )
            np.testing.assert_array_equal(found, expected, f"{shape} {mode}")
            for scale in (0.5, 0.25) if x.size < 1_000_000 else ():
                factor = 0.5 / scale
                given = {"constant_values": 5 / scale} if mode == "constant" else {}
                expected = np.pad(numbers * factor, padding, mode=mode, **given).astype(np.int8)
                found = every_set(
                    lambda number, y, x=x, sizes=sizes, s=scale: library.paddedInt8(
                        number, at(x), at(y), *sizes, ctypes.c_float(s)
                    ),
                    expected,
                    MOVES,
                )
                np.testing.assert_array_equal(found, expected, f"{shape} {mode} {scale}")
    x = np.zeros(4096, np.float32)
    found = launches(lambda number, y: library.paddedLaunch(number, at(x), at(y), *wide(x.size)), x)
    assert found == [(4096 // t + (4096 % t > 0), t) for t in (256, 64, 96, 512, 512, 256)]
    for count in (250_000, 1_500_000):  # a row, of which a block has a part
        x = np.zeros(count, np.float32)
        found = launches(lambda number, y, x=x: library.paddedLaunch(number, at(x), at(y), *wide(x.size)), x)
        of_blocks = ((128, 2), (64, 4), (96, 3), (512, 1), (512, 1), (128, 1))
        assert [one for _, one in found] == [t for t, _ in of_blocks]
        assert [blocks for blocks, _ in found] == [-(-count // (4 * t * p - 4)) for t, p in of_blocks]


@by_two
def test_pooling(anywhere: Load) -> None:
    library = anywhere("kernel_tuning_moves")
    rng = np.random.default_rng(0)
    # Rows of packs, and others; images whose last rows are not a whole group of a thread's.
    for planes, height, width in ((3, 22, 64), (2, 23, 96), (1, 300, 512), (5, 13, 30)):
        x = rng.integers(-128, 128, (planes, height, width)).astype(np.int8)
        for size in (2, 3):
            low = (height + 2 * (size - 2) - size) // 2 + 1
            across = width // 2
            images = dims(planes, height, width, low, across)
            like = np.empty((planes, low, across), np.int8)
            padded = np.pad(x.astype(np.float32), ((0, 0), (size - 2, 3), (size - 2, 3)), constant_values=-np.inf)
            views = np.lib.stride_tricks.sliding_window_view(padded, (size, size), axis=(1, 2))
            views = views[:, ::2, ::2][:, :low, :across]
            found = every_set(
                lambda number, y, x=x, i=images, s=size: library.largestInt8(number, at(x), at(y), i, s), like, MOVES
            )
            wanted = np.clip(views.max(axis=(3, 4)) * np.float32(0.7) * 2, -128, 127)
            assert np.abs(found - wanted).max() <= 1
            every_set(
                lambda number, y, x=x, i=images, s=size: library.meanInt8(number, at(x), at(y), i, s), like, MOVES
            )
            numbers = x.astype(np.float32)
            found = every_set(
                lambda number, y, x=numbers, i=images, s=size: library.meanFloat(number, at(x), at(y), i, s),
                like.astype(np.float32),
                MOVES,
            )
            np.testing.assert_allclose(
                found,
                np.where(np.isinf(views), np.nan, views).mean(axis=(3, 4), where=~np.isinf(views)),
                rtol=1e-5,
                atol=1e-4,
            )
            found = launches(
                lambda number, y, x=numbers, i=images, s=size: library.poolingLaunch(number, at(x), at(y), i, s),
                like.astype(np.float32),
            )
            assert [one for _, one in found] == list(THREADS)
            packed = width % 4 == 0
            rows = (2 if size == 3 else 1, 4, 3, 16, 2 if size == 3 else 1, 1)  # of a thread
            work = [planes * -(-low // r) * (width // 4) if packed else planes * low * across for r in rows]
            assert [blocks for blocks, _ in found] == [-(-one // t) for one, t in zip(work, THREADS, strict=True)]


@by_two
def test_selection(anywhere: Load) -> None:
    library = anywhere("kernel_tuning_moves")
    library.workspaceOf.restype = ctypes.c_int64
    rng = np.random.default_rng(0)
    for shape, offset in (((7, 9), 1), ((150, 100), 0), ((350, 100), 0), ((350, 100), 1)):
        size = shape[0] * shape[1]
        x = rng.integers(0, 11, size + offset).astype(np.float32)[offset:].reshape(shape)
        workspace = np.zeros(library.workspaceOf(ctypes.c_int64(size)), np.uint8)
        expected = np.stack(np.nonzero(x > 9))
        found = np.zeros(1, np.int32)
        places = every_set(
            lambda number, y, x=x, w=workspace, f=found: library.selected(
                number, at(x), x.ndim, dims(*x.shape), at(y), at(f), at(w)
            ),
            np.empty(expected.shape, np.int64),
            MOVES,
        )
        assert found[0] == expected.shape[1]
        np.testing.assert_array_equal(places, expected)
    # More than one block's.
    x = np.zeros(20_000, np.float32)
    x[3000:] = np.resize((64, 96, 256, 512), 17_000)
    workspace = np.zeros(library.workspaceOf(ctypes.c_int64(x.size)), np.uint8)
    places = np.zeros(x.size, np.int64)
    for number, threads in enumerate((256, 256, 256, 512, 512, 256)):
        found = np.zeros(1, np.int32)
        call = (number, at(x), ctypes.c_int64(x.size), at(places), at(found), at(workspace))
        assert library.selectedByThreads(*call) == 0
        assert found[0] == 4250
        np.testing.assert_array_equal(places[:4250], np.flatnonzero(x == threads))


@by_two
def test_the_largest_of_rows(anywhere: Load) -> None:
    library = anywhere("kernel_tuning_moves")
    rng = np.random.default_rng(0)
    for columns in (5, 64, 300, 1027, 5000, 16_400, 33_000):
        x = rng.integers(-100, 100, (37, columns)).astype(np.int8)
        k = columns // 3
        order = np.argsort(-x.astype(np.int32), axis=1, kind="stable")
        among = np.zeros(x.shape, bool)
        np.put_along_axis(among, order[:, :k], values=True, axis=1)
        sizes = wide(*x.shape, k)
        found = every_set(lambda number, y, x=x, s=sizes: library.keptInt8(number, at(x), at(y), *s), x, MOVES)
        np.testing.assert_array_equal(found, np.where(among, x, 1))
        numbers = x.astype(np.float32)
        found = every_set(
            lambda number, y, x=numbers, s=sizes: library.keptFloat(number, at(x), at(y), *s), numbers, MOVES
        )
        np.testing.assert_array_equal(found, np.where(among, numbers, np.float32(0.5)))
    rows = 65
    # A block has a row: as many threads as the row's elements are worth, or as many as are asked for.
    for columns, usual in ((64, 32), (4 * 200, 64), (4 * 1500, 384), (4 * 9000, 512)):
        expected = [(rows, threads) for threads in (usual, *THREADS[1:5], usual)]
        x = np.zeros((rows, columns), np.float32)
        sizes = wide(*x.shape)
        assert launches(lambda number, y, x=x, s=sizes: library.rowsLaunch(number, at(x), at(y), *s), x) == expected
