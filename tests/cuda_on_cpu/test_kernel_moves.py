"""Padding, pooling, selected and largest elements of pluginkit/kernels, by g++, clang++ and nvcc; against NumPy.

Not slow are FP16 and one function of pooling, by g++.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from .conftest import Kit, at

pytestmark = pytest.mark.compile
Load = Callable[[str], ctypes.CDLL]

TYPES: dict[str, Any] = {"Float": np.float32, "Half": np.float16, "Int8": np.int8}
MODES = ("constant", "edge", "reflect")
LARGEST, MEAN, SQUARES, SMALLEST = range(4)
CHANGED = 77


def dims(*sizes: int) -> Any:
    return (ctypes.c_int64 * max(len(sizes), 1))(*sizes)


def unaligned(x: np.ndarray, offset: int) -> np.ndarray:
    """The array, so many elements behind a multiple of 16 bytes."""
    memory = np.full(x.size + offset + 16, CHANGED, x.dtype)
    start = (-memory.ctypes.data % 16) // x.itemsize + offset
    memory[start : start + x.size] = x.ravel()
    return memory[start : start + x.size].reshape(x.shape)


Pads = list[tuple[tuple[int, ...], tuple[tuple[int, int], ...]]]
SHAPES: Pads = [
    ((2, 3, 9, 20), ((0, 0), (0, 0), (1, 2), (3, 1))),
    ((1, 70), ((0, 0), (5, 17))),
    ((5, 64, 3), ((1, 1), (2, 0), (0, 0))),
    ((7, 1), ((0, 2), (1, 1))),
    ((40, 2), ((0, 0), (1, 1))),
    ((3, 33), ((2, 2), (0, 0))),
    ((6,), ((1, 4),)),
    ((4, 32), ((0, 0), (0, 0))),
    ((30000, 5), ((0, 0), (1, 1))),
]
TILED: Pads = [
    ((62, 47, 64), ((0, 0), (1, 1), (1, 1))),
    ((3, 3, 90, 233), ((1, 0), (0, 0), (2, 1), (3, 8))),
    ((2, 150003), ((1, 0), (5, 3))),
    ((1900, 31), ((0, 0), (40, 33))),
    ((200001,), ((9000, 1),)),
    ((12300, 16), ((0, 3), (0, 0))),
    ((9100, 17), ((2, 0), (5, 0))),
    ((12400, 1), ((0, 0), (0, 15))),
]
"""More than 3 * 2^16 elements, of which a block makes a tile: several rows, a part of one, padding of several tiles."""
ROWS: Pads = [
    ((5, 600, 66), ((1, 2), (3, 1), (2, 1))),
    ((2, 1650, 64), ((0, 0), (1, 1), (30, 40))),
    ((800, 5, 100), ((0, 1), (2, 2), (1, 1))),
    ((900, 256), ((1, 1), (0, 7))),
    ((6300, 33), ((0, 0), (1, 0))),
    ((3, 40, 50, 55), ((1, 1), (0, 0), (2, 2), (1, 1))),
    ((2, 2, 2, 900, 35), ((1, 1), (0, 0), (1, 1), (2, 2), (3, 1))),
]
"""As many, of which a block has whole rows; padding wider than a block has threads, and of several dimensions."""


OF_HALF = pytest.mark.xdist_group("kernel_moves_of_half")
"""One worker asks for its library, and none waits for another's build."""


@pytest.fixture
def half(kit: Kit) -> ctypes.CDLL:
    return ctypes.CDLL(str(kit.library("kernel_moves_of_half", "g++")))


def pads(library: Any, name: str, mode: Any) -> None:
    for shape, padding in (*SHAPES, *TILED, *ROWS):
        values = np.random.default_rng(len(shape)).integers(-100, 100, shape).astype(TYPES[name])
        given = {"constant_values": 5} if mode == "constant" else {}
        expected = np.pad(values, padding, mode=mode, **given)
        for offset in (0, 1) if (shape, padding) in SHAPES else (0,):
            x = unaligned(values, offset)
            y = unaligned(np.full(expected.size + 1, CHANGED, x.dtype), 0)
            before = dims(*(first for first, _ in padding))
            scales = ctypes.c_float(1), ctypes.c_float(1)
            call = (at(x), at(y), len(shape), dims(*shape), before, dims(*expected.shape), MODES.index(mode))
            assert getattr(library, f"pad{name}")(*call, ctypes.c_float(5), *scales) == 0
            np.testing.assert_array_equal(y[:-1].reshape(expected.shape), expected, f"{shape} {offset}")
            assert y[-1] == CHANGED


