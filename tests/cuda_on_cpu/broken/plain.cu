// Defects that every build of target cpu finds.
#include "broken.h"

#include <cassert>

template <bool kRepaired>
__global__ void barrierSkippedKernel(int* out)
{
    __shared__ int tile[64];
    int const t = static_cast<int>(threadIdx.x);
    tile[t] = t;
    if (kRepaired || t < 32)
    {
        __syncthreads(); // BUG barrierSkipped
    }
    out[t] = tile[t] + 1;
    __syncthreads(); // BUG barrierSkipped
    out[t] += tile[63 - t];
}

EXPORT int barrierSkipped(bool repaired)
{
    Memory<int> out(64);
    LAUNCH(barrierSkippedKernel, 1, 64, 0, out.get());
    return finish();
}

template <bool kRepaired>
__global__ void barriersDifferKernel(int* out)
{
    __shared__ int tile[64];
    int const t = static_cast<int>(threadIdx.x);
    if (kRepaired)
    {
        tile[t] = t % 2 == 0 ? t : -t;
        __syncthreads();
    }
    else if (t % 2 == 0)
    {
        tile[t] = t;
        __syncthreads(); // BUG barriersDiffer
    }
    else
    {
        tile[t] = -t;
        __syncthreads(); // BUG barriersDiffer
    }
    out[t] = tile[63 - t];
}

EXPORT int barriersDiffer(bool repaired)
{
    Memory<int> out(64);
    LAUNCH(barriersDifferKernel, 1, 64, 0, out.get());
    return finish();
}

template <bool kRepaired>
__global__ void barrierAgainstShuffleKernel(int* out)
{
    int const t = static_cast<int>(threadIdx.x);
    int value = t;
    if (!kRepaired && t < 16)
    {
        __syncthreads(); // BUG barrierAgainstShuffle
    }
    value += __shfl_xor_sync(0xFFFFFFFFU, value, 1); // BUG barrierAgainstShuffle
    if (kRepaired)
    {
        __syncthreads();
    }
    out[t] = value;
}

EXPORT int barrierAgainstShuffle(bool repaired)
{
    Memory<int> out(32);
    LAUNCH(barrierAgainstShuffleKernel, 1, 32, 0, out.get());
    return finish();
}

template <bool kRepaired>
__global__ void staticSharedOverrunKernel(float* out)
{
    __shared__ float row[32]; // BUG staticSharedOverrun
    unsigned int const t = threadIdx.x;
    row[t] = 1.0F;
    if (t == 31)
    {
        row[kRepaired ? t : t + 1] = 2.0F; // the 33rd of 32
    }
    __syncthreads();
    out[t] = row[31 - t];
}

EXPORT int staticSharedOverrun(bool repaired)
{
    Memory<float> out(32);
    LAUNCH(staticSharedOverrunKernel, 1, 32, 0, out.get());
    return finish();
}

template <bool kRepaired>
__global__ void dynamicSharedOverrunKernel(float* out)
{
    extern __shared__ float rows[]; // BUG dynamicSharedOverrun
    unsigned int const t = threadIdx.x;
    rows[t] = 1.0F;
    rows[t + blockDim.x] = 2.0F;
    __syncthreads();
    out[t] = rows[t ^ 1U] + rows[t + blockDim.x];
}

EXPORT int dynamicSharedOverrun(bool repaired)
{
    Memory<float> out(16);
    // Two rows are needed, and bytes for one and a half are asked for.
    LAUNCH(dynamicSharedOverrunKernel, 1, 16, repaired ? 128 : 96, out.get());
    return finish();
}

template <bool kRepaired>
__global__ void freedMemoryKernel(float* x)
{
    x[threadIdx.x] += 1.0F; // BUG freedMemory
}

EXPORT int freedMemory(bool repaired)
{
    float* x = nullptr;
    cudaMalloc(&x, 32 * sizeof(float));
    cudaMemset(x, 0, 32 * sizeof(float));
    if (!repaired)
    {
        cudaFree(x);
    }
    LAUNCH(freedMemoryKernel, 1, 32, 0, x);
    int const error = finish();
    if (repaired)
    {
        cudaFree(x);
    }
    return error;
}

template <bool kRepaired>
__global__ void nullWriteKernel(float* x, float* maybe)
{
    x[threadIdx.x] = 1.0F;
    if (!kRepaired || maybe != nullptr)
    {
        maybe[threadIdx.x] = 2.0F; // BUG nullWrite
    }
}

