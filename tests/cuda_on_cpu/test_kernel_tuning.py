"""Other block sizes and packs change no bit of what the device headers' kernels write; by g++, and by nvcc on a GPU.

Rows and scans take a maximum here. A sum is added up in another order with other values: its last bits may differ.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable

import numpy as np
import pytest

from .conftest import EVERYWHERE, at

pytestmark = [pytest.mark.compile, pytest.mark.slow]  # half a minute of CPU to compile
Load = Callable[[str], ctypes.CDLL]
SIZES = (1, 15, 16, 17, 4096, 5 * 4096 + 3)
COLUMNS = (5, 64, 512, 1027, 4100)
by_two = pytest.mark.parametrize("anywhere", [EVERYWHERE[0], EVERYWHERE[-1]], indirect=True)
"""What clang++ makes of the headers the other tests see."""


def every_set(call: Callable[[int, np.ndarray], int], like: np.ndarray) -> np.ndarray:
    """What the usual values write; the other sets must write the same."""
    found = []
    for number in range(3):
        y = np.full(like.shape, 77, like.dtype)
        assert call(number, y) == 0
        found.append(y)
    assert found[0].tobytes() == found[1].tobytes() == found[2].tobytes()
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