@OF_HALF
@pytest.mark.parametrize("mode", MODES)
def test_padding_of_each_kind_in_fp16(half: ctypes.CDLL, mode: str) -> None:
    pads(half, "Half", mode)


@pytest.mark.slow
@pytest.mark.parametrize("name", TYPES)
@pytest.mark.parametrize("mode", MODES)
def test_padding_of_each_kind(anywhere: Load, name: str, mode: str) -> None:
    pads(anywhere("kernel_moves"), name, mode)


@OF_HALF
@pytest.mark.parametrize("mode", MODES)
def test_padding_below_0_cuts(half: ctypes.CDLL, mode: str) -> None:
    x = np.random.default_rng(1).integers(-100, 100, (4, 70)).astype(np.float16)
    for width in (50, 90):
        y = np.full(3 * width + 1, CHANGED, np.float16)
        floats = [ctypes.c_float(one) for one in (5, 1, 1)]
        call = (2, dims(4, 70), dims(-1, -3), dims(3, width), MODES.index(mode))
        assert half.padHalf(at(x), at(y), *call, *floats) == 0
        beyond = max(width + 3 - 70, 0)
        given = {"constant_values": 5} if mode == "constant" else {}
        expected = np.pad(x, ((0, 0), (0, beyond)), mode=mode, **given)[1:, 3 : 3 + width]  # type: ignore[call-overload]
        np.testing.assert_array_equal(y[:-1].reshape(3, width), expected)
        assert y[-1] == CHANGED


@OF_HALF
@pytest.mark.parametrize("rows", [500, 600])
@pytest.mark.parametrize("mode", MODES)
def test_padding_of_small_and_of_large_tiles(half: ctypes.CDLL, mode: str, rows: int) -> None:
    """Up to 4 MiB, and more."""
    x = np.random.default_rng(1).integers(-100, 100, (rows, 4093)).astype(np.float16)
    y = np.full((rows + 1) * 4096 + 1, CHANGED, np.float16)
    floats = [ctypes.c_float(one) for one in (5, 1, 1)]
    call = (2, dims(*x.shape), dims(1, 1), dims(rows + 1, 4096), MODES.index(mode))
    assert half.padHalf(at(x), at(y), *call, *floats) == 0
    given = {"constant_values": 5} if mode == "constant" else {}
    expected = np.pad(x, ((1, 0), (1, 2)), mode=mode, **given)  # type: ignore[call-overload]
    np.testing.assert_array_equal(y[:-1].reshape(expected.shape), expected)
    assert y[-1] == CHANGED


@OF_HALF
@pytest.mark.parametrize("columns", [5, 31, 50, 64, 101, 128, 255])
@pytest.mark.parametrize("mode", MODES)
def test_padding_of_short_rows(half: ctypes.CDLL, mode: str, columns: int) -> None:
    """Blocks of small tensors and of those of more than 4 MiB, for rows of each number of words; a cut at one side."""
    given = {"constant_values": 5} if mode == "constant" else {}
    for size, before, behind in ((400_000, 1, 1), (2_200_000, 2, 0), (400_000, -2, 3)):
        rows = size // columns
        x = np.random.default_rng(columns).integers(-100, 100, (rows, columns)).astype(np.float16)
        y = np.full((rows + 3) * (columns + before + behind) + 1, CHANGED, np.float16)
        floats = [ctypes.c_float(one) for one in (5, 1, 1)]
        wide = (rows + 3, columns + before + behind)
        call = (2, dims(*x.shape), dims(2, before), dims(*wide), MODES.index(mode))
        assert half.padHalf(at(x), at(y), *call, *floats) == 0
        whole = np.pad(x, ((2, 1), (max(before, 0), behind)), mode=mode, **given)  # type: ignore[call-overload]
        np.testing.assert_array_equal(y[:-1].reshape(wide), whole[:, max(-before, 0) :])
        assert y[-1] == CHANGED


