"""The headers compile without a warning, and what they lay out has the sizes that TensorRT's has."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from pluginkit import layouts

HERE = Path(__file__).parent
INCLUDE = HERE.parents[1] / "pluginkit" / "include"
WARNINGS = ["-Wall", "-Wextra", "-Wconversion", "-Wpedantic", "-Werror"]
HEADERS = sorted(path.name for path in INCLUDE.glob("NvInfer*.h"))

pytestmark = pytest.mark.compile


def compiled(compiler: str, source: str, layout: int) -> subprocess.CompletedProcess[str]:
    if shutil.which(compiler) is None:
        pytest.skip(f"no {compiler}")
    command = [compiler, "-std=c++17", "-fsyntax-only", *WARNINGS, f"-I{INCLUDE}", f"-DPLUGINKIT_TRT_LAYOUT={layout}"]
    return subprocess.run([*command, "-x", "c++", "-"], input=source, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("layout", layouts.NUMBERS)
@pytest.mark.parametrize("compiler", ["g++", "clang++"])
def test_sizes_and_offsets(compiler: str, layout: int) -> None:
    done = compiled(compiler, (HERE / "sizes.cpp").read_text(), layout)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("compiler", ["g++", "clang++"])
@pytest.mark.parametrize("header", HEADERS)
def test_each_header_stands_alone(compiler: str, header: str) -> None:
    # Twice, and in C++17 and with all warnings: what an author's own compiler may be set to.
    done = compiled(compiler, f"#include <{header}>\n#include <{header}>\n", 11)
    assert done.returncode == 0, done.stderr


def test_a_wrong_size_is_found() -> None:
    source = (HERE / "sizes.cpp").read_text().replace("sizeof(Dims) == 72", "sizeof(Dims) == 36")
    assert compiled("g++", source, 11).returncode != 0
