// CUB's block and warp algorithms, from the wheel's own headers.
#include <cub/cub.cuh>

namespace
{

template <int kTHREADS, int kITEMS>
__global__ void blockAll(int const* in, int* out, int* sums, int* warps)
{
    using Load = cub::BlockLoad<int, kTHREADS, kITEMS, cub::BLOCK_LOAD_TRANSPOSE>;
    using Store = cub::BlockStore<int, kTHREADS, kITEMS, cub::BLOCK_STORE_TRANSPOSE>;
    using Sort = cub::BlockRadixSort<int, kTHREADS, kITEMS>;
    using Scan = cub::BlockScan<int, kTHREADS>;
    using Reduce = cub::BlockReduce<int, kTHREADS>;
    using Warp = cub::WarpReduce<int>;
    __shared__ union
    {
        typename Load::TempStorage load;
        typename Store::TempStorage store;
        typename Sort::TempStorage sort;
        typename Scan::TempStorage scan;
        typename Reduce::TempStorage reduce;
    } storage;
    __shared__ typename Warp::TempStorage warpStorage[kTHREADS / 32];
    int const warp = static_cast<int>(threadIdx.x) / 32;
    int items[kITEMS];
    Load(storage.load).Load(in, items);
    __syncthreads();
    Sort(storage.sort).Sort(items);
    __syncthreads();
    int const total = Reduce(storage.reduce).Sum(items);
    __syncthreads();
    int const ofWarp = Warp(warpStorage[warp]).Sum(items[0]);
    if (threadIdx.x == 0)
    {
        *sums = total;
    }
    if (threadIdx.x % 32 == 0)
    {
        warps[warp] = ofWarp;
    }
    Scan(storage.scan).InclusiveSum(items, items);
    __syncthreads();
    Store(storage.store).Store(out, items);
}

} // namespace

extern "C" __attribute__((visibility("default"))) int run()
{
    constexpr int threads = 64;
    constexpr int each = 4;
    constexpr int n = threads * each;
    int *in, *out, *sums, *warps;
    cudaMallocManaged(&in, n * sizeof(int));
    cudaMallocManaged(&out, n * sizeof(int));
    cudaMallocManaged(&sums, sizeof(int));
    cudaMallocManaged(&warps, threads / 32 * sizeof(int));
    for (int i = 0; i < n; ++i)
    {
        in[i] = (i * 37 + 11) % n - 100;
    }
    blockAll<threads, each><<<1, threads>>>(in, out, sums, warps);
    if (cudaDeviceSynchronize() != cudaSuccess)
    {
        return __LINE__;
    }
    int sum = 0;
    int first[2] = {0, 0};
    for (int i = 0; i < n; ++i)
    {
        sum += i - 100;
        if (out[i] != sum)
        {
            return __LINE__;
        }
        first[i / (n / 2)] += i % each == 0 ? i - 100 : 0;
    }
    if (*sums != sum || warps[0] != first[0] || warps[1] != first[1])
    {
        return __LINE__;
    }
    return 0;
}
