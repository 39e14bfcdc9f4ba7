// a * x + y launched by cudaLaunchKernel with the block that the occupancy calculator likes; an extern "C" kernel.
#include "corpus.h"

struct AxpyFactor
{
    float value;
    bool negate;
};

extern "C" __global__ void axpyKernel(float const* x, float* y, AxpyFactor factor, int n)
{
    float const a = factor.negate ? -factor.value : factor.value;
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < static_cast<unsigned>(n); i += gridDim.x * blockDim.x)
    {
        y[i] = __fmaf_rn(a, x[i], y[i]);
    }
}

CORPUS_EXPORT int run_axpy_launch(float const* x, float* y, float a, int negate, int n)
{
    corpus::Device<float> const dx(x, n), dy(y, n);
    int grid = 0, block = 0;
    cudaOccupancyMaxPotentialBlockSize(&grid, &block, axpyKernel, 0, 256);
    if (block <= 0 || block > 256 || grid <= 0)
    {
        return -1;
    }
    grid = (n + block - 1) / block;
    float const* pointerX = dx.get();
    float* pointerY = dy.get();
    AxpyFactor factor{a, negate != 0};
    void* arguments[] = {&pointerX, &pointerY, &factor, &n};
    cudaError_t const error = cudaLaunchKernel((void*)axpyKernel, dim3(grid), dim3(block), arguments, 0, 0);
    return error != cudaSuccess ? static_cast<int>(error) : dy.copyTo(y);
}
