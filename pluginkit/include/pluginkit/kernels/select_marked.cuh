//! A selection by two kernels that start early: the first leaves the marks, and how many of them each warp and each
//! block has; the second adds up the numbers before it, and writes places. For select.cuh. Blocks that wait for one
//! another (select_once.cuh) take longer than that in tensors that the GPU reads in a few microseconds.
#pragma once

#include <pluginkit/kernels/launch.cuh>
#include <pluginkit/kernels/select_held.cuh>

#include <cstdint>
#include <type_traits>

namespace pluginkit::kernels::detail
{

//! Of a block, at most.
template <int32_t Turns>
constexpr int32_t kMarkedThreads = Turns == 1 ? 1024 : 512;

//! Of a multiprocessor, so that all of a grid run at once.
template <int32_t Turns>
constexpr int32_t kMarkedBlocks = heldBlocks(kMarkedThreads<Turns>, 2);

//! The marks of the lanes of a warp, `unit` of the tensor, in the workspace, which has a bit for each element: in words
//! of a lane, or of two.
template <int32_t Size, int32_t Turns>
struct MarkedWords
{
    static constexpr int32_t kInWord = 32 / Size < Turns ? 32 / Size : Turns; //!< turns
    static constexpr int32_t kWords = Turns / kInWord;                        //!< of a lane
    static constexpr int32_t kBits = Size * kInWord;
    static constexpr bool kPairs = kBits == 4; //!< two lanes share a byte
    static_assert(kPairs || kBits == 8 || kBits == 16 || kBits == 32, "a word has no bits to spare");
    static_assert(kSelectTile % Held<Size, Turns>::kElements == 0, "a warp's words are of one tile");
    using Word = std::conditional_t<kBits <= 8, uint8_t, std::conditional_t<kBits == 16, uint16_t, uint32_t>>;

    __device__ static int32_t at(int32_t unit, int32_t w)
    {
        int32_t const ofLane = (unit * kWords + w) * kHeldLanes + static_cast<int32_t>(threadIdx.x % kLanes);
        return kPairs ? ofLane / 2 : ofLane;
    }

    __device__ static void store(Held<Size, Turns> const& held, int32_t unit, Word* words)
    {
#pragma unroll
        for (int32_t w = 0; w < kWords; ++w)
        {
            uint32_t word = 0;
#pragma unroll
            for (int32_t j = 0; j < kInWord; ++j)
            {
                word |= held.marks[w * kInWord + j] << static_cast<uint32_t>(Size * j);
            }
            if constexpr (kPairs)
            {
                word |= __shfl_down_sync(kWholeWarp, word, 1) << 4U;
            }
            if (!kPairs || threadIdx.x % 2 == 0)
            {
                words[at(unit, w)] = static_cast<Word>(word);
            }
        }
    }