@OF_HALF
def test_constants_around_very_many_tiles(half: ctypes.CDLL) -> None:
    """More than 16,384 blocks have a kernel of their own, which doesn't wait for the kernel before."""
    x = np.random.default_rng(1).integers(-100, 100, (16_385, 4095)).astype(np.float16)
    y = np.full(16_385 * 4096 + 1, CHANGED, np.float16)
    floats = [ctypes.c_float(one) for one in (5, 1, 1)]
    call = (2, dims(*x.shape), dims(0, 1), dims(16_385, 4096), MODES.index("constant"))
    assert half.padHalf(at(x), at(y), *call, *floats) == 0
    expected = np.pad(x, ((0, 0), (1, 0)), constant_values=5)
    np.testing.assert_array_equal(y[:-1].reshape(16_385, 4096), expected)
    assert y[-1] == CHANGED


@OF_HALF
def test_a_reflection_of_more_than_2_to_30_elements(half: ctypes.CDLL) -> None:
    """Its end alone, by padding below 0: little of the memory is ever touched."""
    size = 3 * 2**29 + 100
    cut, wide = size - 20, 70
    x = np.zeros(size, np.float16)
    x[-200:] = np.arange(200)
    y = np.zeros(wide, np.float16)
    floats = [ctypes.c_float(1)] * 3
    assert half.padHalf(at(x), at(y), 1, dims(size), dims(-cut), dims(wide), MODES.index("reflect"), *floats) == 0
    places = np.arange(cut, cut + wide)
    np.testing.assert_array_equal(y, x[np.minimum(places, 2 * (size - 1) - places)])


@OF_HALF
def test_tensors_without_elements_whatever_their_other_dimensions(half: ctypes.CDLL) -> None:
    x = np.zeros(1, np.float16)
    floats = [ctypes.c_float(1)] * 3
    for sizes in ((65536, 65536, 0), (0, 65536, 65536), (2**40, 2**40, 0)):
        assert half.padHalf(at(x), at(x), 3, dims(*sizes), dims(0, 0, 0), dims(*sizes), 0, *floats) == 0
        found = np.full(1, CHANGED, np.int32)
        assert half.selectHalf(at(x), 3, dims(*sizes), None, at(found), None, 0, 0) == 0
        assert found[0] == 0
    for sizes in ((65536, 65536, 1), (0, -1, 65536), (2**40, 2**40, 2**40)):
        assert half.padHalf(at(x), at(x), 3, dims(1, 1, 1), dims(0, 0, 0), dims(*sizes), 0, *floats) == 1
        assert half.selectHalf(at(x), 3, dims(*sizes), None, at(x), None, 0, 0) == 1


@pytest.mark.slow
def test_padding_around_nothing_a_cut_and_nonsense(anywhere: Load) -> None:
    library = anywhere("kernel_moves")
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    floats = [ctypes.c_float(one) for one in (5, 1, 1)]
    for mode in range(3):
        y = np.zeros(6, np.float32)
        assert library.padFloat(at(x), at(y), 2, dims(0, 2), dims(1, 0), dims(3, 2), mode, *floats) == 0
        np.testing.assert_array_equal(y, 5.0)
    y = np.zeros(4, np.float32)
    assert library.padFloat(at(x), at(y), 2, dims(3, 4), dims(-1, -2), dims(2, 2), 0, *floats) == 0
    np.testing.assert_array_equal(y.reshape(2, 2), x[1:, 2:])
    for sizes, expected in (((0, 4), 0), ((-1, 4), 1), ((2**31, 1), 1), ((2**20, 2**20), 1)):
        assert library.padFloat(at(x), at(y), 2, dims(3, 4), dims(0, 0), dims(*sizes), 0, *floats) == expected
    assert library.padFloat(at(x), at(y), 9, dims(3, 4), dims(0, 0), dims(3, 4), 0, *floats) == 1
    # Places of x that are no 32-bit numbers.
    assert library.padFloat(at(x), at(y), 2, dims(3, 4), dims(-(2**31) + 16, 0), dims(20, 4), 1, *floats) == 1


