// Row sums, maxima and argmaxima by CUB: BlockReduce with two algorithms, KeyValuePair with ArgMax, WarpReduce a row.
#include "corpus.h"

#include <cub/cub.cuh>

namespace reduce_cub
{
struct Larger
{
    template <typename T>
    __device__ __forceinline__ T operator()(T const& a, T const& b) const
    {
        return b > a ? b : a;
    }
};

template <int THREADS, cub::BlockReduceAlgorithm ALGORITHM>
__global__ void blocks(float const* x, float* sums, int* places, int columns)
{
    using Pair = cub::KeyValuePair<int, float>;
    using Sum = cub::BlockReduce<float, THREADS, ALGORITHM>;
    using ArgMax = cub::BlockReduce<Pair, THREADS>;
    __shared__ typename Sum::TempStorage sumStorage;
    __shared__ typename ArgMax::TempStorage argMaxStorage;
    x += static_cast<size_t>(blockIdx.x) * columns;
    float mine = 0.f;
    Pair best(0, -INFINITY);
    for (int i = threadIdx.x; i < columns; i += THREADS)
    {
        mine += x[i];
        if (x[i] > best.value)
        {
            best = Pair(i, x[i]);
        }
    }
    float const sum = Sum(sumStorage).Sum(mine);
    best = ArgMax(argMaxStorage).Reduce(best, cub::ArgMax());
    if (threadIdx.x == 0)
    {
        sums[blockIdx.x] = sum;
        places[blockIdx.x] = best.key;
    }
}

__global__ void warps(float const* x, float* maxima, int rows, int columns)
{
    constexpr int kWARPS = 4;
    using WarpReduce = cub::WarpReduce<float>;
    __shared__ WarpReduce::TempStorage storage[kWARPS];
    int const warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    int const row = blockIdx.x * kWARPS + warp;
    if (row >= rows)
    {
        return;
    }
    float largest = -INFINITY;
    for (int i = lane; i < columns; i += 32)
    {
        largest = fmaxf(largest, x[static_cast<size_t>(row) * columns + i]);
    }
    largest = WarpReduce(storage[warp]).Reduce(largest, Larger());
    if (lane == 0)
    {
        maxima[row] = largest;
    }
}
} // namespace reduce_cub

CORPUS_EXPORT int run_reduce_cub(float const* x, float* sums, int* places, float* maxima, int rows, int columns,
                                 int raking)
{
    corpus::Device<float> const in(x, static_cast<size_t>(rows) * columns), dSums(rows), dMaxima(rows);
    corpus::Device<int> const dPlaces(rows);
    if (raking)
    {
        reduce_cub::blocks<96, cub::BLOCK_REDUCE_RAKING><<<rows, 96>>>(in.get(), dSums.get(), dPlaces.get(), columns);
    }
    else
    {
        reduce_cub::blocks<128, cub::BLOCK_REDUCE_WARP_REDUCTIONS>
            <<<rows, 128>>>(in.get(), dSums.get(), dPlaces.get(), columns);
    }
    reduce_cub::warps<<<(rows + 3) / 4, 128>>>(in.get(), dMaxima.get(), rows, columns);
    int error = dSums.copyTo(sums);
    error = error ? error : dPlaces.copyTo(places);
    return error ? error : dMaxima.copyTo(maxima);
}
