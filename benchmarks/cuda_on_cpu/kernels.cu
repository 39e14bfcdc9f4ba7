//! The kernels that are timed on target cpu; numba_kernels.py has the same ones, plain.cpp the same work as loops.

#include <cuda_runtime.h>

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace
{

constexpr unsigned int kTHREADS = 256;

__global__ void multiplyAdd(float a, float const* x, float* y, int n)
{
    int const i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
    if (i < n)
    {
        y[i] = a * x[i] + 1.0F;
    }
}

//! The same, of the launches: a kernel that is launched from one place, as most are, becomes part of the loop over its
//! threads.
__global__ void multiplyAddOnce(float a, float const* x, float* y, int n)
{
    int const i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
    if (i < n)
    {
        y[i] = a * x[i] + 1.0F;
    }
}

__global__ void silu(float const* x, float* y, int n)
{
    int const i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
    if (i < n)
    {
        y[i] = x[i] / (1.0F + expf(-x[i]));
    }
}

//! Each element by its neighbour in the block, through shared memory: one barrier.
__global__ void exchange(float const* x, float* y)
{
    __shared__ float tile[kTHREADS];
    unsigned int const t = threadIdx.x;
    unsigned int const i = blockIdx.x * kTHREADS + t;
    tile[t] = x[i];
    __syncthreads();
    y[i] = tile[t ^ 1U];
}

//! The sum of each block's elements, by a tree in shared memory: nine barriers.
__global__ void blockSum(float const* x, float* sums)
{
    __shared__ float partial[kTHREADS];
    unsigned int const t = threadIdx.x;
    partial[t] = x[blockIdx.x * kTHREADS + t];
    __syncthreads();
    for (unsigned int width = kTHREADS / 2; width > 0; width /= 2)
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

//! The same by shuffles within warps: five of them and a barrier.
__global__ void warpSum(float const* x, float* sums)
{
    __shared__ float partial[kTHREADS / 32];
    unsigned int const t = threadIdx.x;
    float sum = x[blockIdx.x * kTHREADS + t];
    for (int width = 16; width > 0; width /= 2)
    {
        sum += __shfl_down_sync(0xFFFFFFFFU, sum, width);
    }
    if (t % 32 == 0)
    {
        partial[t / 32] = sum;
    }
    __syncthreads();
    if (t == 0)
    {
        for (unsigned int warp = 1; warp < kTHREADS / 32; ++warp)
        {
            sum += partial[warp];
        }
        sums[blockIdx.x] = sum;
    }
}

} // namespace

EXPORT int runMultiplyAdd(float const* x, float* y, int n)
{
    multiplyAdd<<<(n + 255) / 256, 256>>>(2.0F, x, y, n);
    return cudaDeviceSynchronize();
}

EXPORT int runSilu(float const* x, float* y, int n)
{
    silu<<<(n + 255) / 256, 256>>>(x, y, n);
    return cudaDeviceSynchronize();
}

EXPORT int runExchange(float const* x, float* y, int n)
{
    exchange<<<n / 256, 256>>>(x, y);
    return cudaDeviceSynchronize();
}

EXPORT int runBlockSum(float const* x, float* y, int n)
{
    blockSum<<<n / 256, 256>>>(x, y);
    return cudaDeviceSynchronize();
}

EXPORT int runWarpSum(float const* x, float* y, int n)
{
    warpSum<<<n / 256, 256>>>(x, y);
    return cudaDeviceSynchronize();
}

//! A launch of one block for each 256 elements.
EXPORT int runLaunches(float const* x, float* y, int n)
{
    for (int i = 0; i < n / 256; ++i)
    {
        multiplyAddOnce<<<1, 32>>>(2.0F, x + i, y + i, 1);
    }
    return cudaDeviceSynchronize();
}
