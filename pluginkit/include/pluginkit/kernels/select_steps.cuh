//! A selection by two kernels, whose bits are in the workspace: where they don't fit in a GPU's shared memory, or
//! blocks can't wait for one another; for select.cuh.
#pragma once

#include <pluginkit/kernels/launch.cuh>
#include <pluginkit/kernels/rows.cuh>
#include <pluginkit/kernels/select_marks.cuh>
#include <pluginkit/kernels/select_shape.cuh>
#include <pluginkit/kernels/tensors.cuh>

#include <cstdint>

namespace pluginkit::kernels::detail
{

constexpr int32_t kSelectThreads = 256; //!< each of which has a word of a tile's bits
constexpr int32_t kSelectBlocks = 1024; //!< that write places: each adds up all counts
constexpr int32_t kSelectPlaces = 4096; //!< that a block gathers before it writes them

//! A bit for each element of a tile, and how many are set. Whole: the tile has all its elements.
template <int32_t Size, bool Whole, typename Predicate, typename T>
__device__ int32_t markTile(Predicate const& predicate, int64_t first, int32_t count, Input<T> const& x, uint32_t* bits)
{
    constexpr int32_t kTurns = kSelectTile / kSelectThreads / Size;
    constexpr uint32_t kPerWord = 32 / Size; // threads
    Elements<Size, T> loaded[kTurns] = {};
#pragma unroll
    for (int32_t k = 0; k < kTurns; ++k)
    {
        int64_t const at = first + (static_cast<int64_t>(k) * kSelectThreads + threadIdx.x) * Size;
        loaded[k].load(x, Chunk<Size, Whole>{at / Size, at, count});
    }
    int32_t found = 0;
#pragma unroll
    for (int32_t k = 0; k < kTurns; ++k)
    {
        int64_t const at = first + (static_cast<int64_t>(k) * kSelectThreads + threadIdx.x) * Size;
        uint32_t word = marksOf<Size>(predicate, loaded[k], x.scale);
        if constexpr (!Whole)
        {
            int64_t const there = count - at;
            word &= there <= 0 ? 0U : there < Size ? (1U << static_cast<uint32_t>(there)) - 1U : 0xFFFFU;
        }
        found += __popc(word);
        word <<= Size * (threadIdx.x % kPerWord);
#pragma unroll
        for (uint32_t distance = 1; distance < kPerWord; distance *= 2)
        {
            word |= __shfl_xor_sync(kWholeWarp, word, static_cast<int>(distance));
        }
        if (threadIdx.x % kPerWord == 0)
        {
            bits[at / 32] = word;
        }
    }
    return found;
}

//! A block looks at a group of Tiles tiles, and counts what it has found.
template <int32_t Size, int32_t Tiles, typename Predicate, typename T>
__global__ void __launch_bounds__(kSelectThreads,
                                  heldBlocks(kSelectThreads, Size > 1 ? 6 : 1)) // by elements more registers are needed
    flagsKernel(Predicate const predicate, int32_t count, Input<T> const x, uint32_t* bits, int32_t* counts)
{
    __shared__ int32_t scratch[kSelectThreads / kLanes];
    int32_t found = 0;
#pragma unroll 1
    for (int32_t tile = 0; tile < Tiles; ++tile)
    {
        int64_t const first = (static_cast<int64_t>(blockIdx.x) * Tiles + tile) * kSelectTile;
        if (first < count)
        {
            found += first + kSelectTile <= count ? markTile<Size, true>(predicate, first, count, x, bits)
                                                  : markTile<Size, false>(predicate, first, count, x, bits);
        }
    }
    int32_t total = 0;
    countBefore(found, total, scratch);
    if (threadIdx.x == 0)
    {
        counts[blockIdx.x] = total;
    }
}

//! The places of the set bits of some groups, `each` for a block, gathered in shared memory, so that neighbouring
//! threads write neighbouring ones. How many are before them, and how many there are, each block adds up for itself.
template <int32_t Tiles, typename Index>
__global__ void __launch_bounds__(kSelectThreads)
    placesKernel(SelectShape const shape, int32_t tiles, int32_t each, uint32_t const* bits, int32_t const* counts,
                 int32_t* found, Index* indices)
{
    __shared__ int32_t scratch[kSelectThreads / kLanes];
    __shared__ uint16_t places[kSelectPlaces];
    auto const thread = static_cast<int32_t>(threadIdx.x);
    int32_t const groups = (tiles + Tiles - 1) / Tiles;
    int32_t const first = static_cast<int32_t>(blockIdx.x) * each;
    int32_t before = 0;
    int32_t behind = 0;
#pragma unroll 8
    for (int32_t group = thread; group < groups; group += kSelectThreads)
    {
        int32_t const number = counts[group];
        before += group < first ? number : 0;
        behind += group < first ? 0 : number;
    }
    int32_t begin = 0;
    int32_t rest = 0;
    countBefore(before, begin, scratch);
    countBefore(behind, rest, scratch);
    int64_t const all = begin + rest;
    if (blockIdx.x == 0 && thread == 0)
    {
        *found = begin + rest;
    }
    for (int32_t group = first; group < min(first + each, groups); ++group)
    {
        int64_t const firstWord = (static_cast<int64_t>(group) * kSelectThreads + thread) * Tiles;
        uint32_t words[Tiles];
        int32_t mine = 0;
#pragma unroll
        for (int32_t k = 0; k < Tiles; ++k)
        {
            words[k] = firstWord + k < static_cast<int64_t>(tiles) * kSelectThreads ? bits[firstWord + k] : 0;
            mine += __popc(words[k]);
        }
        int32_t total = 0;
        int32_t at = countBefore(mine, total, scratch);
        for (int32_t written = 0; written < total; written += kSelectPlaces)
        {
#pragma unroll
            for (int32_t k = 0; k < Tiles; ++k)
            {
                for (; words[k] != 0 && at < written + kSelectPlaces; ++at)
                {
                    int32_t const bit = __ffs(static_cast<int>(words[k])) - 1;
                    places[at - written] = static_cast<uint16_t>((thread * Tiles + k) * 32 + bit);
                    words[k] &= words[k] - 1;
                }
            }
            __syncthreads();
            for (int32_t i = written + thread; i < min(total, written + kSelectPlaces); i += kSelectThreads)
            {
                int32_t index = group * (kSelectTile * Tiles) + places[i - written];
#pragma unroll // with numbers that the compiler knows the sizes stay where the launch put them
                for (int32_t d = kMostSelectDims - 1; d >= 0; --d)
                {
                    if (d < shape.rank)
                    {
                        int32_t const next = d > 0 ? shape.sizes[d].quotient(index) : 0;
                        indices[d * all + begin + i] =
                            static_cast<Index>(index - next * static_cast<int32_t>(shape.sizes[d].divisor));
                        index = next;
                    }
                }
            }
            __syncthreads(); // nobody gathers the next before all are written
        }
        begin += total;
    }
}

//! Size: elements that a thread loads at once.
template <int32_t Size, int32_t Tiles, typename Predicate, typename T, typename Index>
cudaError_t selectInSteps(cudaStream_t stream, SelectShape const& shape, int64_t count, Predicate const& predicate,
                          Input<T> x, Index* indices, int32_t* found, void* workspace) noexcept
{
    auto const tiles = static_cast<int32_t>((count + kSelectTile - 1) / kSelectTile);
    int32_t const groups = (tiles + Tiles - 1) / Tiles;
    int32_t const each = (groups + kSelectBlocks - 1) / kSelectBlocks;
    auto* const bits = static_cast<uint32_t*>(workspace);
    auto* const counts = static_cast<int32_t*>(workspace) + int64_t{tiles} * kSelectThreads;
    flagsKernel<Size, Tiles><<<static_cast<uint32_t>(groups), kSelectThreads, 0, stream>>>(
        predicate, static_cast<int32_t>(count), x, bits, counts);
    if (cudaError_t const error = cudaGetLastError(); error != cudaSuccess)
    {
        return error;
    }
    placesKernel<Tiles><<<static_cast<uint32_t>((groups + each - 1) / each), kSelectThreads, 0, stream>>>(
        shape, tiles, each, bits, counts, found, indices);
    return cudaGetLastError();
}

} // namespace pluginkit::kernels::detail
