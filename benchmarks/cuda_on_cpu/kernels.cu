//! The kernels that are timed on target cpu; numba_kernels.py has the same ones, plain.cpp the same work as loops.

#include <cuda_runtime.h>

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace
{

__global__ void axpy(float a, float const* x, float* y, int n)
{
    int const i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
    if (i < n)
    {
        y[i] = a * x[i] + y[i];
    }
}

__global__ void gelu(float const* x, float* y, int n)
{
    int const i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
    if (i < n)
    {
        y[i] = 0.5F * x[i] * (1.0F + tanhf(0.7978845608F * (x[i] + 0.044715F * x[i] * x[i] * x[i])));
    }
}

//! The sum of each block's elements, by a tree in shared memory.
__global__ void blockSum(float const* x, float* sums)
{
    __shared__ float partial[64];
    unsigned int const t = threadIdx.x;
    partial[t] = x[blockIdx.x * blockDim.x + t];
    __syncthreads();
    for (unsigned int width = blockDim.x / 2; width > 0; width /= 2)
    {
        if (t < width)
        {
            partial[t] += partial[t + width];
        }
        __syncthreads();
    }
    if (t == 0)
    {
        sums[blockIdx.x] = partial[0];
    }
}

} // namespace

EXPORT int runAxpy(float const* x, float* y, int n)
{
    axpy<<<(n + 255) / 256, 256>>>(2.0F, x, y, n);
    return cudaDeviceSynchronize();
}

EXPORT int runGelu(float const* x, float* y, int n)
{
    gelu<<<(n + 255) / 256, 256>>>(x, y, n);
    return cudaDeviceSynchronize();
}

EXPORT int runBlockSum(float const* x, float* sums, int n)
{
    blockSum<<<n / 64, 64>>>(x, sums);
    return cudaDeviceSynchronize();
}
