"""The device headers in pluginkit/kernels, by g++ and clang++ for target cpu, and by nvcc for a GPU; against NumPy."""

from __future__ import annotations

import ctypes
import math
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from pluginkit.paths import include_dir
from tests.compilers import nvcc

from .conftest import SOURCES, at

pytestmark = pytest.mark.compile
Load = Callable[[str], ctypes.CDLL]

TYPES: dict[str, Any] = {
    "Float": np.float32,
    "Half": np.float16,
    "Bfloat16": ml_dtypes.bfloat16,
    "Int8": np.int8,
}
COUNTS = (0, 1, 7, 8, 15, 16, 17, 31, 100, 4096, 4101)
SLOPE = np.float32(0.1)


def leaky(x: np.ndarray, scales: tuple[float, float]) -> np.ndarray:
    """In float32, each operation rounded, as the kernel computes it."""
    x_scale, inverse = np.float32(scales[0]), np.float32(1) / np.float32(scales[1])
    wide = x.astype(np.float32) * (x_scale if x.dtype == np.int8 else np.float32(1))
    y = np.where(wide >= 0, wide, SLOPE * wide)
    if x.dtype == np.int8:
        # The product isn't rounded before it is made an integer.
        return np.clip(np.rint(y.astype(np.float64) * np.float64(inverse)), -128, 127).astype(np.int8)
    return y.astype(x.dtype)


def run(library: ctypes.CDLL, name: str, x: np.ndarray, offset: int, n: int, scales: tuple[float, float]) -> np.ndarray:
    """What the kernel writes; the elements around are not touched."""
    y = np.full(x.shape, 77, x.dtype)
    floats = [ctypes.c_float(value) for value in (SLOPE, *scales)]
    assert getattr(library, f"leaky{name}")(at(x), at(y), offset, n, *floats) == 0
    outside = np.ones(x.shape, bool)
    outside[offset : offset + n] = False
    assert (y[outside] == 77).all()
    return y[offset : offset + n]


@pytest.mark.parametrize("name", TYPES)
@pytest.mark.parametrize("offset", [0, 1, 16])
def test_any_count_at_any_address(anywhere: Load, name: str, offset: int) -> None:
    """Packs, what is behind the last whole one, and tensors that don't begin at a multiple of 16 bytes."""
    library = anywhere("kernel_headers")
    rng = np.random.default_rng(offset)
    for n in COUNTS:
        x = (rng.standard_normal(n + offset + 5) * 40).astype(TYPES[name])
        found = run(library, name, x, offset, n, (0.05, 0.07))
        np.testing.assert_array_equal(found, leaky(x[offset : offset + n], (0.05, 0.07)), f"{n} elements")


@pytest.mark.parametrize("scales", [(1.0, 1.0), (1.0, 2.0), (1.0, 0.5), (0.02, 0.013), (3.0, 1e-30), (1e30, 1e30)])
def test_int8_rounds_half_to_even_and_saturates(anywhere: Load, scales: tuple[float, float]) -> None:
    """Every INT8 value, by packs and one by one: the same bits."""
    library = anywhere("kernel_headers")
    x = np.resize(np.arange(-128, 128), 256 + 3).astype(np.int8)
    packed, single = (run(library, "Int8", x, offset, 256, scales) for offset in (0, 1))
    np.testing.assert_array_equal(packed, leaky(x[:256], scales))
    np.testing.assert_array_equal(single, leaky(x[1:257], scales))
    if scales == (1.0, 2.0):
        assert packed[[129, 131, 133]].tolist() == [0, 2, 2]  # 0.5, 1.5, 2.5


@pytest.mark.parametrize("name", ["Float", "Half", "Bfloat16"])
def test_special_values(anywhere: Load, name: str) -> None:
    library = anywhere("kernel_headers")
    tiny = float(ml_dtypes.finfo(TYPES[name]).smallest_subnormal)
    values = [np.nan, np.inf, -np.inf, 0.0, -0.0, tiny, -tiny, float(ml_dtypes.finfo(TYPES[name]).max)]
    x = np.resize(np.array(values), 24).astype(TYPES[name])
    with np.errstate(all="ignore"):
        found, expected = run(library, name, x, 0, 20, (1.0, 1.0)), leaky(x[:20], (1.0, 1.0))
    np.testing.assert_array_equal(found.astype(np.float32), expected.astype(np.float32))


