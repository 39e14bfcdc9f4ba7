"""What target cpu does not have, and what the user sees who meets it: the table of docs/cpu-target.md."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from .conftest import compile_object

pytestmark = pytest.mark.compile

_TEXTURE = """
__global__ void k(cudaTextureObject_t t, float* y) { *y = tex2D<float>(t, 0.5F, 0.5F); }
void run(float* y) { k<<<1, 1>>>(0, y); }
"""
_MMA = """
__global__ void k(unsigned int* d)
{
    asm volatile("mma.sync.aligned.m8n8k4.row.col.f16.f16.f16.f16 {%0}, {%1}, {%2}, {%3};"
                 : "=r"(d[0]) : "r"(d[1]), "r"(d[2]), "r"(d[3]));
}
void run(unsigned int* d) { k<<<1, 32>>>(d); }
"""
_FROM_A_KERNEL = """
__global__ void child(int* y) { *y = 1; }
__global__ void k(int* y)
{
    if (*y == 0)
    {
        child<<<1, 1>>>(y);
    }
}
"""
_WHICH = r"which .* does not have\.\n  \S+limit.cu:\d+: \w+\n  fix: "
LIMITS = {
    "cufft": ("#include <cufft.h>\n", r"limit.cu includes cufft.h: NVIDIA's library is not there"),
    "cublas": (
        'extern "C" int cublasXtCreate(void*);\nint run() { return cublasXtCreate(nullptr); }\n',
        r"limit.cu calls cublasXtCreate, " + _WHICH + "NVIDIA's libraries of kernels run on a GPU",
    ),
    "driver": (
        "#include <cuda.h>\nint run() { return cuInit(0); }\n",
        r"limit.cu calls cuInit, " + _WHICH + "CUDA's driver and compiler interfaces",
    ),
    "texture": (
        _TEXTURE,
        r"limit.cu calls tex2D, " + _WHICH + "Textures, surfaces and arrays aren't there",
    ),
    "texture-object": (
        "int run(cudaTextureObject_t* t) { return cudaCreateTextureObject(t, nullptr, nullptr, nullptr); }\n",
        r"limit.cu calls cudaCreateTextureObject, which .* does not have",
    ),
    "surface": (
        "__global__ void k(cudaSurfaceObject_t s, float* y) { surf2Dread(y, s, 0, 0); }\n",
        r"limit.cu:1:.*surf2Dread",
    ),
    "wmma": ("#include <mma.h>\n", r"limit.cu includes mma.h: .* has no tensor cores"),
    "mma": (
        _MMA,
        r"limit.cu(:\d+)? has inline PTX that .* does not have:\n  \S+limit.cu:4: mma.sync.aligned.m8n8k4",
    ),
    "cluster": (
        "__global__ void __cluster_dims__(2, 1, 1) k(int* y) { *y = 1; }\n",
        r"limit.cu:1: __cluster_dims__: .* has no clusters of blocks; .* 8.0",
    ),
    "cluster-group": (
        "#include <cooperative_groups.h>\n\n__global__ void k() { cooperative_groups::this_cluster().sync(); }\n",
        r"limit.cu:3: this_cluster: .* has no clusters of blocks",
    ),
    "tma": (
        # As cuda/__ptx declares and calls what the architecture lacks.
        (
            'extern "C" __device__ void __cuda_ptx_cp_async_bulk_is_not_supported_before_SM_90__();\n'
            "__global__ void k() { __cuda_ptx_cp_async_bulk_is_not_supported_before_SM_90__(); }\n"
        ),
        r"limit.cu uses instructions .* does not have:\n  cuda::ptx::cp_async_bulk, of compute capability 9.0",
    ),
    "dynamic-parallelism": (
        _FROM_A_KERNEL,
        r"limit.cu:7: a launch from a kernel \(dynamic parallelism\), which",
    ),
    "graph": (
        "int run() { return cudaGraphLaunch(nullptr, nullptr); }\n",
        r"limit.cu calls cudaGraphLaunch, " + _WHICH + "Graphs and stream capture",
    ),
}


@pytest.mark.parametrize("limit", LIMITS)
@pytest.mark.parametrize("cxx", ["g++", "clang++"])
def test_it_is_named_when_compiled(tmp_path: Path, limit: str, cxx: str) -> None:
    text, sentence = LIMITS[limit]
    source = tmp_path / "limit.cu"
    source.write_text(text, encoding="utf-8")
    done = compile_object(source, tmp_path / "limit.o", cxx=cxx)
    assert done.returncode == 5
    assert re.search(sentence, done.stderr), done.stderr
    assert not (tmp_path / "limit.o").exists()
