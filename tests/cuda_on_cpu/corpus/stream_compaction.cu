// Stream compaction that keeps the order: ballots and popc for places in a warp, block offsets by a first counting
// kernel.
#include "corpus.h"

namespace
{
struct Positive
{
    __device__ bool operator()(float x) const
    {
        return x > 0.f;
    }
};

__device__ unsigned lanesBelow()
{
    return (1u << (threadIdx.x & 31)) - 1u;
}

template <typename Predicate>
__global__ void countKept(float const* x, int* counts, int n, Predicate keep)
{
    int const i = blockIdx.x * blockDim.x + threadIdx.x;
    int const count = __syncthreads_count(i < n && keep(x[i]));
    if (threadIdx.x == 0)
    {
        counts[blockIdx.x] = count;
    }
}

template <typename Predicate>
__global__ void compact(float const* x, int const* counts, float* kept, int* from, int* total, int n, Predicate keep)
{
    __shared__ int warpCounts[32];
    __shared__ int blockOffset;
    int const i = blockIdx.x * blockDim.x + threadIdx.x;
    int const warp = threadIdx.x >> 5;
    if (threadIdx.x == 0)
    {
        blockOffset = 0;
    }
    __syncthreads();
    int sum = 0;
    for (unsigned b = threadIdx.x; b < blockIdx.x; b += blockDim.x)
    {
        sum += counts[b];
    }
    if (sum != 0)
    {
        atomicAdd(&blockOffset, sum);
    }
    bool const mine = i < n && keep(x[i]);
    unsigned const ballot = __ballot_sync(0xFFFFFFFF, mine);
    if ((threadIdx.x & 31) == 0)
    {
        warpCounts[warp] = __popc(ballot);
    }
    if (!__syncthreads_or(mine) && blockIdx.x + 1 != gridDim.x)
    {
        return;
    }
    int at = blockOffset + __popc(ballot & lanesBelow());
    for (int w = 0; w < warp; ++w)
    {
        at += warpCounts[w];
    }
    if (mine)
    {
        kept[at] = x[i];
        from[at] = i;
    }
    if (blockIdx.x == gridDim.x - 1 && threadIdx.x == blockDim.x - 1)
    {
        *total = at + (mine ? 1 : 0);
    }
}
} // namespace

CORPUS_EXPORT int run_stream_compaction(float const* x, float* kept, int* from, int* total, int n)
{
    int const threads = 128, blocks = corpus::ceilDiv(n, threads);
    corpus::Device<float> const dx(x, n), dKept(kept, n);
    corpus::Device<int> const counts(blocks), dFrom(from, n), dTotal(1);
    countKept<<<blocks, threads>>>(dx.get(), counts.get(), n, Positive());
    compact<<<blocks, threads>>>(dx.get(), counts.get(), dKept.get(), dFrom.get(), dTotal.get(), n, Positive{});
    int error = dKept.copyTo(kept);
    error = error ? error : dFrom.copyTo(from);
    return error ? error : dTotal.copyTo(total);
}
