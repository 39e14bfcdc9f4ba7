"""The IPluginV3 of v3.cpp, computing on a GPU: its optional parts, and the words of what it does wrong."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest

import pluginkit
from pluginkit.build import toolchain
from pluginkit.host import Finding, GpuDevice

from .test_v3 import SOURCE, drive, numbers

pytestmark = [pytest.mark.gpu, pytest.mark.compile, pytest.mark.xdist_group("gpu")]


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """tests/host/v3.cpp, which computes on the GPU when nvcc compiles it."""
    path = tmp_path_factory.mktemp("v3") / "libprobe_v3.so"
    flags = ["-std=c++17", "-shared", "-arch=native", "-Xcompiler=-fPIC,-fvisibility=hidden", "-x", "cu"]
    nvcc = str(toolchain.nvcc().best().path)
    subprocess.run([nvcc, *flags, f"-I{pluginkit.include_dir()}", str(SOURCE), "-o", str(path)], check=True)
    return path


@pytest.fixture(scope="module")
def device() -> GpuDevice:
    return GpuDevice()


@pytest.mark.parametrize(("mode", "tactic"), [("plain", 0), ("tactics", 0), ("tactics", 1), ("alias", 0)])
def test_a_v3_life(library: Path, device: GpuDevice, mode: str, tactic: int) -> None:
    (y,) = drive(library, mode, tactic=tactic, device=device)
    np.testing.assert_array_equal(y, numbers(4) * 2)


def test_the_tactics_are_two(library: Path, device: GpuDevice) -> None:
    (wrong,) = drive(library, "tactics", "tactic_wrong", tactic=1, device=device)
    np.testing.assert_array_equal(wrong, numbers(4) * 3)


def test_a_shape_inputs_value_makes_the_shape(library: Path, device: GpuDevice) -> None:
    (y,) = drive(library, "shape_input", device=device)
    np.testing.assert_array_equal(y, np.resize(numbers(4), (6, 5)) * 2)


@pytest.mark.parametrize("rows", [1, 4])
def test_a_size_tensor(library: Path, device: GpuDevice, rows: int) -> None:
    y, count = drive(library, "size", rows=rows, device=device)
    expected = numbers(rows)[numbers(rows) > 0] * 2
    assert count == expected.size
    np.testing.assert_array_equal(y, expected)


@pytest.mark.parametrize(
    ("mode", "fault", "message"),
    [
        ("plain", "beyond", "written beyond output 0, which has 80 bytes: at byte 80 \\(0 bytes behind its end\\)"),
        ("plain", "modified", "input modified: 1 of 20 elements of input 0"),
        ("size", "size_large", "wrote 1000 to output 1, a size tensor whose upper bound is 20"),
        ("size", "size_negative", "wrote -1 to output 1"),
        ("plain", "enqueue_fails", "enqueue: answered 1"),
    ],
)
def test_the_words_are_those_of_target_cpu(
    library: Path, device: GpuDevice, mode: str, fault: str, message: str
) -> None:
    with pytest.raises(Finding, match=message):
        drive(library, mode, fault, device=device)
