// Prefix sum by CUB: BlockLoad, BlockScan with a running prefix from tile to tile, BlockStore; their storage in one
// union.
#include "corpus.h"

#include <cub/block/block_load.cuh>
#include <cub/block/block_scan.cuh>
#include <cub/block/block_store.cuh>

namespace scan_cub
{
struct RunningPrefix
{
    int total;

    __device__ explicit RunningPrefix(int start) : total(start) {}

    __device__ int operator()(int blockAggregate)
    {
        int const before = total;
        total += blockAggregate;
        return before;
    }
};

template <int THREADS, int ITEMS>
__global__ void kernel(int const* input, int* inclusive, int* exclusive, int n)
{
    using Load = cub::BlockLoad<int, THREADS, ITEMS, cub::BLOCK_LOAD_TRANSPOSE>;
    using Store = cub::BlockStore<int, THREADS, ITEMS, cub::BLOCK_STORE_DIRECT>;
    using Scan = cub::BlockScan<int, THREADS>;
    __shared__ union
    {
        typename Load::TempStorage load;
        typename Store::TempStorage store;
        typename Scan::TempStorage scan;
    } storage;
    input += static_cast<size_t>(blockIdx.x) * n; // a row a block
    inclusive += static_cast<size_t>(blockIdx.x) * n;
    exclusive += static_cast<size_t>(blockIdx.x) * n;
    RunningPrefix prefix(0);
    for (int first = 0; first < n; first += THREADS * ITEMS)
    {
        int items[ITEMS], sums[ITEMS];
        int const valid = min(n - first, THREADS * ITEMS);
        Load(storage.load).Load(input + first, items, valid, 0);
        __syncthreads();
        Scan(storage.scan).ExclusiveSum(items, sums, prefix);
        __syncthreads();
        Store(storage.store).Store(exclusive + first, sums, valid);
        __syncthreads();
#pragma unroll
        for (int i = 0; i < ITEMS; ++i)
        {
            sums[i] += items[i];
        }
        Store(storage.store).Store(inclusive + first, sums, valid);
        __syncthreads();
    }
}
} // namespace scan_cub

CORPUS_EXPORT int run_scan_cub(int const* x, int* inclusive, int* exclusive, int rows, int n)
{
    size_t const count = static_cast<size_t>(rows) * n;
    corpus::Device<int> const in(x, count), dInclusive(count), dExclusive(count);
    scan_cub::kernel<96, 3><<<rows, 96>>>(in.get(), dInclusive.get(), dExclusive.get(), n);
    int const error = dInclusive.copyTo(inclusive);
    return error ? error : dExclusive.copyTo(exclusive);
}
