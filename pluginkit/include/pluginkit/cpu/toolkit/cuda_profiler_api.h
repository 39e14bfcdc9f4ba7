//! The toolkit's header, which CUDA's wheels on PyPI don't have. Nothing is profiled on target cpu.
#pragma once

#include <cuda_runtime_api.h>

extern "C"
{
    cudaError_t cudaProfilerStart();
    cudaError_t cudaProfilerStop();
}