@pytest.mark.slow
def test_padding_of_int8_of_another_scale(anywhere: Load) -> None:
    """Elements are converted as a whole pack or one by one; the constant is of the output's scale."""
    library = anywhere("kernel_moves")
    x = np.resize(np.arange(-128, 128), 3 * 100).astype(np.int8).reshape(3, 100)
    for scales in ((0.5, 1.0), (1.0, 0.25)):
        y = np.full((3, 103), CHANGED, np.int8)
        floats = [ctypes.c_float(one) for one in (3.0, *scales)]
        assert library.padInt8(at(x), at(y), 2, dims(3, 100), dims(0, 1), dims(3, 103), 0, *floats) == 0
        numbers = np.pad(x.astype(np.float64) * scales[0], ((0, 0), (1, 2)), constant_values=3.0)
        np.testing.assert_array_equal(y, np.clip(np.rint(numbers / scales[1]), -128, 127))


SMALL = ((0, 3), (5, 7), (3, 4, 1000), (8193, 1))
LARGE = ((1,), (2, 8192), (2, 8193), (2, 40001), (3, 50001))
"""One block's elements, and more than that, of which a kernel leaves bits and another writes indices."""
RANKS = (
    (2003,), (3, 701), (3, 4, 151), (2, 3, 4, 101), (2, 2, 3, 4, 51), (2, 1, 2, 3, 4, 43), (2, 2, 1, 2, 3, 2, 43),
    (2, 2, 1, 2, 3, 2, 3, 17),
)  # fmt: skip


PREDICATES: tuple[Callable[[Any], Any], ...] = (
    lambda x: x > 0,
    lambda x: (x == 3) | (x == -2),
    lambda x: x * x <= 4,
    lambda x: x < 1000,
    lambda x: x > 1000,
)
"""Of INT8 elements the first, the third and the last two hold for neighbours: of both ends, of all, of none."""


def selected(library: Any, name: str, shapes: Sequence[tuple[int, ...]] = (*SMALL, *LARGE)) -> None:
    for shape in shapes:
        for density in (0.0, 0.3, 1.0):
            finds(library, name, unaligned(drawn_of(name, shape, density), 0), 0)
        finds(library, name, unaligned(drawn_of(name, shape, 0.3), 1), 0)
    for width in (1500, 15_000):  # predicates that hold for few, for all and for no elements, and for zeros
        x = np.random.default_rng(1).integers(-128, 128, (2, 3, width)).astype(TYPES[name])
        for offset in (0, 1):
            for predicate in range(len(PREDICATES)):
                finds(library, name, unaligned(x, offset), predicate)