def test_three_inputs_one_of_them_the_output(anywhere: Load) -> None:
    rng = np.random.default_rng(3)
    a, b, c = (rng.standard_normal(101).astype(np.float16) for _ in range(3))
    product = a.astype(np.float32) * b.astype(np.float32)
    expected = (product - c.astype(np.float32)).astype(np.float16)
    assert anywhere("kernel_headers").weightedHalf(at(a), at(b), at(c), a.size) == 0
    # A GPU may compute it with one rounding.
    np.testing.assert_allclose(c.astype(np.float32), expected.astype(np.float32), rtol=1e-3, atol=1e-6)


@pytest.mark.parametrize("threads", [32, 64, 224, 1024])
@pytest.mark.parametrize("columns", [1, 31, 33, 1000])
def test_a_softmax_of_rows(anywhere: Load, threads: int, columns: int) -> None:
    x = (np.random.default_rng(columns).standard_normal((3, columns)) * 5).astype(np.float32)
    y = np.full_like(x, np.nan)
    assert anywhere("kernel_headers").softmax(at(x), at(y), 3, columns, threads) == 0
    exact = np.exp(x.astype(np.float64) - x.max(axis=1, keepdims=True))
    np.testing.assert_allclose(y, exact / exact.sum(axis=1, keepdims=True), rtol=2e-6, atol=1e-9)


