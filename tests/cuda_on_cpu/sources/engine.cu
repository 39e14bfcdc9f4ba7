//! Kernels whose threads work together: each tests one rule of the engine.

#include <cooperative_groups.h>
#include <cuda_pipeline.h>
#include <cuda_runtime.h>

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace
{

__device__ void meet(int* counts, int value)
{
    // A barrier inside a called function.
    counts[threadIdx.x] = __syncthreads_count(value % 3 == 0);
}

__global__ void barriers(int* counts, int* ors, int* ands, int limit)
{
    int const t = static_cast<int>(threadIdx.x);
    meet(counts, t);
    ors[t] = __syncthreads_or(t == limit);
    ands[t] = __syncthreads_and(t < limit);
}

__global__ void reverse(float const* x, float* y)
{
    __shared__ float tile[256];
    unsigned int const t = threadIdx.x;
    tile[t] = x[blockIdx.x * blockDim.x + t];
    __syncthreads();
    y[blockIdx.x * blockDim.x + t] = tile[blockDim.x - 1 - t];
}

//! Threads leave before the others wait: those that are left meet without them.
__global__ void earlyReturn(float* y, int n)
{
    extern __shared__ float sums[];
    int const t = static_cast<int>(threadIdx.x);
    if (t >= n)
    {
        return;
    }
    sums[t] = static_cast<float>(t);
    for (int width = 1; width < n; width *= 2)
    {
        __syncthreads();
        float const left = t >= width ? sums[t - width] : 0.0F;
        __syncthreads();
        sums[t] += left;
    }
    y[t] = sums[t];
}

//! Threads end by PTX's exit, deep in calls and in a loop; those that are left meet without them.
__device__ __attribute__((noinline)) void leave(bool now)
{
    if (now)
    {
        asm volatile("exit;");
    }
}

__global__ void exits(int* counts, int* sums)
{
    int const t = static_cast<int>(threadIdx.x);
    for (int round = 0; round < 3; ++round)
    {
        leave(t % 4 == round);
        counts[t] = __syncthreads_count(1);
    }
    sums[t] = __popc(__activemask());
}

//! cuda_pipeline.h's copies to shared memory.
__global__ void pipelined(float const* x, float* y)
{
    __shared__ float tile[256];
    unsigned int const t = threadIdx.x;
    __pipeline_memcpy_async(&tile[t], &x[t], sizeof(float));
    __pipeline_commit();
    __pipeline_wait_prior(0);
    __syncthreads();
    y[t] = tile[blockDim.x - 1 - t];
}

__global__ void shuffles(int* out, int width)
{
    int const t = static_cast<int>(threadIdx.x);
    int const n = static_cast<int>(blockDim.x);
    out[t] = __shfl_sync(0xFFFFFFFFU, t, 5, width);
    out[n + t] = __shfl_up_sync(0xFFFFFFFFU, t, 3, width);
    out[2 * n + t] = __shfl_down_sync(0xFFFFFFFFU, t, 3, width);
    out[3 * n + t] = __shfl_xor_sync(0xFFFFFFFFU, t, 6, width);
}

__global__ void votes(unsigned int* out)
{
    unsigned int const t = threadIdx.x;
    unsigned int const n = blockDim.x;
    out[t] = __ballot_sync(0xFFFFFFFFU, t % 3 == 0);
    out[n + t] = static_cast<unsigned int>(__any_sync(0xFFFFFFFFU, t == 40));
    out[2 * n + t] = static_cast<unsigned int>(__all_sync(0xFFFFFFFFU, t < 64));
    out[3 * n + t] = __match_any_sync(0xFFFFFFFFU, t % 4);
    int same = 0;
    __match_all_sync(0xFFFFFFFFU, t / 32, &same);
    out[4 * n + t] = static_cast<unsigned int>(same);
    out[5 * n + t] = __reduce_add_sync(0xFFFFFFFFU, t);
    out[6 * n + t] = __reduce_max_sync(0xFFFFFFFFU, t ^ 1U);
}

//! Halves of a warp that meet apart, and the active lanes of each branch.
__global__ void branches(unsigned int* out)
{
    unsigned int const t = threadIdx.x;
    if (t % 32 < 12)
    {
        out[t] = __activemask();
        __syncwarp(0xFFFU);
        out[t] += __shfl_sync(0xFFFU, t, 0) << 16;
    }
    else
    {
        out[t] = __activemask();
    }
}

__device__ int volatile flag;

__global__ void lower()
{
    flag = 0;
}

//! The first block waits for what the last one does.
__global__ void waitForAnotherBlock(int* out)
{
    if (blockIdx.x == 0)
    {
        while (flag == 0)
        {
        }
    }
    if (blockIdx.x == gridDim.x - 1 && threadIdx.x == 0)
    {
        flag = 1;
    }
    out[blockIdx.x * blockDim.x + threadIdx.x] = flag;
}

//! A lock that all threads of all blocks want.
__device__ int lock;

__global__ void locked(int* count)
{
    bool done = false;
    while (!done)
    {
        if (atomicCAS(&lock, 0, 1) == 0)
        {
            __threadfence();
            *count = *count + 1;
            __threadfence();
            atomicExch(&lock, 0);
            done = true;
        }
    }
}

__global__ void order(int* next, int* places)
{
    places[blockIdx.x * blockDim.x + threadIdx.x] = atomicAdd(next, 1);
}

__global__ void coordinates(unsigned int* out)
{
    unsigned int const t = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    unsigned int const b = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
    __syncthreads();
    out[b * blockDim.x * blockDim.y * blockDim.z + t] = threadIdx.x + 10 * threadIdx.y + 100 * threadIdx.z +
                                                        1000 * blockIdx.x + 10000 * blockIdx.y + 100000 * blockIdx.z;
}

} // namespace