EXPORT int nullWrite(bool repaired)
{
    Memory<float> x(32);
    float* const none = nullptr;
    LAUNCH(nullWriteKernel, 1, 32, 0, x.get(), none);
    return finish();
}

template <bool kRepaired>
__global__ void farOverrunKernel(float* x, int stride)
{
    // Rows of 1024 for 2 blocks; the broken one takes every other.
    int const row = static_cast<int>(blockIdx.x) * (kRepaired ? 1 : 2);
    x[row * stride + static_cast<int>(threadIdx.x)] = 1.0F; // BUG farOverrun
}

EXPORT int farOverrun(bool repaired)
{
    Memory<float> x(2048);
    LAUNCH(farOverrunKernel, 2, 32, 0, x.get(), 1024);
    return finish();
}

__device__ __attribute__((noinline)) int deep(int volatile* x, int depth)
{
    int volatile local[512];
    local[depth % 512] = depth;
    return depth == 0 ? x[0] : deep(local, depth - 1) + local[depth % 512];
}

template <bool kRepaired>
__global__ void stackOverflowKernel(int* out)
{
    int volatile zero = 0;
    out[threadIdx.x] = deep(&zero, kRepaired ? 10 : 10000);
}

EXPORT int stackOverflow(bool repaired)
{
    Memory<int> out(1);
    LAUNCH(stackOverflowKernel, 1, 1, 0, out.get());
    return finish();
}

template <bool kRepaired>
__global__ void endlessKernel(int volatile* flag, int* out)
{
    if (kRepaired && threadIdx.x == 1)
    {
        *flag = 1;
    }
    if (threadIdx.x == 0)
    {
        while (*flag == 0) // BUG endless
        {
        }
    }
    out[threadIdx.x] = 1;
}

EXPORT int endless(bool repaired)
{
    Memory<int> flag(1);
    Memory<int> out(2);
    LAUNCH(endlessKernel, 1, 2, 0, flag.get(), out.get());
    return finish();
}

template <bool kRepaired>
__global__ void configurationKernel(int* out)
{
    out[threadIdx.x] = 1;
}

EXPORT int noThreads(bool repaired)
{
    Memory<int> out(32);
    LAUNCH(configurationKernel, 1, repaired ? 32 : 0, 0, out.get()); // BUG noThreads
    return finish();
}

EXPORT int emptyGrid(bool repaired)
{
    Memory<int> out(32);
    int const rows = repaired ? 1 : 0;
    LAUNCH(configurationKernel, rows, 32, 0, out.get()); // BUG emptyGrid
    return finish();
}

EXPORT int tooManyThreads(bool repaired)
{
    Memory<int> out(2048);
    LAUNCH(configurationKernel, 1, repaired ? 1024 : 2048, 0, out.get()); // BUG tooManyThreads
    return finish();
}

EXPORT int tooMuchShared(bool repaired)
{
    Memory<int> out(32);
    LAUNCH(configurationKernel, 1, 32, repaired ? 49152 : 50000, out.get()); // BUG tooMuchShared
    return finish();
}

template <bool kRepaired>
__global__ void assertFailsKernel(int* out, int classes)
{
    int const label = kRepaired ? 3 : static_cast<int>(threadIdx.x);
    assert(label < classes); // BUG assertFails
    out[label] = 1;
}

EXPORT int assertFails(bool repaired)
{
    Memory<int> out(8);
    LAUNCH(assertFailsKernel, 1, repaired ? 1 : 8, 0, out.get(), 5);
    return finish();
}

template <bool kRepaired>
__global__ void trappedKernel(int* out)
{
    if (!kRepaired && threadIdx.x == 3)
    {
        __trap(); // BUG trapped
    }
    out[threadIdx.x] = 1;
}

EXPORT int trapped(bool repaired)
{
    Memory<int> out(8);
    LAUNCH(trappedKernel, 1, 8, 0, out.get());
    return finish();
}

EXPORT int copyTooLong(bool repaired)
{
    Memory<float> x(8);
    float host[16] = {};
    cudaMemcpy(host, x.get(), repaired ? 32 : sizeof(host), cudaMemcpyDeviceToHost); // BUG copyTooLong
    return finish();
}

EXPORT int freedTwice(bool repaired)
{
    float* x = nullptr;
    cudaMalloc(&x, 32);
    cudaFree(x);
    if (!repaired)
    {
        cudaFree(x); // BUG freedTwice
    }
    cudaGetLastError();
    return finish();
}
