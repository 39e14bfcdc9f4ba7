"""The numbers of cuBLAS's and cuDNN's enumerations in pluginkit's headers, held against those of NVIDIA's."""

from __future__ import annotations

import re

import pytest

import pluginkit

HEADERS = pluginkit.include_dir() / "pluginkit" / "cpu" / "libraries"

CUBLAS = {
    "STATUS": "SUCCESS=0 NOT_INITIALIZED=1 ALLOC_FAILED=3 INVALID_VALUE=7 ARCH_MISMATCH=8 MAPPING_ERROR=11 "
    "EXECUTION_FAILED=13 INTERNAL_ERROR=14 NOT_SUPPORTED=15 LICENSE_ERROR=16",
    "OP": "N=0 T=1 C=2 HERMITAN=2 CONJG=3",
    "POINTER_MODE": "HOST=0 DEVICE=1",
    "ATOMICS": "NOT_ALLOWED=0 ALLOWED=1",
    "FILL_MODE": "LOWER=0 UPPER=1 FULL=2",
    "DIAG": "NON_UNIT=0 UNIT=1",
    "SIDE": "LEFT=0 RIGHT=1",
    "GEMM": "DFALT=-1 DEFAULT=-1 ALGO0=0 ALGO1=1 ALGO23=23 DFALT_TENSOR_OP=99 DEFAULT_TENSOR_OP=99 "
    "ALGO0_TENSOR_OP=100 ALGO15_TENSOR_OP=115",
    "COMPUTE": "16F=64 16F_PEDANTIC=65 32F=68 32F_PEDANTIC=69 64F=70 64F_PEDANTIC=71 32I=72 32I_PEDANTIC=73 "
    "32F_FAST_16F=74 32F_FAST_16BF=75 32F_FAST_TF32=77",
}
"""Of cublas_api.h in CUDA 12.3 (cuBLAS 12.3.4.1), by the names' beginning."""
CUDNN = {
    "POOLING": "MAX=0 AVERAGE_COUNT_INCLUDE_PADDING=1 AVERAGE_COUNT_EXCLUDE_PADDING=2 MAX_DETERMINISTIC=3",
    "SOFTMAX": "FAST=0 ACCURATE=1 LOG=2 MODE_INSTANCE=0 MODE_CHANNEL=1",
    "ACTIVATION": "SIGMOID=0 RELU=1 TANH=2 CLIPPED_RELU=3 ELU=4 IDENTITY=5 SWISH=6",
    "BATCHNORM": "PER_ACTIVATION=0 SPATIAL=1 SPATIAL_PERSISTENT=2",
}
"""Of the functions that compute, as CUDA.jl's libcudnn.jl has them from NVIDIA's headers of cuDNN 8 and 9."""


@pytest.mark.parametrize(
    ("header", "library", "table"), [("cublas_v2.h", "CUBLAS", CUBLAS), ("cudnn.h", "CUDNN", CUDNN)]
)
def test_the_numbers_are_nvidias(header: str, library: str, table: dict[str, str]) -> None:
    found = {
        name: int(number)
        for name, number in re.findall(r"^ +(\w+) = (-?\d+)", (HEADERS / header).read_text(), re.MULTILINE)
    }
    for begin, entries in table.items():
        prefix = f"{library}_{begin}_"
        expected = {f"{prefix}{name}": int(number) for name, number in (one.split("=") for one in entries.split())}
        assert {name: number for name, number in found.items() if name.startswith(prefix)} == expected
