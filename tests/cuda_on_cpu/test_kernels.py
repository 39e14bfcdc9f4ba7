"""Kernels compiled by g++ and clang++ for target cpu, and by nvcc for a GPU, against NumPy."""

from __future__ import annotations

import ctypes
from collections.abc import Callable

import numpy as np
import pytest

from .conftest import at as _at

pytestmark = pytest.mark.compile
Load = Callable[[str], ctypes.CDLL]

REFUSED = (9, 1)
"""cudaErrorInvalidConfiguration, as the documents have it; CUDA 13.0 on an H100 gave cudaErrorInvalidValue for all."""
_N = 1000  # not a multiple of the block


def _random(n: int = _N, dtype: type = np.float32) -> np.ndarray:
    return np.random.default_rng(7).standard_normal(n).astype(dtype)


@pytest.mark.parametrize(("function", "offset"), [("scaleFloat", 1), ("pointers", 2)])
def test_float_by_template_and_by_function_pointer(anywhere: Load, function: str, offset: int) -> None:
    x, y = _random(), np.zeros(_N, np.float32)
    getattr(anywhere("kernels"), function)(_at(x), _at(y), ctypes.c_float(0.5), _N)
    np.testing.assert_allclose(y, 0.5 * x + offset, rtol=1e-6, atol=1e-7)


def test_half_with_a_launch_over_several_lines(anywhere: Load) -> None:
    x, y = _random(dtype=np.float16), np.zeros(_N, np.float16)
    anywhere("kernels").scaleHalf(_at(x), _at(y), ctypes.c_float(3), _N, None)
    np.testing.assert_array_equal(y, (x.astype(np.float32) * 3).astype(np.float16))


def test_int8_with_two_scales_by_a_launch_from_a_macro(anywhere: Load) -> None:
    x = np.arange(-128, 128).astype(np.int8)
    y = np.zeros_like(x)
    anywhere("kernels").requantizeInt8(_at(x), _at(y), ctypes.c_float(0.5), ctypes.c_float(0.25), x.size)
    np.testing.assert_array_equal(y, np.clip(x.astype(np.int64) * 2, -128, 127))


def test_3d_grid_and_a_struct_that_each_thread_has_for_itself(anywhere: Load) -> None:
    y = np.zeros((3, 5, 7), np.float32)
    anywhere("kernels").coordinates3d(_at(y), 7, 5, 3)
    z, row, x = np.indices(y.shape)
    np.testing.assert_array_equal(y, 100 * z + 10 * row + x)


def test_half2(anywhere: Load) -> None:
    x = _random(64, np.float16)
    y = np.zeros_like(x)
    anywhere("kernels").swapHalves(_at(x), _at(y), 32)
    np.testing.assert_array_equal(y[0::2], x[1::2])
    np.testing.assert_array_equal(y[1::2], x[0::2] * np.float16(2))


def test_functors_and_lambdas(anywhere: Load) -> None:
    x = _random()
    y = x.copy()
    anywhere("kernels").functors(_at(y), _N, ctypes.c_float(4))
    np.testing.assert_allclose(y, x * x + 4, rtol=1e-6)


def test_literal_zeros_are_null_pointers_and_integers(anywhere: Load) -> None:
    a, b, c = (np.zeros(4, np.float32) for _ in range(3))
    anywhere("kernels").zeros(_at(a), _at(b), _at(c))
    assert (a.tolist(), b.tolist(), c.tolist()) == ([7] * 4, [8] * 4, [9] * 4)


def test_atomics(anywhere: Load) -> None:
    total, sums = np.zeros(1, np.int32), np.zeros(1, np.float32)
    anywhere("kernels").counted(_at(total), _at(sums))
    assert (total[0], sums[0]) == (96, 48)


def test_launch_function(anywhere: Load) -> None:
    x, y = _random(), np.zeros(_N, np.float32)
    assert anywhere("kernels").byFunction(_at(x), _at(y), ctypes.c_float(2), _N) in REFUSED
    np.testing.assert_allclose(y, 2 * x + 1, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(
    ("shape", "right"),
    [
        ((1, 1, 1024, 1, 1, 0), True),
        ((0, 1, 8, 1, 1, 0), False),
        ((1, 1, 0, 1, 1, 0), False),
        ((1, 1, 1025, 1, 1, 0), False),
        ((1, 1, 32, 33, 1, 0), False),
        ((1, 1, 1, 1, 65, 0), False),
        ((1, 65536, 1, 1, 1, 0), False),
        ((1, 1, 1, 1, 1, 300000), False),
    ],
)
def test_launches_that_no_device_takes(anywhere: Load, shape: tuple[int, ...], right: bool) -> None:
    answer, later = divmod(anywhere("codes").launched(0, *shape), 1000)
    assert answer == 0 if right else answer in REFUSED
    assert later == 0


def test_intrinsics(anywhere: Load) -> None:
    y, z = np.zeros(5, np.int32), np.array([0, 0, 5], np.float32)
    anywhere("kernels").intrinsics(_at(y), _at(z))
    assert y.tolist() == [8, 31, 2, -2, 2**31 - 1]
    np.testing.assert_allclose(z[:2], [np.e, 5], rtol=1e-6)


@pytest.mark.parametrize("check", ["memory", "streams", "events", "device"])
def test_runtime_functions(load: Load, check: str) -> None:
    assert getattr(load("api"), check)() == 0, "the line of sources/api.cu that failed"


@pytest.mark.parametrize(
    ("shape", "error"),
    [
        ((1, 1, 8, 1), 0),
        ((0, 1, 8, 1), 9),
        ((1, 1, 0, 1), 9),
        ((1, 1, 1025, 1), 9),
        ((1, 65536, 1, 1), 9),
        ((1, 1, 1, 65), 9),
        ((1, 1, 32, 33), 9),
        ((2, 2, 1, 64), 0),
    ],
)
def test_configurations(load: Load, shape: tuple[int, ...], error: int) -> None:
    assert load("api").configuration(*shape) == -error
