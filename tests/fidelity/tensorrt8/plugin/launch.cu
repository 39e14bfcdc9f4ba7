// The plugins' arithmetic on a GPU.
#define CHAMELEONS_ON_GPU
#include "arithmetic.h"

#include <cuda_runtime.h>

namespace chameleon
{

namespace
{

__global__ void computeAll(Work work, void const* from, void* to)
{
    int64_t const count = volume(work.to);
    for (int64_t i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x)
    {
        compute(work, from, to, i);
    }
}

} // namespace

int32_t launch(Work const& work, void const* from, void* to, cudaStream_t stream)
{
    int64_t const blocks = (volume(work.to) + 127) / 128;
    if (blocks <= 0)
    {
        return 0; // a launch of no blocks is an error of CUDA's
    }
    computeAll<<<static_cast<unsigned>(blocks < 256 ? blocks : 256), 128, 0, stream>>>(work, from, to);
    return static_cast<int32_t>(cudaGetLastError());
}

} // namespace chameleon
