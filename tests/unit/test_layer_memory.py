"""pluginkit/layer/memory.h: TensorRT's numbers of formats and types, and where a tensor's elements lie by them."""

from __future__ import annotations

import math
import subprocess
from pathlib import Path

import pytest

from pluginkit.build import toolchain
from pluginkit.dtypes import DType
from pluginkit.formats import DLA_ONLY, Format
from pluginkit.paths import include_dir
from tests.compilers import default_cxx

SHAPES = [(2, 3, 5, 7, 4), (2, 33, 4, 5), (1, 8, 1, 1), (3, 0, 2, 2)]
PROGRAM = """
#include <pluginkit/layer/memory.h>
#include <cstdio>
int main()
{
    pluginkit::detail::Seen const all[] = {%s};
    for (auto const& seen : all)
    {
        pluginkit::Input tensor{};
        pluginkit::detail::describe(tensor, seen);
        std::printf("%%lld %%lld\\n", static_cast<long long>(tensor.count), static_cast<long long>(tensor.bytes));
    }
    std::printf("%%zu\\n", sizeof pluginkit::detail::kFormats / sizeof pluginkit::detail::kFormats[0]);
}
"""


@pytest.mark.compile
def test_every_format_takes_the_memory_that_it_has(tmp_path: Path) -> None:
    cases = [
        (shape, kind, form) for form in Format for kind in form.types for shape in SHAPES if len(shape) >= form.axis
    ]
    dims = {shape: f"{{{len(shape)}, {{{', '.join(map(str, shape))}}}}}" for shape in SHAPES}
    seen = ", ".join(f"{{{dims[shape]}, {kind.code}, {form.code}}}" for shape, kind, form in cases)
    source, program = tmp_path / "memory.cpp", tmp_path / "memory"
    source.write_text(PROGRAM % seen)
    include = [f"-I{include_dir()}", "-isystem", str(toolchain.cuda_include_dirs()[0])]
    subprocess.run([default_cxx(), "-std=c++17", "-Wall", "-Werror", *include, source, "-o", program], check=True)
    *lines, known = subprocess.run([program], check=True, capture_output=True, text=True).stdout.split("\n")[:-1]
    expected = [f"{math.prod(shape)} {math.prod(form.storage(shape)) * kind.itemsize}" for shape, kind, form in cases]
    assert lines == expected
    assert int(known) == len(Format), f"and none of {DLA_ONLY}"
    assert {kind for _, kind, _ in cases} == set(DType)
