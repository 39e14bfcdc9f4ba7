//! A selection by one kernel: blocks that all run at the same time keep what they found in shared memory, wait for one
//! another to know how much that is, and then write; for select.cuh.
#pragma once

#include <pluginkit/kernels/rows.cuh>
#include <pluginkit/kernels/select_marks.cuh>
#include <pluginkit/kernels/select_shape.cuh>
#include <pluginkit/kernels/tensors.cuh>

#include <cooperative_groups.h>

#include <algorithm>
#include <cstdint>

namespace pluginkit::kernels::detail
{

constexpr int32_t kOnceThreads = 1024; //!< of a block, of which a multiprocessor has one
constexpr int32_t kOnceWarps = kOnceThreads / static_cast<int32_t>(kLanes);

//! Bytes of a tensor that can't be loaded in packs: so few one block has, which waits for none.
constexpr int64_t kAlone = int64_t{32} << 10U;

//! What a warp looks at at once, where a thread loads Size elements at a time.
template <int32_t Size>
struct SelectUnit
{
    static constexpr int32_t kTurns = 8; //!< loads of a thread, all before the first is looked at
    static constexpr int32_t kElements = kTurns * Size * static_cast<int32_t>(kLanes);
    static constexpr int32_t kWords = kElements / 32; //!< of bits
    static constexpr int32_t kOfLane = kWords > 32 ? kWords / 32 : 1;
    static constexpr int32_t kListed = 2 * kWords; //!< places of 16 bits, which take as much memory
    static constexpr int32_t kOfTile = kSelectTile / kElements;
    static constexpr int32_t kTileMemory = kTileBytes + 2 * kOfTile;
};

//! Blocks have as many of the tensor's tiles as one another, or one more.
struct SelectWork
{
    int32_t count; //!< elements
    int32_t tiles;
};

//! Writes the bits of elements at + 0 to at + Size - 1 of a block's; `word` has them. All lanes of a warp come here.
template <int32_t Size>
__device__ void writeMarks(uint32_t word, int32_t at, uint32_t* bits)
{
    if constexpr (Size == 1)
    {
        word = __ballot_sync(kWholeWarp, word != 0);
        if (threadIdx.x % kLanes == 0)
        {
            bits[at / 32] = word;
        }
    }
    else if constexpr (Size == 16)
    {
        reinterpret_cast<uint16_t*>(bits)[at / 16] = static_cast<uint16_t>(word);
    }
    else
    {
        constexpr uint32_t kPerByte = 8 / Size; // threads
        word <<= Size * (threadIdx.x % kPerByte);
#pragma unroll
        for (uint32_t distance = 1; distance < kPerByte; distance *= 2)
        {
            word |= __shfl_xor_sync(kWholeWarp, word, static_cast<int>(distance));
        }
        if (threadIdx.x % kPerByte == 0)
        {
            reinterpret_cast<uint8_t*>(bits)[at / 8] = static_cast<uint8_t>(word);
        }
    }
}

//! Writes the bits of unit `unit` of a block, of whose elements from `x` on `there` are the tensor's.
template <int32_t Size, typename Predicate, typename T>
__device__ void markUnit(Marker<Size, Predicate, T> const& marker, Input<T> const& x, uint32_t there, int32_t unit,
                         uint32_t* bits)
{
    constexpr int32_t kTurns = SelectUnit<Size>::kTurns;
    constexpr uint32_t kOfWarp = Size * kLanes; // elements that it loads at a time
    uint32_t const lane = threadIdx.x % kLanes;
    uint32_t const first = static_cast<uint32_t>(unit) * SelectUnit<Size>::kElements;
    Elements<Size, T> loaded[kTurns] = {};
#pragma unroll
    for (int32_t k = 0; k < kTurns; ++k)
    {
        uint32_t const at = first + k * kOfWarp;
        if (at + kOfWarp <= there)
        {
            loaded[k].load(x, Chunk<Size, true>{at / Size + lane, 0, 0});
        }
    }
#pragma unroll
    for (int32_t k = 0; k < kTurns; ++k)
    {
        uint32_t const word = marker.marks(loaded[k]);
        uint32_t const at = first + k * kOfWarp;
        writeMarks<Size>(at + kOfWarp <= there ? word : 0, k * kOfWarp + lane * Size, bits);
    }
    uint32_t const whole = there / kOfWarp * kOfWarp;
    if (whole < there && whole >= first && whole < first + SelectUnit<Size>::kElements)
    {
        __syncwarp(); // the tensor's last elements: their zeros are written
        uint32_t const at = whole + lane * Size;
        uint32_t const present = at < there ? min(there - at, static_cast<uint32_t>(Size)) : 0;
        Elements<Size, T> last = {};
        if (present > 0)
        {
            last.load(x, Chunk<Size, false>{at / Size, at, there});
        }
        writeMarks<Size>(marker.marks(last) & ((1U << present) - 1U), at - first, bits);
    }
    __syncwarp();
}

//! Puts the places of a unit's set bits where the bits are, if there are few of them; returns how many there are.
template <int32_t Size>
__device__ int32_t listUnit(uint32_t* bits)
{
    using Unit = SelectUnit<Size>;
    auto const lane = static_cast<int32_t>(threadIdx.x % kLanes);
    uint32_t words[Unit::kOfLane] = {};
    int32_t mine = 0;
#pragma unroll
    for (int32_t k = 0; k < Unit::kOfLane; ++k)
    {
        if (lane * Unit::kOfLane < Unit::kWords)
        {
            words[k] = bits[lane * Unit::kOfLane + k];
        }
        mine += __popc(words[k]);
    }
    LaneCount const count{mine};
    if (count.all > Unit::kListed)
    {
        return count.all;
    }
    __syncwarp(); // all have read
    uint16_t* place = reinterpret_cast<uint16_t*>(bits) + count.before + mine;
#pragma unroll
    for (int32_t k = Unit::kOfLane - 1; k >= 0; --k)
    {
        for (uint32_t word = words[k]; word != 0;)
        {
            int32_t const bit = 31 - __clz(static_cast<int>(word));
            *--place = static_cast<uint16_t>((lane * Unit::kOfLane + k) * 32 + bit);
            word ^= 1U << static_cast<uint32_t>(bit);
        }
    }
    return count.all;
}

//! Writes the places of a unit, whose first element is `first`, as numbers `begin` and on of `all`; neighbouring lanes
//! write neighbouring ones.
template <int32_t Size, typename Index>
__device__ void writeUnit(SelectShape const& shape, uint32_t const* bits, int32_t count, int32_t first, int64_t begin,
                          int64_t all, Index* indices)
{
    using Unit = SelectUnit<Size>;
    auto const lane = static_cast<int32_t>(threadIdx.x % kLanes);
    if (count <= Unit::kListed)
    {
        auto const* const places = reinterpret_cast<uint16_t const*>(bits);
        for (int32_t i = lane; i < count; i += static_cast<int32_t>(kLanes))
        {
            writePlace(shape, first + places[i], begin + i, all, indices);
        }
        return;
    }
    for (int32_t w = 0; w < Unit::kWords; ++w)
    {
        uint32_t const word = bits[w];
        if ((word >> static_cast<uint32_t>(lane) & 1U) != 0)
        {
            int32_t const before = __popc(word & ((1U << static_cast<uint32_t>(lane)) - 1U));
            writePlace(shape, first + w * 32 + lane, begin + before, all, indices);
        }
        begin += __popc(word);
    }
}

//! Each warp of a block marks units of its tiles in turn; then it writes the places of neighbouring ones.
template <int32_t Size, typename Predicate, typename T, typename Index>
__global__ void __launch_bounds__(kOnceThreads, 1)
    selectKernel(Predicate const predicate, SelectShape const shape, SelectWork const work, Input<T> const x,
                 int32_t* counts, int32_t* found, Index* indices)
{
    using Unit = SelectUnit<Size>;
    extern __shared__ uint4 selectMemory[];
    __shared__ int32_t ofWarps[2][kOnceWarps];
    auto const warp = static_cast<int32_t>(threadIdx.x / kLanes);
    auto const lane = static_cast<int32_t>(threadIdx.x % kLanes);
    auto const warps = static_cast<int32_t>(blockDim.x / kLanes);
    auto const block = static_cast<int32_t>(blockIdx.x);
    auto const blocks = static_cast<int32_t>(gridDim.x);
    int32_t const firstTile = block * work.tiles / blocks;
    int32_t const tiles = (block + 1) * work.tiles / blocks - firstTile;
    int32_t const units = tiles * Unit::kOfTile;
    int32_t const firstElement = firstTile * kSelectTile;
    auto* const bits = reinterpret_cast<uint32_t*>(selectMemory);
    auto* const ofUnits = reinterpret_cast<uint16_t*>(bits + tiles * (kTileBytes / 4));

    Marker<Size, Predicate, T> const marker{predicate, x.scale};
    Input<T> const from{x.data + firstElement, x.scale};
    auto const there = static_cast<uint32_t>(min(work.count - firstElement, tiles * kSelectTile));
    int32_t mine = 0;
    for (int32_t unit = warp; unit < units; unit += warps)
    {
        uint32_t* const ofUnit = bits + unit * Unit::kWords;
        markUnit<Size>(marker, from, there, unit, ofUnit);
        int32_t const number = listUnit<Size>(ofUnit);
        mine += number;
        if (lane == 0)
        {
            ofUnits[unit] = static_cast<uint16_t>(number);
        }
    }
    if (lane == 0)
    {
        ofWarps[0][warp] = mine;
    }
    __syncthreads();
    int32_t const ofBlock = LaneCount{lane < warps ? ofWarps[0][lane] : 0}.all;
    if (threadIdx.x == 0)
    {
        counts[block] = ofBlock;
    }

    int32_t const share = 31 - __clz(warps); // a power of two
    int32_t const firstUnit = units * warp >> share;
    int32_t const lastUnit = units * (warp + 1) >> share;
    mine = 0;
    for (int32_t unit = firstUnit + lane; unit < lastUnit; unit += static_cast<int32_t>(kLanes))
    {
        mine += ofUnits[unit];
    }
    mine = LaneCount{mine}.all;
    if (lane == 0)
    {
        ofWarps[1][warp] = mine;
    }
    int32_t before = 0; // blocks
    int32_t all = ofBlock;
    if (blocks > 1)
    {
        cooperative_groups::this_grid().sync();
        int32_t behind = 0;
        for (int32_t other = lane; other < blocks; other += static_cast<int32_t>(kLanes))
        {
            int32_t const number = counts[other];
            before += other < block ? number : 0;
            behind += other < block ? 0 : number;
        }
        before = LaneCount{before}.all;
        all = before + LaneCount{behind}.all;
    }
    else
    {
        __syncthreads();
    }
    if (block == 0 && threadIdx.x == 0)
    {
        *found = all;
    }
    int32_t begin = before + LaneCount{lane < warp ? ofWarps[1][lane] : 0}.all;
    for (int32_t unit = firstUnit; unit < lastUnit; ++unit)
    {
        int32_t const number = ofUnits[unit];
        writeUnit<Size>(shape, bits + unit * Unit::kWords, number, firstElement + unit * Unit::kElements, begin, all,
                        indices);
        begin += number;
    }
}

#if defined(CUDART_VERSION) && CUDART_VERSION < 11080
//! Launches have no attributes yet.
template <int32_t Size, typename Predicate, typename T, typename Index>
bool selectAtOnce(cudaStream_t /*stream*/, SelectShape const& /*shape*/, int64_t /*count*/,
                  Predicate const& /*predicate*/, Input<T> /*x*/, Index* /*indices*/, int32_t* /*found*/,
                  void* /*workspace*/, int32_t /*threads*/) noexcept
{
    return false;
}
#else
//! Starts the kernel, by blocks of so many threads, a power of two; false where the GPU hasn't so much shared memory,
//! or can't let blocks wait for one another.
template <int32_t Size, typename Predicate, typename T, typename Index>
bool selectAtOnce(cudaStream_t stream, SelectShape const& shape, int64_t count, Predicate const& predicate, Input<T> x,
                  Index* indices, int32_t* found, void* workspace, int32_t threads) noexcept
{
    auto const kernel = selectKernel<Size, Predicate, T, Index>;
    constexpr int32_t kUnasked = 40 << 10U; // that a block has without more being asked for, and a bit less
    constexpr int32_t kStatic = 1024;       // more than the kernel has itself
    int device = 0;
    int processors = 0;
    int together = 0;
    int shared = 0;
    if (cudaGetDevice(&device) != cudaSuccess ||
        cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device) != cudaSuccess ||
        cudaDeviceGetAttribute(&together, cudaDevAttrCooperativeLaunch, device) != cudaSuccess ||
        cudaDeviceGetAttribute(&shared, cudaDevAttrMaxSharedMemoryPerBlockOptin, device) != cudaSuccess)
    {
        static_cast<void>(cudaGetLastError()); // the next launch's error isn't this one
        return false;
    }
    auto const tiles = static_cast<int32_t>((count + kSelectTile - 1) / kSelectTile);
    bool const alone = count * static_cast<int64_t>(sizeof(T)) <= kAlone;
    int32_t const blocks = alone ? 1 : std::min(tiles, processors);
    int32_t const each = (tiles + blocks - 1) / blocks; // at most
    int64_t const bytes = int64_t{each} * SelectUnit<Size>::kTileMemory;
    if (bytes > shared - kStatic || (blocks > 1 && together == 0) ||
        (bytes > kUnasked &&
         cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared - kStatic) != cudaSuccess))
    {
        static_cast<void>(cudaGetLastError());
        return false;
    }
    cudaLaunchAttribute attribute{};
    attribute.id = cudaLaunchAttributeCooperative;
    attribute.val.cooperative = 1;
    cudaLaunchConfig_t config{};
    config.gridDim = dim3{static_cast<uint32_t>(blocks)};
    // Few elements are few units, of a warp each.
    config.blockDim =
        dim3{static_cast<uint32_t>(each * SelectUnit<Size>::kOfTile > 8 ? threads : std::min(threads, 256))};
    config.dynamicSmemBytes = static_cast<size_t>(bytes);
    config.stream = stream;
    config.attrs = &attribute;
    config.numAttrs = blocks > 1 ? 1 : 0;
    SelectWork const work{static_cast<int32_t>(count), tiles};
    SelectShape fromLast{shape.rank, {}};
    std::reverse_copy(shape.sizes, shape.sizes + shape.rank, fromLast.sizes);
    if (cudaLaunchKernelEx(&config, kernel, predicate, fromLast, work, x, static_cast<int32_t*>(workspace), found,
                           indices) != cudaSuccess)
    {
        static_cast<void>(cudaGetLastError());
        return false;
    }
    return true;
}
#endif

} // namespace pluginkit::kernels::detail
