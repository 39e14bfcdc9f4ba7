// Prefix sum of one pass: warp scans by __shfl_up_sync, and blocks that wait for the one before them (chained scan,
// spinning).
#include "corpus.h"

namespace scan_warp
{
__device__ __forceinline__ int laneId()
{
    return static_cast<int>(threadIdx.x) & 31;
}

template <typename T>
__device__ __forceinline__ T inclusiveScanWarp(T value)
{
#pragma unroll
    for (int delta = 1; delta <= 16; delta <<= 1)
    {
        T const below = __shfl_up_sync(0xffffffffu, value, delta);
        if (laneId() >= delta)
        {
            value += below;
        }
    }
    return value;
}

template <int THREADS>
__global__ void chained(int const* x, int* y, int volatile* prefixes, int volatile* ready, unsigned* tickets, int n)
{
    __shared__ int warpTotals[THREADS / 32];
    __shared__ int before;
    __shared__ unsigned block;
    if (threadIdx.x == 0)
    {
        block = atomicAdd(tickets, 1u); // in the order in which blocks start, so that the one before has started
    }
    __syncthreads();
    int const i = block * THREADS + threadIdx.x;
    int value = inclusiveScanWarp(i < n ? x[i] : 0);
    if (laneId() == 31)
    {
        warpTotals[threadIdx.x / 32] = value;
    }
    __syncthreads();
    if (threadIdx.x < 32)
    {
        int const total = inclusiveScanWarp(threadIdx.x < THREADS / 32 ? warpTotals[threadIdx.x] : 0);
        if (threadIdx.x < THREADS / 32)
        {
            warpTotals[threadIdx.x] = total;
        }
    }
    __syncthreads();
    if (threadIdx.x == 0)
    {
        int sum = 0;
        if (block > 0)
        {
            while (atomicAdd(const_cast<int*>(ready + block - 1), 0) == 0)
            {
                __nanosleep(20);
            }
            __threadfence();
            sum = prefixes[block - 1];
        }
        before = sum;
        prefixes[block] = sum + warpTotals[THREADS / 32 - 1];
        __threadfence();
        atomicExch(const_cast<int*>(ready + block), 1);
    }
    __syncthreads();
    if (i < n)
    {
        int const warp = threadIdx.x / 32;
        y[i] = before + (warp > 0 ? warpTotals[warp - 1] : 0) + value;
    }
}
} // namespace scan_warp

CORPUS_EXPORT int run_scan_warp(int const* x, int* y, int n)
{
    constexpr int kTHREADS = 160;
    int const blocks = corpus::ceilDiv(n, kTHREADS);
    corpus::Device<int> const dx(x, n), dy(n), prefixes(blocks);
    corpus::Device<int> ready(blocks);
    corpus::Device<unsigned> tickets(1);
    ready.zero();
    tickets.zero();
    scan_warp::chained<kTHREADS>
        <<<blocks, kTHREADS>>>(dx.get(), dy.get(), prefixes.get(), ready.get(), tickets.get(), n);
    return dy.copyTo(y);
}