def mixed(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return (np.float32(0.75) * a - b).astype(np.float32)


@pytest.mark.parametrize("threads", [32, 96, 1024])
def test_reductions_are_folded_in_a_gpus_order(anywhere: Load, threads: int) -> None:
    """By an operation that doesn't commute. On target cpu the lanes exchange all values in one meeting."""
    x = np.random.default_rng(threads).standard_normal(threads).astype(np.float32)
    warp, block, exchanged = (np.full_like(x, np.nan) for _ in range(3))
    assert anywhere("kernel_headers").reductions(at(x), at(warp), at(block), at(exchanged), threads) == 0
    np.testing.assert_allclose(warp, exchanged, rtol=1e-6)
    lanes, sums = np.arange(32), warp.reshape(-1, 32)[:, 0]
    for distance in (16, 8, 4, 2, 1):
        there = lanes[: max(0, min(32, sums.size - distance))]
        sums = np.concatenate([mixed(sums[there], sums[there + distance]), sums[there.size :]])
    np.testing.assert_allclose(block, sums[0], rtol=1e-5)


def test_a_reduction_of_a_part_of_a_warp_reads_lanes_that_are_not_there(load: Load) -> None:
    """As the exchanges that it stands for: what they give is NaN on target cpu."""
    x = np.ones(40, np.float32)
    warp, block, exchanged = (np.zeros_like(x) for _ in range(3))
    assert load("kernel_headers").reductions(at(x), at(warp), at(block), at(exchanged), 40) == 0
    np.testing.assert_array_equal(np.isnan(warp), np.arange(40) >= 32)
    np.testing.assert_array_equal(warp, exchanged)


def test_int8_of_what_is_no_number_or_too_large(anywhere: Load) -> None:
    """By packs and one by one: 0 of NaN; infinities and what is beyond an integer's range are cut off."""
    library = anywhere("kernel_headers")
    values = np.array([np.nan, -np.nan, np.inf, -np.inf, 3e38, -3e38, 3e9, -3e9, 126.5, -128.5, 127.5], np.float32)
    x = np.resize(values, 32 + 5)
    y = np.full(x.size, 77, np.int8)
    assert library.quantized(at(x), at(y), x.size) == 0
    expected = np.clip(np.rint(np.nan_to_num(x.astype(np.float64), posinf=1e300, neginf=-1e300)), -128, 127)
    np.testing.assert_array_equal(y, expected.astype(np.int8))


def test_which_scales_have_an_inverse(anywhere: Load) -> None:
    library = anywhere("kernel_headers")
    for scale, expected in ((1.0, 1), (1e-38, 1), (1e-39, 0), (0.0, 0), (-1.0, 0), (math.inf, 0), (math.nan, 0)):
        assert library.invertible(ctypes.c_float(scale)) == expected, scale


@pytest.mark.parametrize(("capability", "packed"), [(80, 0), (90, 9)])
def test_packs_of_int8_have_no_slow_conversions(tmp_path: Path, capability: int, packed: int) -> None:
    """In the PTX of nvcc: 16-byte loads and stores; conversions for the elements behind the last pack alone, and
    from numbers in packs where ptxas makes one instruction of each two (compute capability 8.6)."""
    ptx = tmp_path / "kernel_headers.ptx"
    command = [
        nvcc(),
        "-std=c++17",
        "-O2",
        f"-arch=sm_{capability}",
        f"-I{include_dir()}",
        "-ptx",
        SOURCES / "kernel_headers.cu",
    ]
    subprocess.run([*command, "-o", ptx], check=True)
    kernels = re.findall(r"^\.(?:visible|weak) \.entry (\w+)\(.*?^}", ptx.read_text(), re.MULTILINE | re.DOTALL)
    assert len(kernels) >= 6
    texts = re.findall(r"^\.(?:visible|weak) \.entry \w+\(.*?^}", ptx.read_text(), re.MULTILINE | re.DOTALL)
    of_elements = [text for text in texts if "elementwiseKernel" in text.split("(")[0] and "prmt" in text]
    (int8,) = [text for text in of_elements if len(re.findall(r"ld\.global\.v4", text)) == 1]
    assert len(re.findall(r"st\.global\.v4", int8)) == 1
    assert len(re.findall(r"cvt\.rn\.f32\.s", int8)) <= 1, "one element"
    assert len(re.findall(r"cvt\.pack\.sat\.s8\.s32", int8)) == packed
    assert len(re.findall(r"cvt\.r\w+\.s\d+\.f32", int8)) <= 2 * packed + (packed == 0)


@pytest.mark.parametrize(
    ("blocks", "expected"),
    [((1, 1, 1), 1), ((16_384, 1, 1), 1), ((16_385, 1, 1), 0), ((2, 2, 4096), 1), ((3, 2, 4096), 0)],
)
def test_kernels_of_very_many_blocks_do_not_wait(anywhere: Load, blocks: tuple[int, int, int], expected: int) -> None:
    found = np.full(2, 77, np.int32)
    assert anywhere("kernel_headers").early(at(found), *blocks) == 0
    assert found.tolist() == [expected, 77]


@pytest.mark.slow
@pytest.mark.parametrize("arch", ["sm_75", "sm_89", "sm_120"])
def test_launch_bounds_are_of_the_gpu_that_is_compiled_for(tmp_path: Path, arch: str) -> None:
    """These have fewer threads a multiprocessor than an H100: nvcc warns of more blocks than they can have."""
    command = [nvcc(), "-std=c++17", f"-arch={arch}", "-O1", "-Werror", "all-warnings", f"-I{include_dir()}"]
    subprocess.run([*command, "-cubin", SOURCES / "kernel_early.cu", "-o", tmp_path / "early.cubin"], check=True)


def test_kernels_that_start_early_wait_before_they_touch_memory(tmp_path: Path) -> None:
    """In the PTX of nvcc: a kernel that `launchEarly` starts would otherwise read what the one before it still writes,
    which a GPU rarely shows. None returns before it has waited: the next kernel takes its end for that of all before.
    """
    ptx = tmp_path / "kernel_early.ptx"
    command = [nvcc(), "-std=c++17", "-arch=sm_90", f"-I{include_dir()}", "-ptx", SOURCES / "kernel_early.cu"]
    subprocess.run([*command, "-o", ptx], check=True)
    kernels = re.findall(r"^(?:\.\w+ )?\.entry \w+\(.*?^}", ptx.read_text(), re.MULTILINE | re.DOTALL)
    # Rows one after another start plainly.
    plain = [text for text in kernels if "clusterRowsKernel" in text.split("(")[0]]
    assert plain and not any("griddepcontrol" in text for text in plain)
    early = [text for text in kernels if text not in plain]
    selections = ("selectAloneKernel", "selectBitsKernel", "selectIndicesKernel")
    scans = ("groupScanKernel", "blockScanKernel", "stagedScanKernel")
    for name in ("10rowsKernel", "stagedRowsKernel", "padTilesKernel", *scans, *selections):
        assert any(name in text for text in early), name
    for text in early:
        before, waited, behind = text.partition("griddepcontrol.wait;")
        assert waited
        assert "griddepcontrol.launch_dependents;" in before
        assert not re.search(r"\b(ld|st|red|atom|ret)\b(?!\.param|\.shared)", before), text.split("(")[0]
        assert re.search(r"\bst\.global", behind)