    __device__ static void load(Held<Size, Turns>& held, int32_t unit, Word const* words)
    {
#pragma unroll
        for (int32_t w = 0; w < kWords; ++w)
        {
            uint32_t const word = words[at(unit, w)] >> (kPairs ? threadIdx.x % 2 * 4 : 0);
#pragma unroll
            for (int32_t j = 0; j < kInWord; ++j)
            {
                held.marks[w * kInWord + j] = word >> static_cast<uint32_t>(Size * j) & ((1U << Size) - 1U);
            }
        }
    }
};

template <int32_t Size, int32_t Turns, typename Predicate, typename T>
__global__ void __launch_bounds__(kMarkedThreads<Turns>, kMarkedBlocks<Turns>)
    markKernel(Predicate const predicate, uint32_t const count, Input<T> const x,
               typename MarkedWords<Size, Turns>::Word* words, uint16_t* ofUnits, int32_t* ofBlocks)
{
    __shared__ int32_t totals[kMarkedThreads<Turns> / kHeldLanes];
    auto const warp = static_cast<int32_t>(threadIdx.x / kLanes);
    auto const lane = static_cast<int32_t>(threadIdx.x % kLanes);
    auto const warps = static_cast<int32_t>(blockDim.x / kLanes);
    int32_t const unit = static_cast<int32_t>(blockIdx.x) * warps + warp;
    waitForStream();
    Held<Size, Turns> held;
    held.look(predicate, x, count, static_cast<uint32_t>(unit) * Turns * kLanes);
    int32_t const mine = sumOfWarp(held.number());
    if (static_cast<uint32_t>(unit) * Held<Size, Turns>::kElements < count) // the workspace ends with the tensor
    {
        MarkedWords<Size, Turns>::store(held, unit, words);
        if (lane == 0)
        {
            ofUnits[unit] = static_cast<uint16_t>(mine);
        }
    }
    if (lane == 0)
    {
        totals[warp] = mine;
    }
    __syncthreads();
    if (warp == 0)
    {
        int32_t const all = sumOfWarp(lane < warps ? totals[lane] : 0);
        if (lane == 0)
        {
            ofBlocks[blockIdx.x] = all;
        }
    }
}

template <int32_t Size, int32_t Turns, typename Index>
__global__ void __launch_bounds__(kMarkedThreads<Turns>, kMarkedBlocks<Turns>)
    markedKernel(SelectShape const shape, uint32_t const count, typename MarkedWords<Size, Turns>::Word const* words,
                 uint16_t const* ofUnits, int32_t const* ofBlocks, int32_t* found, Index* indices)
{
    __shared__ uint16_t lists[kMarkedThreads<Turns> / kHeldLanes][Held<Size, Turns>::kOfTurn];
    auto const warp = static_cast<int32_t>(threadIdx.x / kLanes);
    auto const lane = static_cast<int32_t>(threadIdx.x % kLanes);
    auto const block = static_cast<int32_t>(blockIdx.x);
    auto const blocks = static_cast<int32_t>(gridDim.x);
    int32_t const firstUnit = block * static_cast<int32_t>(blockDim.x / kLanes);
    int32_t const unit = firstUnit + warp;
    waitForStream();
    if (static_cast<uint32_t>(unit) * Held<Size, Turns>::kElements >= count)
    {
        return;
    }
    Held<Size, Turns> held;
    MarkedWords<Size, Turns>::load(held, unit, words);
    int32_t before = lane < warp ? ofUnits[firstUnit + lane] : 0;
    int32_t all = 0;
#pragma unroll 4
    for (int32_t other = lane; other < blocks; other += kHeldLanes)
    {
        int32_t const number = ofBlocks[other];
        before += other < block ? number : 0;
        all += number;
    }
    HeldRanks<Size, Turns> ranks{held};
    before = sumOfWarp(before);
    all = sumOfWarp(all);
    if (unit == 0 && lane == 0)
    {
        *found = all;
    }
    writeHeld(shape, held, ranks, unit * Held<Size, Turns>::kElements, before, all, lists[warp], indices);
}

//! By blocks of so many threads.
template <int32_t Size, int32_t Turns, typename Predicate, typename T, typename Index>
cudaError_t selectMarked(cudaStream_t stream, uint32_t threads, SelectShape const& fromLast, int64_t count,
                         Predicate const& predicate, Input<T> x, Index* indices, int32_t* found,
                         void* workspace) noexcept
{
    SelectWorkspace const parts{workspace, selectTiles(count)};
    auto* const words = reinterpret_cast<typename MarkedWords<Size, Turns>::Word*>(parts.bits);
    int64_t const ofBlock = int64_t{Turns} * Size * threads;
    dim3 const blocks{static_cast<uint32_t>((count + ofBlock - 1) / ofBlock)};
    launchEarly(markKernel<Size, Turns, Predicate, T>, blocks, threads, stream, predicate, static_cast<uint32_t>(count),
                x, words, parts.ofUnits, parts.ofBlocks);
    if (cudaError_t const error = cudaGetLastError(); error != cudaSuccess)
    {
        return error;
    }
    launchEarly(markedKernel<Size, Turns, Index>, blocks, threads, stream, fromLast, static_cast<uint32_t>(count),
                words, parts.ofUnits, parts.ofBlocks, found, indices);
    return cudaGetLastError();
}

} // namespace pluginkit::kernels::detail
