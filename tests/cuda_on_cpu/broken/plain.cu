// Defects that every build of target cpu finds.
#include "broken.h"

#include <cuda_fp16.h>

#include <vector>

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

//! Each thread makes as many trips as it has: those with fewer wait at another barrier, behind the loop.
template <bool kRepaired>
__global__ void loopsDifferKernel(int* out)
{
    __shared__ int tile[64];
    int const t = static_cast<int>(threadIdx.x);
    tile[t] = t;
    for (int trip = 0; trip < (kRepaired ? 4 : 1 + t % 2); ++trip)
    {
        __syncthreads(); // BUG loopsDiffer
        tile[t] += trip;
    }
    __syncthreads(); // BUG loopsDiffer
    out[t] = tile[63 - t];
}

EXPORT int loopsDiffer(bool repaired)
{
    Memory<int> out(64);
    LAUNCH(loopsDifferKernel, 1, 64, 0, out.get());
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

//! Each half's mask names lanes of the other half, which wait by their own.
template <bool kRepaired>
__global__ void crossedMasksKernel(int* out)
{
    int const t = static_cast<int>(threadIdx.x);
    int value = t;
    if (t < 16)
    {
        value += __shfl_xor_sync(kRepaired ? 0x0000FFFFU : 0x00FFFFFFU, value, 1); // BUG crossedMasks
    }
    else
    {
        value += __shfl_xor_sync(kRepaired ? 0xFFFF0000U : 0xFFFFFF00U, value, 1); // BUG crossedMasks
    }
    out[t] = value;
}

EXPORT int crossedMasks(bool repaired)
{
    Memory<int> out(32);
    LAUNCH(crossedMasksKernel, 1, 32, 0, out.get());
    return finish();
}

//! One half's mask names all lanes; the other half is through with a mask of its own and comes to another operation.
template <bool kRepaired>
__global__ void overlappingMasksKernel(int* out)
{
    int const t = static_cast<int>(threadIdx.x);
    int value = t;
    if (t < 16)
    {
        value += __shfl_xor_sync(0x0000FFFFU, value, 1);
    }
    else
    {
        value += __shfl_xor_sync(kRepaired ? 0xFFFF0000U : 0xFFFFFFFFU, value, 1); // BUG overlappingMasks
    }
    value += __shfl_down_sync(0xFFFFFFFFU, value, 1); // BUG overlappingMasks
    out[t] = value;
}

EXPORT int overlappingMasks(bool repaired)
{
    Memory<int> out(32);
    LAUNCH(overlappingMasksKernel, 1, 32, 0, out.get());
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

template <bool kRepaired>
__global__ void hostArgumentKernel(float const* x, float* y)
{
    // What isn't read is found too.
    y[threadIdx.x] = kRepaired ? x[threadIdx.x] : 0.0F;
}

EXPORT int hostArgument(bool repaired)
{
    std::vector<float> const host(32);
    Memory<float> x(32);
    Memory<float> y(32);
    LAUNCH(hostArgumentKernel, 1, 32, 0, repaired ? x.get() : host.data(), y.get()); // BUG hostArgument
    return finish();
}

__managed__ float gManaged[32];
__device__ float gDevice[32];

//! What kernels are given by value: some members are pointers, others look like it.
struct Row
{
    char kind;
    float const* values;
};

union Either
{
    float const* pointer;
    unsigned long long number;
};

struct Rows
{
    short count;
    Row rows[6];
    __half scale;
    unsigned long long number;
    Either either;
    cudaStream_t stream;
    float (*function)(float);
    void const* nothing[3];
};

template <bool kRepaired>
__global__ void hostMemberKernel(Rows rows, float* y)
{
    float sum = 0.0F;
    for (int i = 0; i < rows.count; ++i)
    {
        sum += rows.rows[i].values == nullptr ? 0.0F : *rows.rows[i].values; // BUG hostMember
    }
    y[threadIdx.x] = sum;
}

EXPORT int hostMember(bool repaired)
{
    static float const variable[32] = {1.0F};
    alignas(64) float registered[32] = {};
    std::vector<float> const host(32);
    Memory<float> device(32);
    Memory<float> y(32);
    float* pinned = nullptr;
    float* managed = nullptr;
    void* symbol = nullptr;
    cudaMallocHost(&pinned, 128);
    cudaMallocManaged(&managed, 128);
    cudaHostRegister(registered, sizeof(registered), cudaHostRegisterDefault);
    cudaGetSymbolAddress(&symbol, gDevice);
    pinned[0] = managed[0] = 0.0F;
    cudaMemset(symbol, 0, sizeof(gDevice));
    Rows rows{};
    rows.count = 6;
    rows.rows[0].values = device.get();
    rows.rows[1].values = pinned;
    rows.rows[2].values = managed;
    rows.rows[3].values = registered;
    rows.rows[4].values = static_cast<float const*>(symbol);
    rows.rows[5].values = repaired ? gManaged : variable;
    rows.number = reinterpret_cast<unsigned long long>(host.data());
    rows.either.number = rows.number;
    rows.function = sqrtf;
    rows.nothing[0] = device.get() + 32; // the end
    rows.nothing[1] = reinterpret_cast<void*>(~0ULL);
    rows.nothing[2] = host.data(); // which the kernel doesn't read
    cudaStreamCreate(&rows.stream);
    LAUNCH(hostMemberKernel, 1, 32, 0, rows, y.get());
    int const error = finish();
    cudaStreamDestroy(rows.stream);
    cudaHostUnregister(registered);
    cudaFreeHost(pinned);
    cudaFree(managed);
    return error;
}

template <bool kRepaired>
__global__ void hostStackKernel(int const* limit, int* y)
{
    y[threadIdx.x] = *limit;
}

EXPORT int hostStack(bool repaired)
{
    int const limit = 3;
    Memory<int> onDevice(1);
    Memory<int> y(32);
    int const* const given = repaired ? onDevice.get() : &limit;
    LAUNCH(hostStackKernel, 1, 32, 0, given, y.get()); // BUG hostStack
    return finish();
}
