// Sorts keys with values by their bits, 2 bits a pass: ballots rank equal digits in a warp, a table [digit][block] is
// scanned.
#include "corpus.h"

#include <utility>

namespace radix_sort
{
constexpr int kBITS = 2;
constexpr int kDIGITS = 1 << kBITS;
constexpr int kTHREADS = 128;
constexpr int kWARPS = kTHREADS / 32;

__device__ __forceinline__ int digitOf(unsigned key, int shift)
{
    return static_cast<int>((key >> shift) & (kDIGITS - 1));
}

/// The lanes with the same digit as this one.
__device__ unsigned sameDigit(int digit, bool valid)
{
    unsigned peers = __ballot_sync(0xffffffff, valid);
#pragma unroll
    for (int bit = 0; bit < kBITS; ++bit)
    {
        bool const set = (digit >> bit) & 1;
        unsigned const vote = __ballot_sync(0xffffffff, set);
        peers &= set ? vote : ~vote;
    }
    return peers;
}

__global__ void count(unsigned const* keys, int* table, int n, int shift)
{
    __shared__ int counts[kDIGITS];
    if (threadIdx.x < kDIGITS)
    {
        counts[threadIdx.x] = 0;
    }
    __syncthreads();
    int const i = blockIdx.x * kTHREADS + threadIdx.x;
    if (i < n)
    {
        atomicAdd(&counts[digitOf(keys[i], shift)], 1);
    }
    __syncthreads();
    if (threadIdx.x < kDIGITS)
    {
        table[threadIdx.x * gridDim.x + blockIdx.x] = counts[threadIdx.x];
    }
}

__global__ void scanTable(int* table, int n)
{
    int sum = 0;
    for (int i = 0; i < n; ++i)
    {
        int const here = table[i];
        table[i] = sum;
        sum += here;
    }
}

__global__ void scatter(unsigned const* keys, int const* values, int const* table, unsigned* sortedKeys,
                        int* sortedValues, int n, int shift)
{
    __shared__ int warpCounts[kWARPS][kDIGITS];
    int const lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    int const i = blockIdx.x * kTHREADS + threadIdx.x;
    bool const valid = i < n;
    unsigned const key = valid ? keys[i] : 0;
    int const digit = digitOf(key, shift);
    if (lane < kDIGITS)
    {
        warpCounts[warp][lane] = 0;
    }
    __syncwarp();
    unsigned const peers = sameDigit(digit, valid);
    int const rank = __popc(peers & ((1u << lane) - 1));
    if (valid && rank == 0)
    {
        warpCounts[warp][digit] = __popc(peers);
    }
    __syncthreads();
    if (valid)
    {
        int at = table[digit * gridDim.x + blockIdx.x] + rank;
        for (int w = 0; w < warp; ++w)
        {
            at += warpCounts[w][digit];
        }
        sortedKeys[at] = key;
        sortedValues[at] = values[i];
    }
}
} // namespace radix_sort

CORPUS_EXPORT int run_radix_sort(unsigned const* keys, int const* values, unsigned* sortedKeys, int* sortedValues,
                                 int n, int bits)
{
    using namespace radix_sort;
    int const blocks = corpus::ceilDiv(n, kTHREADS);
    corpus::Device<unsigned> const keysA(keys, n), keysB(n);
    corpus::Device<int> const valuesA(values, n), valuesB(n), table(blocks * kDIGITS);
    unsigned *from = keysA.get(), *to = keysB.get();
    int *fromValues = valuesA.get(), *toValues = valuesB.get();
    for (int shift = 0; shift < bits; shift += kBITS)
    {
        count<<<blocks, kTHREADS>>>(from, table.get(), n, shift);
        scanTable<<<1, 1>>>(table.get(), blocks * kDIGITS);
        scatter<<<blocks, kTHREADS>>>(from, fromValues, table.get(), to, toValues, n, shift);
        std::swap(from, to);
        std::swap(fromValues, toValues);
    }
    if (int const error = corpus::status())
    {
        return error;
    }
    cudaMemcpy(sortedKeys, from, n * sizeof(unsigned), cudaMemcpyDefault);
    return static_cast<int>(cudaMemcpy(sortedValues, fromValues, n * sizeof(int), cudaMemcpyDeviceToHost));
}
