"""What pluginkit says of CUDA's driver, held against cuda.h: a wrong argument type would crash, on a GPU only."""

from __future__ import annotations

import ctypes
import re
from pathlib import Path

import pytest

from pluginkit.build import toolchain
from pluginkit.errors import ToolMissing
from pluginkit.gpu import driver

HANDLES = {"CUcontext", "CUstream", "CUevent", "CUgraph", "CUgraphExec", "CUgraphNode", "CUmodule", "CUfunction"}
SIZES = {
    "int": 4,
    "unsigned int": 4,
    "float": 4,
    "unsigned char": 1,
    "char": 1,
    "size_t": 8,
    "unsigned long long": 8,
    "cuuint64_t": 8,
    "CUdeviceptr": 8,
    "CUdevice": 4,
    "CUresult": 4,
    "void": 1,
}


@pytest.fixture(scope="module")
def header() -> str:
    found = [path for folder in toolchain.cuda_include_dirs() if (path := folder / "cuda.h").exists()]
    if not found:
        pytest.skip("the CUDA headers here have no cuda.h")
    text = Path(found[0]).read_text(encoding="utf-8", errors="replace")
    return re.sub(r"/\*.*?\*/", " ", text, flags=re.DOTALL)


def size(message: str) -> int:
    """The size of a C parameter."""
    message = re.sub(r"\bconst\b", "", message).strip()
    kind = re.sub(r"\b\w+$", "", message).strip() if re.search(r"[\s*]\w+$", message) else message
    if "*" in kind or kind in HANDLES:
        return 8
    return SIZES.get(kind, 4)  # what is left are enumerations


@pytest.mark.parametrize("name", sorted(driver._SIGNATURES))
def test_argument_types_are_those_of_cuda_h(name: str, header: str) -> None:
    called = re.search(rf"#define (cu\w+)\s+(?:__CUDA_API_PTSZ\()?{name}\b", header)
    plain = called[1] if called else name.removesuffix("_v2")
    declared = re.search(rf"^CUresult CUDAAPI {plain}\(([^;]*)\);", header, re.MULTILINE)
    assert declared, f"{plain} is not in cuda.h"
    parameters = [one.strip() for one in declared[1].split(",") if one.strip() != "void"]
    expected = [size(one) for one in parameters]
    assert [ctypes.sizeof(one) for one in driver._SIGNATURES[name]] == expected, parameters
    versioned = re.search(rf"#define {plain}\s+(?:__CUDA_API_PTSZ\()?({plain}\w*)", header)
    if versioned and versioned[1] != name:
        # A newer version has another signature, or means something else; the older one stays in the library.
        assert versioned[1] == "cuEventElapsedTime_v2", f"cuda.h calls {versioned[1]}"


def test_errors_say_what_and_what_to_do() -> None:
    error = driver.CudaError(700, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access", "cuStreamSynchronize")
    assert error.message == ("cuStreamSynchronize gave CUDA_ERROR_ILLEGAL_ADDRESS (700): an illegal memory access")
    assert error.sticky
    assert "compute-sanitizer" in error.hint
    assert not driver.CudaError(2, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory", "cuMemAlloc_v2").sticky


def test_without_a_driver_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise OSError(f"{name}: cannot open shared object file: No such file or directory")

    monkeypatch.setattr(driver.ctypes, "CDLL", missing)
    with pytest.raises(ToolMissing, match=r"CUDA's driver can't be loaded: libcuda.so.1: cannot open"):
        driver.Driver()