def around_sizes(library: Any, name: str) -> None:
    """Elements that aren't a pack's, a warp's or a block's; where one block's end; where a block has several tiles."""
    pack = 16 // np.dtype(TYPES[name]).itemsize
    for packs in (1, 32, 256, 1024, 2048 + 32, 2**18, 2**18 + 4096 + 33):
        for count in (packs * pack - 1, packs * pack, packs * pack + 1):
            finds(library, name, unaligned(drawn_of(name, (count,), 0.02), 0), 0)
        finds(library, name, unaligned(drawn_of(name, (2, packs * pack // 2 + 1), 0.4), packs % 3 % 2), 0)
        if packs <= 2048 + 32:  # all, and zeros too, that would be behind them
            finds(library, name, unaligned(drawn_of(name, (packs * pack + 1,), 1.0), 0), 3)


def drawn_of(name: str, shape: tuple[int, ...], density: float) -> Any:
    drawn = np.random.default_rng(len(shape)).random(shape) < density
    return np.where(drawn, 3, -2).astype(TYPES[name])


def finds(library: Any, name: str, x: Any, predicate: int) -> None:
    library.workspaceOf.restype = ctypes.c_int64
    expected = np.array(np.nonzero(PREDICATES[predicate](x.astype(np.float64))))
    indices = np.full(expected.size + 64, CHANGED, np.int64)
    found = np.full(2, CHANGED, np.int32)
    needed = library.workspaceOf(ctypes.c_int64(x.size))
    workspace = np.full(needed + 4096, CHANGED, np.uint8)
    call = (at(x), x.ndim, dims(*x.shape), at(indices), at(found), at(workspace), ctypes.c_int64(needed), predicate)
    assert getattr(library, f"select{name}")(*call) == 0
    assert found.tolist() == [expected.shape[1], CHANGED], f"{x.shape}"
    np.testing.assert_array_equal(indices[: expected.size].reshape(expected.shape), expected, f"{x.shape}")
    assert (indices[expected.size :] == CHANGED).all()
    assert (workspace[needed:] == CHANGED).all()


@OF_HALF
def test_indices_of_selected_elements_in_fp16(half: ctypes.CDLL) -> None:
    selected(half, "Half")


@OF_HALF
def test_indices_of_each_rank_in_fp16(half: ctypes.CDLL) -> None:
    for shape in RANKS:
        finds(half, "Half", unaligned(drawn_of("Half", shape, 0.3), 0), 0)
        finds(half, "Half", unaligned(drawn_of("Half", (*shape[:-1], 17 * shape[-1]), 0.3), 0), 0)


@OF_HALF
def test_indices_around_the_sizes_that_blocks_have_in_fp16(half: ctypes.CDLL) -> None:
    around_sizes(half, "Half")


@OF_HALF
def test_a_workspace_that_is_too_small_is_refused(half: ctypes.CDLL) -> None:
    half.workspaceOf.restype = ctypes.c_int64
    assert half.workspaceOf(ctypes.c_int64(8193)) == 2 * 1056, "scaffold/kernels/selecting.py has the number, too"
    x, indices = unaligned(np.ones(20_000, np.float16), 0), np.full(20_000, CHANGED, np.int64)
    found, workspace = np.zeros(1, np.int32), np.zeros(4 * 1056, np.uint8)
    call = (at(x), 1, dims(20_000), at(indices), at(found), at(workspace))
    assert half.selectHalf(*call, ctypes.c_int64(3 * 1056 - 1), 0) == 1
    assert half.selectHalf(*call, ctypes.c_int64(3 * 1056), 0) == 0


@pytest.mark.slow
@pytest.mark.parametrize("name", TYPES)
def test_indices_around_the_sizes_that_blocks_have(anywhere: Load, name: str) -> None:
    around_sizes(anywhere("kernel_moves"), name)


@pytest.mark.slow
@OF_HALF
def test_indices_of_selected_elements_where_a_block_has_several_tiles(half: ctypes.CDLL) -> None:
    shape = (8193, 4097)  # blocks have many tiles
    x = unaligned(np.zeros(shape, np.float16), 0)
    expected = np.sort(np.random.default_rng(1).choice(x.size, 5000, replace=False))
    x.ravel()[expected] = 1
    indices, found = np.full(2 * expected.size, CHANGED, np.int64), np.full(1, CHANGED, np.int32)
    needed = half.workspaceOf(ctypes.c_int64(x.size))
    workspace = np.zeros(needed, np.uint8)
    call = (at(x), 2, dims(*shape), at(indices), at(found), at(workspace), ctypes.c_int64(needed), 0)
    assert half.selectHalf(*call) == 0
    assert found[0] == expected.size
    np.testing.assert_array_equal(indices.reshape(2, -1), np.unravel_index(expected, shape))


@pytest.mark.slow
@pytest.mark.parametrize("name", TYPES)
def test_indices_of_selected_elements(anywhere: Load, name: str) -> None:
    selected(anywhere("kernel_moves"), name)


def largest(library: Any, name: str) -> None:
    """Of one block's turn and of several, in whole chunks and not, with many equal elements and with none."""
    for rows, columns, k in (
        (3, 1, 1), (2, 7, 3), (5, 64, 64), (4, 100, 200), (2, 1000, 0), (3, 1024, 10), (2, 5001, 777), (2, 8200, 4000),
    ):  # fmt: skip
        for spread, offset in ((3, 0), (120, 1), (30000, 0)):
            drawn = np.random.default_rng(columns).integers(-spread, spread, (rows, columns))
            x = unaligned((drawn if name == "Int8" else drawn / 7).astype(TYPES[name]), offset)
            y = unaligned(np.full(x.size + 1, CHANGED, x.dtype), offset)
            mask = unaligned(np.full(x.size + 1, CHANGED, np.int8), offset)
            sizes = [ctypes.c_int64(one) for one in (rows, columns, k)]
            assert getattr(library, f"topK{name}")(at(x), at(y), at(mask), *sizes) == 0
            among = np.zeros(x.shape, bool)
            best = np.argsort(-x.astype(np.float64), axis=1, kind="stable")[:, :k]
            np.put_along_axis(among, best, True, axis=1)
            np.testing.assert_array_equal(mask[:-1].reshape(x.shape), among, f"{columns} {k} {spread}")
            wide = x.astype(np.float64)
            expected = np.where(among, wide, np.minimum(-wide, 127 if name == "Int8" else np.inf)).astype(x.dtype)
            np.testing.assert_array_equal(y[:-1].reshape(x.shape), expected)
            assert (y[-1], mask[-1]) == (CHANGED, CHANGED)


def apart(library: Any, name: str) -> None:
    """The largest are one thread's each: a bound above the k-th of the threads' maxima would lose one."""
    x = unaligned(np.zeros((1, 1024), TYPES[name]), 0)
    x[0, ::16] = np.arange(1, 65)
    y, mask = unaligned(np.zeros_like(x), 0), unaligned(np.zeros(x.shape, np.int8), 0)
    for k in (1, 10, 31):
        sizes = [ctypes.c_int64(one) for one in (1, 1024, k)]
        assert getattr(library, f"topK{name}")(at(x), at(y), at(mask), *sizes) == 0
        np.testing.assert_array_equal(np.flatnonzero(mask), np.arange(64 - k, 64) * 16)


def unusual(library: Any, name: str) -> None:
    """Both zeros are equal, and a NaN is larger than infinity, whatever its sign."""
    row = [0.0, -0.0, 1.0, np.nan, -np.inf, np.inf, -np.nan, -0.0, 0.0, -1.0]
    x = np.array([row], TYPES[name])
    y, mask = np.zeros_like(x), np.zeros(x.shape, np.int8)
    order = [3, 6, 5, 2, 0, 1, 7, 8, 9, 4]
    for k in range(len(row) + 1):
        call = (at(x), at(y), at(mask), *(ctypes.c_int64(one) for one in (1, len(row), k)))
        assert getattr(library, f"topK{name}")(*call) == 0
        assert set(np.flatnonzero(mask)) == set(order[:k])


def largest_of_bits(library: Any) -> None:
    """BF16, whose elements are the first halves of float32's: few that differ, many, and NaNs among them."""
    for rows, columns, k in ((2, 7, 3), (3, 1024, 10), (2, 5001, 777), (2, 8200, 4000), (3, 300, 5)):
        for spread in (3, 30000):
            drawn = np.random.default_rng(columns).integers(-spread, spread, (rows, columns)) / 7
            drawn[:, ::97] = np.nan
            bits = np.right_shift(drawn.astype(np.float32).view(np.uint32), 16).astype(np.uint16)
            x, y = unaligned(bits, 0), unaligned(np.zeros_like(bits), 0)
            mask = unaligned(np.full(x.size + 1, CHANGED, np.int8), 0)
            sizes = [ctypes.c_int64(one) for one in (rows, columns, k)]
            assert library.topKBfloat16(at(x), at(y), at(mask), *sizes) == 0
            wide = np.left_shift(bits.astype(np.uint32), 16).view(np.float32)
            among = np.zeros(x.shape, bool)
            best = np.lexsort((-wide, ~np.isnan(wide)), axis=-1)[:, :k]
            np.put_along_axis(among, best, True, axis=1)
            np.testing.assert_array_equal(mask[:-1].reshape(x.shape), among, f"{columns} {k} {spread}")
            made = np.left_shift(y.astype(np.uint32), 16).view(np.float32)
            np.testing.assert_array_equal(made[among], wide[among])  # a NaN may have other bits
            assert mask[-1] == CHANGED


@pytest.mark.slow
def test_the_largest_of_each_row_in_bf16(anywhere: Load) -> None:
    largest_of_bits(anywhere("kernel_moves"))


@OF_HALF
def test_the_largest_of_each_row_in_fp16(half: ctypes.CDLL) -> None:
    largest(half, "Half")
    apart(half, "Half")
    unusual(half, "Half")
    x = np.zeros(1, np.float16)
    for rows, columns, k, expected in ((0, 9, 1, 0), (9, 0, 1, 0), (-1, 1, 1, 1), (1, 1, -1, 1), (2**31, 0, 1, 1)):
        sizes = [ctypes.c_int64(one) for one in (rows, columns, k)]
        assert half.topKHalf(at(x), at(x), at(x), *sizes) == expected


@pytest.mark.slow
@pytest.mark.parametrize("name", TYPES)
def test_the_largest_of_each_row(anywhere: Load, name: str) -> None:
    library = anywhere("kernel_moves")
    largest(library, name)
    apart(library, name)
    if name != "Int8":
        unusual(library, name)


def pooled(x: np.ndarray, size: int, stride: int, pad: int, layer: int) -> np.ndarray:
    padded = np.pad(x.astype(np.float64), ((0, 0), (pad, pad), (pad, pad)), constant_values=np.nan)
    windows = np.lib.stride_tricks.sliding_window_view(padded, (size, size), (1, 2))[:, ::stride, ::stride]
    if layer == SQUARES:
        return np.asarray(np.nansum(windows**2, axis=(3, 4)))
    return np.asarray({LARGEST: np.nanmax, MEAN: np.nanmean, SMALLEST: np.nanmin}[layer](windows, axis=(3, 4)))


def pools(library: Any, name: str, layers: tuple[int, ...]) -> None:
    """Those that halve an image whose rows are packs or aren't, and any others."""
    for (planes, height, width), (size, stride, pad) in (
        ((3, 6, 32), (2, 2, 0)), ((2, 7, 64), (3, 2, 1)), ((2, 8, 48), (3, 2, 1)), ((2, 1, 32), (3, 2, 1)),
        ((2, 5, 31), (2, 2, 0)), ((1, 6, 20), (3, 1, 1)), ((2, 9, 17), (5, 3, 2)),
    ):  # fmt: skip
        for layer in layers:
            for offset in (0, 1):
                drawn = np.random.default_rng(width).integers(
                    *((-3, 3) if layer == SQUARES else (-60, 60) if layer == MEAN else (-128, 128)),
                    (planes, height, width),
                )
                x = unaligned(drawn.astype(TYPES[name]), offset)
                expected = pooled(x, size, stride, pad, layer)
                y = np.full(expected.size + 1, CHANGED, x.dtype)
                window = (ctypes.c_int32 * 3)(size, stride, pad)
                call = (at(x), at(y), dims(planes, height, width, *expected.shape[1:]), window, layer)
                assert getattr(library, f"pool{name}")(*call, ctypes.c_float(0.5)) == 0
                if name == "Int8":
                    found, expected = y[:-1], np.clip(np.rint(expected / 0.5), -128, 127).ravel()
                    assert np.abs(found - expected).max() <= int(layer == MEAN)
                else:
                    np.testing.assert_allclose(y[:-1].reshape(expected.shape), expected, rtol=1e-3, atol=1e-3)
                assert y[-1] == CHANGED


@OF_HALF
def test_pooling_by_sums_of_squares_in_fp16(half: ctypes.CDLL) -> None:
    pools(half, "Half", (SQUARES,))


@pytest.mark.slow
@pytest.mark.parametrize("name", TYPES)
def test_pooling(anywhere: Load, name: str) -> None:
    pools(anywhere("kernel_moves"), name, (LARGEST, MEAN, SQUARES, SMALLEST))
