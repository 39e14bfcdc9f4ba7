"""The patterns of pluginkit/kernels, by g++ and clang++ for target cpu and by nvcc for a GPU; against NumPy."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from .conftest import at

pytestmark = pytest.mark.compile
Load = Callable[[str], ctypes.CDLL]

TYPES: dict[str, Any] = {"Float": np.float32, "Half": np.float16, "Int8": np.int8}
TOLERANCES = {"Float": 2e-6, "Half": 2e-3, "Int8": 0.0}
SCALE, OUT_SCALE = np.float32(0.03), np.float32(0.01)
CHANGED = 77
"""What outputs hold before: it must stay where no element is."""


def drawn(name: str, shape: tuple[int, ...], seed: int) -> np.ndarray:
    values = np.random.default_rng(seed).standard_normal(shape) * (30 if name == "Int8" else 1)
    return values.astype(TYPES[name])


def wide(x: np.ndarray) -> np.ndarray:
    return x.astype(np.float64) * (float(SCALE) if x.dtype == np.int8 else 1)


def agrees(found: np.ndarray, expected: np.ndarray, name: str, what: str, scale: np.float32 = SCALE) -> None:
    if name == "Int8":
        steps = np.clip(np.rint(expected / float(scale)), -128, 127)
        assert np.abs(found - steps).max(initial=0) <= 1, what
        assert np.count_nonzero(found != steps) <= 0.02 * steps.size, what
        return
    np.testing.assert_allclose(found.astype(np.float64), expected, rtol=TOLERANCES[name], atol=TOLERANCES[name])


def normed(x: np.ndarray, weights: np.ndarray, bias: np.ndarray) -> np.ndarray:
    centered = wide(x) - wide(x).mean(axis=1, keepdims=True)
    return centered / np.sqrt((centered**2).mean(axis=1, keepdims=True) + 1e-5) * wide(weights) + wide(bias)


def softmax(x: np.ndarray) -> np.ndarray:
    powers = np.exp(wide(x) - wide(x).max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


def unaligned(x: np.ndarray, offset: int) -> np.ndarray:
    """The array, so many elements behind a multiple of 16 bytes."""
    memory = np.full(x.size + offset + 16, CHANGED, x.dtype)
    start = (-memory.ctypes.data % 16) // x.itemsize + offset
    memory[start : start + x.size] = x.ravel()
    return memory[start : start + x.size].reshape(x.shape)


@pytest.mark.parametrize("name", TYPES)
def test_rows_and_numbers_are_broadcast_into_outputs_of_two_types(anywhere: Load, name: str) -> None:
    library = anywhere("kernel_patterns")
    one = np.array([0.37], np.float32)
    for count, columns in ((0, 3), (1, 1), (35, 7), (4096, 16), (4096, 32), (1000, 1000), (33, 0), (50, 16)):
        for offset in (0, 1):
            x, row = unaligned(drawn(name, (count,), 1), offset), drawn(name, (columns,), 2)
            y, flags = np.full(count + 1, CHANGED, x.dtype), np.full(count + 1, CHANGED, np.int32)
            call = (at(x), at(row), at(one), at(y), at(flags), count, columns)
            assert getattr(library, f"elementwise{name}")(*call) == 0
            repeated = np.resize(wide(row), count) if columns else np.zeros(count)
            agrees(y[:count], wide(x) + repeated * float(one[0]), name, f"{count} {columns}")
            np.testing.assert_array_equal(flags[:count], wide(x) > repeated)
            assert (y[count], flags[count]) == (CHANGED, CHANGED)


WIDTHS = (
    1, 3, 16, 32, 33, 40, 65, 100, 101, 128, 161, 201, 232, 240, 333, 512, 777, 1000, 1001, 2048, 8192, 10001, 10004,
    70000,
)  # fmt: skip
"""Whole packs, halves and quarters of packs, and neither."""


@pytest.mark.slow
@pytest.mark.parametrize("name", ["Float", "Int8"])
def test_softmax_of_rows_of_any_width(anywhere: Load, name: str) -> None:
    library = anywhere("kernel_rows")
    for columns in WIDTHS:
        rows = 37 if columns < 300 else 2
        for offset in (0, 1) if columns < 3000 else (0,):
            x = unaligned(drawn(name, (rows, columns), columns), offset)
            y = np.full(rows * columns + 1, CHANGED, x.dtype)
            assert getattr(library, f"softmax{name}")(at(x), at(y), rows, columns) == 0
            agrees(y[:-1].reshape(x.shape), softmax(x), name, f"{columns}, {offset}", OUT_SCALE)
            assert y[-1] == CHANGED


IN_WORDS = (321, 382, 440, 472, 509, 513, 516, 600, 637, 700, 766, 767, 777, 1001, 1012, 1020, 1021, 1022, 1023)
"""Widths of INT8 rows that a warp has in words of memory, and of some next to them."""


def test_softmax_of_rows_in_words(anywhere: Load) -> None:
    library = anywhere("kernel_rows")
    for columns in IN_WORDS:
        x = drawn("Int8", (9, columns), columns)
        exact = softmax(x)
        y = np.full(x.size + 1, CHANGED, np.int8)
        assert library.softmaxInt8(at(x), at(y), *x.shape) == 0
        agrees(y[:-1].reshape(x.shape), exact, "Int8", f"{columns}", OUT_SCALE)
        assert y[-1] == CHANGED
        assert library.softmaxInt8(at(x), at(x), *x.shape) == 0
        np.testing.assert_array_equal(x.ravel(), y[:-1], err_msg=f"in place, {columns}")


@pytest.mark.parametrize("weights", ["Float", "Int8"])
def test_norms_of_rows_in_words(anywhere: Load, weights: str) -> None:
    library = anywhere("kernel_words")
    for columns in IN_WORDS:
        x, weight, bias = (
            drawn("Int8", (9, columns), columns),
            drawn(weights, (columns,), 2),
            drawn("Float", (columns,), 3),
        )
        y = np.full(x.size + 1, CHANGED, np.int8)
        norm = library.layerNorm if weights == "Float" else library.layerNormInt8
        assert norm(at(x), at(weight), at(bias), at(y), *x.shape) == 0
        agrees(y[:-1].reshape(x.shape), normed(x, weight, bias), "Int8", f"{columns}")
        assert y[-1] == CHANGED


SHORT = (27, 50, 63, 28, 36, 40, 64, 104, 252, 412, 456, 460)
"""Widths of INT8 rows of which a warp has a tile, where there are many: for each number of words and of threads."""


@pytest.mark.parametrize("columns", SHORT)
def test_many_short_rows(load: Load, columns: int) -> None:
    """Several tiles a warp, the last one of fewer rows; where the result is the tensor itself, too."""
    rows, norms = 1_600_000 // columns, load("kernel_words")
    x = drawn("Int8", (rows, columns), columns)
    y = np.full(x.size + 1, CHANGED, np.int8)
    assert load("kernel_rows").softmaxInt8(at(x), at(y), rows, columns) == 0
    agrees(y[:-1].reshape(x.shape), softmax(x), "Int8", "softmax", OUT_SCALE)
    assert y[-1] == CHANGED
    for weights in ("Float", "Int8"):
        weight, bias = drawn(weights, (columns,), 2), drawn("Float", (columns,), 3)
        y = np.full(x.size + 1, CHANGED, np.int8)
        norm = norms.layerNorm if weights == "Float" else norms.layerNormInt8
        assert norm(at(x), at(weight), at(bias), at(y), rows, columns) == 0
        agrees(y[:-1].reshape(x.shape), normed(x, weight, bias), "Int8", weights)
        assert y[-1] == CHANGED
    assert norms.layerNormInt8(at(x), at(weight), at(bias), at(x), rows, columns) == 0
    np.testing.assert_array_equal(x.ravel(), y[:-1], err_msg="in place")


@pytest.mark.slow
@pytest.mark.parametrize("columns", [33, 40, 64, 100, 252, 600])
def test_very_many_short_rows(anywhere: Load, columns: int) -> None:
    """As many as a GPU takes for them to be worth a tile."""
    rows = 24_000_000 // columns
    x, weight, bias = (drawn("Int8", shape, 1) for shape in ((rows, columns), (columns,), (columns,)))
    bias = bias.astype(np.float32) / 50
    y = np.full(x.size + 1, CHANGED, np.int8)
    assert anywhere("kernel_rows").softmaxInt8(at(x), at(y), rows, columns) == 0
    agrees(y[:-1].reshape(x.shape), softmax(x), "Int8", "softmax", OUT_SCALE)
    assert anywhere("kernel_words").layerNormInt8(at(x), at(weight), at(bias), at(y), rows, columns) == 0
    agrees(y[:-1].reshape(x.shape), normed(x, weight, bias), "Int8", "norm")
    assert y[-1] == CHANGED


CLUSTERED = (32768, 32769, 40000, 65536, 65540, 100001, 262144, 262152)
"""Widths about the ends of what a block and a cluster can hold, whole chunks and others."""


@pytest.mark.slow
@pytest.mark.parametrize("name", TYPES)
def test_softmax_of_rows_of_clusters(anywhere: Load, name: str) -> None:
    library = anywhere("kernel_rows")
    for columns in CLUSTERED:
        x = np.full((5, columns), -128, np.int8) if name == "Int8" else drawn(name, (5, columns), columns)
        # Few large ones in different blocks of a cluster: without one of them the results are others in every type.
        x[:, np.linspace(0, columns - 1, 4).astype(int)] = 127 if name == "Int8" else 12
        y = np.full(x.size + 1, CHANGED, x.dtype)
        assert getattr(library, f"softmax{name}")(at(x), at(y), *x.shape) == 0
        agrees(y[:-1].reshape(x.shape), softmax(x), name, f"{columns}", OUT_SCALE)
        assert y[-1] == CHANGED


@pytest.mark.slow
def test_four_reductions_of_a_row(anywhere: Load) -> None:
    library = anywhere("kernel_rows")
    for columns in (3, 100, 512, 4097, *CLUSTERED):
        x = drawn("Float", (5, columns), columns)
        y = np.full_like(x, CHANGED)
        assert library.fourTimesFloat(at(x), at(y), *x.shape) == 0
        centered = wide(x) - wide(x).mean(axis=1, keepdims=True)
        exact = centered / np.sqrt((centered**2).mean(axis=1, keepdims=True) + 1e-5)
        least, most = (end(centered, axis=1, keepdims=True) / 2 for end in (np.min, np.max))
        # Not those so near to a limit that rounding decides.
        clear = (abs(centered - least) > 1e-5) & (abs(centered - most) > 1e-5)
        expected = np.where((centered > most) | (centered < least), 0, exact)
        np.testing.assert_allclose(y[clear], expected[clear], rtol=1e-4, atol=1e-5, err_msg=str(columns))


@pytest.mark.slow
def test_norms_of_int8_rows_with_float_weights(anywhere: Load) -> None:
    """Chunks of four and eight elements, of a pack, single ones; from a warp's part to more than a cluster; so many
    rows that blocks keep the weights (8 for each block that target cpu's multiprocessors hold)."""
    library = anywhere("kernel_words")
    widths = (
        3,
        33,
        64,
        101,
        333,
        510,
        512,
        528,
        777,
        1001,
        1024,
        1040,
        2052,
        4096,
        4112,
        10001,
        16384,
        16400,
        40000,
        140000,
    )
    for columns, rows in (*((width, 19 if width < 3000 else 2) for width in widths), (4096, 451), (8192, 229)):
        for offset in (0, 1) if columns < 3000 else (0,):
            x = unaligned(drawn("Int8", (rows, columns), columns), offset)
            weights, bias = drawn("Float", (columns,), 2), drawn("Float", (columns,), 3)
            y = np.full(x.size + 1, CHANGED, np.int8)
            assert library.layerNorm(at(x), at(weights), at(bias), at(y), rows, columns) == 0
            agrees(y[:-1].reshape(x.shape), normed(x, weights, bias), "Int8", f"{columns}, {offset}")
            assert y[-1] == CHANGED


@pytest.mark.parametrize("weights", ["Float", "Int8"])
def test_norms_of_parts_of_rows(anywhere: Load, weights: str) -> None:
    """Rows of which a block keeps the weights, more of them than target cpu has blocks for: of whole chunks, as many as
    threads hold and fewer, and of words."""
    library = anywhere("kernel_words")
    norm = library.layerNorm if weights == "Float" else library.layerNormInt8
    for columns, rows in ((8208, 61), (16384, 33), (8196, 57), (16356, 31)):
        x, weight, bias = (
            drawn("Int8", (rows, columns), columns),
            drawn(weights, (columns,), 2),
            drawn("Float", (columns,), 3),
        )
        y = np.full(x.size + 1, CHANGED, np.int8)
        assert norm(at(x), at(weight), at(bias), at(y), *x.shape) == 0
        agrees(y[:-1].reshape(x.shape), normed(x, weight, bias), "Int8", f"{columns}")
        assert y[-1] == CHANGED


@pytest.mark.slow
@pytest.mark.parametrize(
    ("columns", "rows"), [(16384, 400), (32784, 131), (40000, 201), (65536, 131), (65540, 100), (131072, 67)]
)
def test_many_rows_of_clusters(anywhere: Load, columns: int, rows: int) -> None:
    """More rows than a GPU runs clusters at once: each of these has several, with weights and without."""
    norms = anywhere("kernel_words")
    x, weight, bias = (drawn("Int8", shape, 1) for shape in ((rows, columns), (columns,), (columns,)))
    bias = bias.astype(np.float32) / 50
    for weights in (weight, wide(weight).astype(np.float32)):
        y = np.full(x.size + 1, CHANGED, np.int8)
        norm = norms.layerNormInt8 if weights.dtype == np.int8 else norms.layerNorm
        assert norm(at(x), at(weights), at(bias), at(y), rows, columns) == 0
        agrees(y[:-1].reshape(x.shape), normed(x, weights, bias), "Int8", "norm")
        assert y[-1] == CHANGED
    few = np.full(x.shape, -128, np.int8)
    few[np.arange(rows), np.arange(rows) * 997 % columns] = 127
    few[np.arange(rows), np.arange(rows) * 991 % columns] = 127
    assert anywhere("kernel_rows").softmaxInt8(at(few), at(y), rows, columns) == 0
    agrees(y[:-1].reshape(x.shape), softmax(few), "Int8", "softmax", OUT_SCALE)
    assert y[-1] == CHANGED


@pytest.mark.slow
def test_sum_norm_and_maximum_of_rows(anywhere: Load) -> None:
    """Two inputs, a row of weights, three outputs, one of them a number a row."""
    library = anywhere("kernel_rows")
    for columns in (1, 16, 24, 100, 512, 1001, 4096, 20000, 40000, 70001):
        rows = 19 if columns < 300 else 2
        x, r = (drawn("Half", (rows, columns), seed) for seed in (1, 2))
        w = drawn("Half", (columns,), 3)
        total, y = np.zeros_like(x), np.zeros_like(x)
        most = np.full(rows + 1, CHANGED, np.float32)
        places = [at(one) for one in (x, r, w, total, y, most)]
        assert library.addRmsNormHalf(*places, rows, columns) == 0
        exact = wide(x) + wide(r)
        agrees(total, exact, "Half", f"sum {columns}")
        scaled = exact / np.sqrt((exact**2).mean(axis=1, keepdims=True) + 1e-5) * wide(w)
        agrees(y, scaled, "Half", f"norm {columns}")
        np.testing.assert_allclose(most[:rows], exact.max(axis=1), rtol=1e-6)
        assert most[rows] == CHANGED


@pytest.mark.parametrize("name", TYPES)
def test_cumsum(anywhere: Load, name: str) -> None:
    library = anywhere("kernel_patterns")
    for columns in (1, 5, 16, 33, 64, 65, 100, 201, 256, 500, 1000, 1001, 1012, 2048, 2049, 2052, 4096, 9000, 9001):
        rows = 37 if columns < 300 else 5 if columns < 2000 else 2
        # Sums that every type holds exactly.
        x = np.random.default_rng(columns).integers(-1, 2, (rows, columns)).astype(TYPES[name])
        x = unaligned(x, columns % 3 % 2)
        y = unaligned(np.full(x.size + 1, CHANGED, x.dtype), 0)
        assert getattr(library, f"cumsum{name}")(at(x), at(y), rows, columns) == 0
        exact = np.clip(np.cumsum(x.astype(np.int64), axis=1), -128 if name == "Int8" else None, None)
        exact = np.minimum(exact, 127) if name == "Int8" else exact
        np.testing.assert_array_equal(y[:-1].reshape(x.shape), exact)
        assert y[-1] == CHANGED
        assert getattr(library, f"cumsum{name}")(at(x), at(x), rows, columns) == 0
        np.testing.assert_array_equal(x, exact)


@pytest.mark.parametrize("columns", [133, 256])
def test_cumsum_of_very_many_blocks(anywhere: Load, columns: int) -> None:
    """A row a block, of whole chunks or not: none waits for the kernel before."""
    library, rows = anywhere("kernel_patterns"), 16_385
    x = np.random.default_rng(columns).integers(-1, 2, (rows, columns)).astype(np.float32)
    y = np.full(x.size + 1, CHANGED, x.dtype)
    assert library.cumsumFloat(at(x), at(y), rows, columns) == 0
    np.testing.assert_array_equal(y[:-1].reshape(x.shape), np.cumsum(x, axis=1))
    assert y[-1] == CHANGED


@pytest.mark.parametrize("columns", [36, 40])
def test_cumsum_of_very_many_short_rows(anywhere: Load, columns: int) -> None:
    """A thread has a row of INT8 elements, of an odd and of an even number of words."""
    library, rows = anywhere("kernel_patterns"), 65_539
    x = np.random.default_rng(columns).integers(-4, 5, (rows, columns)).astype(np.int8)
    exact = np.clip(np.cumsum(x.astype(np.int64), axis=1), -128, 127)
    y = np.full(x.size + 1, CHANGED, x.dtype)
    assert library.cumsumInt8(at(x), at(y), rows, columns) == 0
    np.testing.assert_array_equal(y[:-1].reshape(x.shape), exact)
    assert y[-1] == CHANGED
    assert library.cumsumInt8(at(x), at(x), rows, columns) == 0
    np.testing.assert_array_equal(x, exact)


@pytest.mark.parametrize("columns", [8, 13])
def test_scans_one_after_another(anywhere: Load, columns: int) -> None:
    """On a GPU blocks of each are there before the one before has ended."""
    library = anywhere("kernel_patterns")
    x = np.random.default_rng(columns).integers(-1, 2, (2000 // columns, columns)).astype(np.float32)
    y, z = np.zeros_like(x), np.zeros_like(x)
    assert library.cumsumOfCumsums(at(x), at(y), at(z), *x.shape, 2) == 0
    for _ in range(5):
        x = np.cumsum(x, axis=1)  # of whole numbers that float32 holds
    np.testing.assert_array_equal(y, x)


@pytest.mark.parametrize("name", TYPES)
def test_cumsum_of_rows_that_blocks_share(anywhere: Load, name: str) -> None:
    library = anywhere("kernel_patterns")
    for rows, columns, offset in ((1, 100_000, 0), (2, 32_776, 0), (3, 40_001, 0), (1, 33_000, 1)):
        x = np.random.default_rng(columns).integers(-1, 2, (rows, columns)).astype(TYPES[name])
        x = unaligned(x, offset)
        size = library.scanWorkspace(rows, columns)
        assert 0 < size < rows * columns / 64
        workspace = np.full(size // 8 + 1, CHANGED, np.uint64)
        y = np.full(x.size + 1, CHANGED, x.dtype)
        assert getattr(library, f"sharedCumsum{name}")(at(x), at(y), at(workspace), rows, columns) == 0
        exact = np.cumsum(x.astype(np.int64), axis=1)
        np.testing.assert_array_equal(y[:-1].reshape(x.shape), np.clip(exact, -128, 127) if name == "Int8" else exact)
        assert (y[-1], workspace[-1]) == (CHANGED, CHANGED)
    assert library.scanWorkspace(3, 1000) == 0
    # A profile's largest shape has room for what all smaller ones take.
    room = [library.scanWorkspace(rows, 65536) for rows in (1, 8, 1023, 1024, 5000)]
    assert room == sorted(room)
    assert library.scanWorkspace(8, 2**31 - 1) >= library.scanWorkspace(8, 2**30)


@pytest.mark.parametrize("kind", [np.uint8, np.uint16, np.uint32])
def test_transpose(anywhere: Load, kind: Any) -> None:
    """By elements, and beyond 128 KiB by tiles: of packs, and where rows and columns aren't made of them."""
    library = anywhere("kernel_patterns")
    wide = 512 // np.dtype(kind).itemsize
    for rows, columns in ((1, 1), (16, 16), (33, 31), (64, 272), (144, wide), (wide, 144), (133, wide - 3)):
        for offset in (0, 1):
            x = np.random.default_rng(rows).integers(0, 2**32, (2, rows, columns), np.uint64).astype(kind)
            x = unaligned(x, offset)
            y = np.full(x.size + 1, CHANGED, kind)
            assert library.transpose(at(x), at(y), 2, rows, columns, x.itemsize) == 0
            np.testing.assert_array_equal(y[:-1].reshape(2, columns, rows), x.transpose(0, 2, 1))
            assert y[-1] == CHANGED


def test_transpose_of_int8_of_another_scale(anywhere: Load) -> None:
    """Elements are moved where the scales are equal, and converted where they aren't: packs, and one by one."""
    library = anywhere("kernel_patterns")
    for rows, columns in ((33, 31), (176, 256), (177, 255)):
        x = np.resize(np.arange(-128, 128), 3 * rows * columns).astype(np.int8).reshape(3, rows, columns)
        for scales in ((0.3, 0.3), (0.5, 1.0), (1.0, 0.25)):
            y = np.full(x.size, CHANGED, np.int8)
            floats = [ctypes.c_float(one) for one in scales]
            assert library.transposeInt8(at(x), at(y), 3, rows, columns, *floats) == 0
            numbers = x.transpose(0, 2, 1).astype(np.float64) * (scales[0] / scales[1])
            np.testing.assert_array_equal(y.reshape(numbers.shape), np.clip(np.rint(numbers), -128, 127))


@pytest.mark.slow
@pytest.mark.parametrize(("count", "rows", "columns"), [(65537, 1, 2), (1, 32 * 65535 + 1, 2)])
def test_more_matrices_and_rows_than_a_grid_has(anywhere: Load, count: int, rows: int, columns: int) -> None:
    x = np.arange(count * rows * columns, dtype=np.uint32).reshape(count, rows, columns)
    y = np.zeros_like(x)
    assert anywhere("kernel_patterns").transpose(at(x), at(y), count, rows, columns, 4) == 0
    np.testing.assert_array_equal(y.reshape(count, columns, rows), x.transpose(0, 2, 1))


def test_rows_of_a_table(anywhere: Load) -> None:
    library = anywhere("kernel_patterns")
    indices = np.array([3, 0, 9, -1, -10, 10, -11, 5], np.int64)
    for size in (1, 2, 6, 12, 16, 80):
        table = np.random.default_rng(size).integers(1, 255, (10, size), np.uint8)
        y = np.full(indices.size * size + 1, CHANGED, np.uint8)
        assert library.gather(at(indices), at(table), at(y), indices.size, size, 10) == 0
        expected = np.where(np.abs(indices * 2 + 1)[:, None] <= 20, table[indices % 10], 0)
        np.testing.assert_array_equal(y[:-1].reshape(-1, size), expected)
        assert y[-1] == CHANGED


def test_int8_rows_of_a_table_of_another_scale(anywhere: Load) -> None:
    library = anywhere("kernel_patterns")
    indices = np.array([2, -1, 7, 0, -9], np.int32)
    for columns in (32, 33):
        table = np.random.default_rng(columns).integers(-128, 128, (4, columns)).astype(np.int8)
        for scales in ((0.3, 0.3), (0.5, 1.0), (1.0, 0.25)):
            y = np.full((indices.size, columns), CHANGED, np.int8)
            floats = [ctypes.c_float(one) for one in scales]
            assert library.gatherInt8(at(indices), at(table), at(y), indices.size, columns, 4, *floats) == 0
            rows = np.clip(np.rint(table.astype(np.float64) * (scales[0] / scales[1])), -128, 127)
            expected = [rows[index] if -4 <= index < 4 else np.zeros(columns) for index in indices]
            np.testing.assert_array_equal(y, expected)


def test_nothing_to_do_and_nonsense(anywhere: Load) -> None:
    library = anywhere("kernel_patterns")
    x = np.zeros(4, np.float32)
    for rows, columns, expected in ((0, 4, 0), (4, 0, 0), (-1, 4, 1), (1, -4, 1)):
        assert library.cumsumFloat(at(x), at(x), rows, columns) == expected
        assert library.transpose(at(x), at(x), 1, rows, columns, 4) == expected


def test_exponentials_below_a_maximum(anywhere: Load) -> None:
    for most in (0.0, -3.0, 50.0, 30000.0, 5e8, 1e10, -1e10, 1e20, 3e38, -3e38):
        x = np.concatenate([most - np.linspace(0, 20, 99), [most, -np.inf]]).astype(np.float32)
        y = np.empty_like(x)
        limits = np.full_like(x, most)
        assert anywhere("kernel_patterns").expBelow(at(x), at(limits), at(y), x.size) == 0
        exact = np.exp(x.astype(np.float64) - float(np.float32(most)))
        # The rounding of most * log2(e) is a factor, the same for all.
        np.testing.assert_allclose(y / y[-2], exact, rtol=1e-5)
        if not 1e5 < abs(most) < 1e9:
            np.testing.assert_allclose(y[-2], 1, rtol=1e-7 * abs(most) + 1e-6 if abs(most) < 1e5 else 1e-6)


def test_fast_functions(anywhere: Load) -> None:
    x = np.linspace(-6, 6, 1001).astype(np.float32)
    tanh, gelu, silu, exp = (np.empty_like(x) for _ in range(4))
    assert anywhere("kernel_patterns").functions(at(x), at(tanh), at(gelu), at(silu), at(exp), x.size) == 0
    exact = x.astype(np.float64)
    np.testing.assert_allclose(exp, np.exp(exact), rtol=2e-6)
    np.testing.assert_allclose(tanh, np.tanh(exact), rtol=6e-4, atol=1e-6)
    inner = 0.7978845608 * (exact + 0.044715 * exact**3)
    np.testing.assert_allclose(gelu, 0.5 * exact * (1 + np.tanh(inner)), atol=2e-3)
    np.testing.assert_allclose(silu, exact / (1 + np.exp(-exact)), atol=2e-3)