EXPORT int runBarriers(int* counts, int* ors, int* ands, int threads, int limit)
{
    barriers<<<1, threads>>>(counts, ors, ands, limit);
    return cudaDeviceSynchronize();
}

EXPORT int runReverse(float const* x, float* y, int blocks)
{
    reverse<<<blocks, 256>>>(x, y);
    return cudaDeviceSynchronize();
}

EXPORT int runEarlyReturn(float* y, int threads, int n)
{
    earlyReturn<<<1, threads, static_cast<size_t>(n) * sizeof(float)>>>(y, n);
    return cudaDeviceSynchronize();
}

EXPORT int runExits(int* counts, int* sums, int threads, int blocks)
{
    exits<<<blocks, threads>>>(counts, sums);
    return static_cast<int>(cudaDeviceSynchronize());
}

EXPORT int runPipelined(float const* x, float* y, int threads)
{
    pipelined<<<1, threads>>>(x, y);
    return static_cast<int>(cudaDeviceSynchronize());
}

EXPORT int runShuffles(int* out, int threads, int width)
{
    shuffles<<<1, threads>>>(out, width);
    return cudaDeviceSynchronize();
}

EXPORT int runVotes(unsigned int* out, int threads)
{
    votes<<<1, threads>>>(out);
    return cudaDeviceSynchronize();
}

EXPORT int runBranches(unsigned int* out)
{
    branches<<<1, 64>>>(out);
    return cudaDeviceSynchronize();
}

EXPORT int runWaitForAnotherBlock(int* out, int blocks, int threads)
{
    lower<<<1, 1>>>();
    waitForAnotherBlock<<<blocks, threads>>>(out);
    return cudaDeviceSynchronize();
}

EXPORT int runLocked(int* count, int blocks, int threads)
{
    locked<<<blocks, threads>>>(count);
    return cudaDeviceSynchronize();
}

EXPORT int runOrder(int* next, int* places, int blocks, int threads)
{
    order<<<blocks, threads>>>(next, places);
    return cudaDeviceSynchronize();
}

EXPORT int runCoordinates(unsigned int* out, unsigned int x, unsigned int y, unsigned int z)
{
    coordinates<<<dim3(z, x, y), dim3(x, y, z)>>>(out);
    return cudaDeviceSynchronize();
}

// Its threads are so short that the timer often finds a worker between two of them.
__global__ void increment(float* to)
{
    unsigned int const i = blockIdx.x * blockDim.x + threadIdx.x;
    to[i] = to[i] + 1;
}

EXPORT int runIncrement(float* to, int blocks, int times)
{
    for (int i = 0; i < times; ++i)
    {
        increment<<<static_cast<unsigned int>(blocks), 1024>>>(to);
    }
    return cudaDeviceSynchronize();
}

// Each block reads what the others wrote in the round.
__global__ void gridRounds(int* written, int* sums)
{
    auto const grid = cooperative_groups::this_grid();
    auto const n = static_cast<int>(grid.size());
    auto const i = static_cast<int>(grid.thread_rank());
    for (int round = 0; round < 3; ++round)
    {
        written[i] = (round + 1) * i;
        grid.sync();
        sums[i] += written[(i + n / 2) % n];
        grid.sync();
    }
}

EXPORT int runGridRounds(int* written, int* sums, int blocks, int threads, bool cooperative)
{
    if (cooperative)
    {
        void* arguments[] = {&written, &sums};
        cudaError_t const error = cudaLaunchCooperativeKernel(gridRounds, dim3(static_cast<unsigned int>(blocks)),
                                                              dim3(static_cast<unsigned int>(threads)), arguments);
        return error != cudaSuccess ? error : cudaDeviceSynchronize();
    }
    gridRounds<<<blocks, threads>>>(written, sums);
    return cudaDeviceSynchronize();
}
