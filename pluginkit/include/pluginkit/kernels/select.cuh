//! The indices of some of a tensor's elements, in row-major order, as ONNX's NonZero has them. How many there are is
//! known when the kernels have run.
//!
//!     struct NonZero
//!     {
//!         __device__ bool operator()(float x) const
//!         {
//!             return x != 0.0F;
//!         }
//!     };
//!     kernels::launchSelect(stream, rank, dims, NonZero{}, kernels::input<__half>(x), indices, found, workspace);
//!
//! The elements are read once, and a bit of each is kept: of at most 16384 elements in registers of one block; of more
//! in the workspace, by a kernel that counts them, and another that writes indices.
#pragma once

#include <pluginkit/kernels/launch.cuh>
#include <pluginkit/kernels/rows.cuh>
#include <pluginkit/kernels/tensors.cuh>
#include <pluginkit/kernels/tuning.cuh>

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace pluginkit::kernels
{

namespace detail
{

constexpr int32_t kSelectUnit = 1024;   //!< elements of a warp: a word of bits of each thread
constexpr int32_t kSelectTile = 8192;   //!< elements that a block has at least
constexpr int32_t kSelectAlone = 16384; //!< elements that one block has alone, at most
constexpr int32_t kSelectBlocks = 2048; //!< at most: each adds up the counts of all
constexpr int32_t kSelectThreads = 256;
constexpr int32_t kSelectWarps = 32; //!< of a block, at most
constexpr int32_t kMostSelectDims = 8;

//! The sizes of a tensor, from the last dimension on.
struct SelectShape
{
    int32_t rank;
    Divisor sizes[kMostSelectDims];
};

//! The sum over a warp, in each thread.
inline __device__ int32_t warpSum(int32_t number)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
#pragma unroll
    for (uint32_t distance = kLanes / 2; distance > 0; distance /= 2)
    {
        number += __shfl_xor_sync(kWholeWarp, number, static_cast<int>(distance));
    }
    return number;
#else
    return __reduce_add_sync(kWholeWarp, number);
#endif
}

//! What comes before a warp in its block, whose number each of its threads gives; `all` is that of the block. All
//! threads of the block must call it.
inline __device__ int32_t countBefore(int32_t ofWarp, int32_t& all)
{
    __shared__ int32_t counts[kSelectWarps];
    uint32_t const lane = threadIdx.x % kLanes;
    uint32_t const warp = threadIdx.x / kLanes;
    if (lane == 0)
    {
        counts[warp] = ofWarp;
    }
    __syncthreads();
    int32_t const mine = lane < blockDim.x / kLanes ? counts[lane] : 0;
    all = warpSum(mine);
    return warpSum(lane < warp ? mine : 0);
}

template <typename Index>
__device__ void writeIndices(SelectShape const& shape, int32_t element, int64_t at, int64_t all, Index* indices)
{
    Index* index = indices + (shape.rank - 1) * all + at;
#pragma unroll // with numbers that the compiler knows the sizes stay where the launch put them
    for (int32_t d = 0; d < kMostSelectDims - 1; ++d)
    {
        if (d == shape.rank - 1)
        {
            break;
        }
        int32_t const next = shape.sizes[d].quotient(element);
        *index = static_cast<Index>(element - next * static_cast<int32_t>(shape.sizes[d].divisor));
        index -= all;
        element = next;
    }
    *index = static_cast<Index>(element);
}

//! How the elements of a unit are a warp's threads': kTurns times Size neighbouring ones of each. Unpacked: of a tensor
//! that doesn't begin at a multiple of 16 bytes.
template <bool Packed, typename T>
struct SelectOrder
{
    static constexpr int32_t kSize = Packed ? Pack<T>::kSize : static_cast<int32_t>(kLanes);
    static constexpr int32_t kTurns = kSelectUnit / static_cast<int32_t>(kLanes) / kSize;
};

//! A bit for each of a thread's elements of a unit for which the predicate holds.
template <bool Packed, typename Predicate, typename T>
__device__ uint32_t selectUnit(Predicate const& predicate, Input<T> const& x, int32_t count, int32_t unit)
{
    constexpr int32_t kSize = Pack<T>::kSize;
    constexpr int32_t kPacks = static_cast<int32_t>(kLanes) / kSize; // of a thread
    constexpr int32_t kStep = Packed ? static_cast<int32_t>(kLanes) * kSize : kSize;
    auto const lane = static_cast<int32_t>(threadIdx.x % kLanes);
    int32_t const first = unit * kSelectUnit + lane * (Packed ? kSize : kSize * kPacks);
    bool const whole = (unit + 1) * kSelectUnit <= count;
    Pack<T> packs[kPacks];
    if (Packed && whole)
    {
#pragma unroll
        for (int32_t k = 0; k < kPacks; ++k)
        {
            packs[k] = loadPack(x.data, (first + k * kStep) / kSize);
        }
    }
    else
    {
#pragma unroll
        for (int32_t k = 0; k < kPacks; ++k)
        {
            T elements[kSize] = {};
#pragma unroll
            for (int32_t j = 0; j < kSize; ++j)
            {
                if (first + k * kStep + j < count)
                {
                    elements[j] = x.data[first + k * kStep + j];
                }
            }
            memcpy(&packs[k], &elements, sizeof elements);
        }
    }
    uint32_t bits = 0;
#pragma unroll
    for (int32_t k = 0; k < kPacks; ++k)
    {
        float numbers[kSize];
        Conversion<T>::unpack(packs[k], x.scale, numbers);
        // Bits added up in a float of 2^23: additions have units of their own, and those for integers are busy already.
        float marks = 8388608.0F;
#pragma unroll
        for (int32_t j = 0; j < kSize; ++j)
        {
            if (predicate(numbers[j]))
            {
                marks += static_cast<float>(1U << static_cast<uint32_t>(j));
            }
        }
        uint32_t ofPack = __float_as_uint(marks) & ((1U << static_cast<uint32_t>(kSize)) - 1U);
        if (!whole)
        {
            int32_t const present = min(max(count - first - k * kStep, 0), kSize);
            ofPack &= (1U << static_cast<uint32_t>(present)) - 1U;
        }
        bits |= ofPack << static_cast<uint32_t>(k * kSize);
    }
    return bits;
}

//! Writes the indices of a unit's selected elements as numbers `begin` and on of `all`, and returns how many they are.
//! They are listed in memory of the warp first: so neighbouring threads write neighbouring ones.
template <typename Order, typename Index>
__device__ int32_t writeUnit(SelectShape const& shape, uint32_t bits, int32_t unit, int32_t begin, int64_t all,
                             uint16_t* list, Index* indices)
{
    // A thread's counts of several turns in one word, of which none overflows in the sum over a warp.
    constexpr uint32_t kBits = Order::kSize < 8 ? 8 : 16;
    constexpr int32_t kWordFields = 32 / static_cast<int32_t>(kBits);
    constexpr int32_t kFields = kWordFields < Order::kTurns ? kWordFields : Order::kTurns;
    constexpr uint32_t kMask = 0xFFFFFFFFU >> static_cast<uint32_t>(32 - Order::kSize);
    auto const lane = static_cast<int32_t>(threadIdx.x % kLanes);
    int32_t total = 0;
#pragma unroll
    for (int32_t first = 0; first < Order::kTurns; first += kFields)
    {
        uint32_t counts = 0;
#pragma unroll
        for (int32_t f = 0; f < kFields; ++f)
        {
            uint32_t const ofTurn = bits >> static_cast<uint32_t>((first + f) * Order::kSize) & kMask;
            counts |= static_cast<uint32_t>(__popc(ofTurn)) << (kBits * static_cast<uint32_t>(f));
        }
        uint32_t sums = counts;
#pragma unroll
        for (uint32_t distance = 1; distance < kLanes; distance *= 2)
        {
            uint32_t const other = __shfl_up_sync(kWholeWarp, sums, distance);
            sums += lane >= static_cast<int32_t>(distance) ? other : 0;
        }
        uint32_t const ofWarp = __shfl_sync(kWholeWarp, sums, static_cast<int>(kLanes) - 1);
#pragma unroll
        for (int32_t f = 0; f < kFields; ++f)
        {
            constexpr uint32_t kField = (1U << kBits) - 1U;
            uint32_t const shift = kBits * static_cast<uint32_t>(f);
            int32_t at = total + static_cast<int32_t>((sums - counts) >> shift & kField);
            int32_t const element = ((first + f) * static_cast<int32_t>(kLanes) + lane) * Order::kSize;
            for (uint32_t word = bits >> static_cast<uint32_t>((first + f) * Order::kSize) & kMask; word != 0;
                 word &= word - 1)
            {
                list[at++] = static_cast<uint16_t>(element + __ffs(static_cast<int>(word)) - 1);
            }
            total += static_cast<int32_t>(ofWarp >> shift & kField);
        }
    }
    __syncwarp();
    for (int32_t i = lane; i < total; i += static_cast<int32_t>(kLanes))
    {
        writeIndices(shape, unit * kSelectUnit + list[i], begin + i, all, indices);
    }
    __syncwarp(); // nobody lists the next before all are written
    return total;
}

//! A small tensor: a warp of the one block has a unit.
template <bool Packed, typename Predicate, typename T, typename Index>
__global__ void __launch_bounds__(kSelectAlone / kSelectUnit * kLanes)
    selectAloneKernel(Predicate const predicate, SelectShape const shape, int32_t count, Input<T> const x,
                      int32_t* found, Index* indices)
{
    __shared__ uint16_t lists[kSelectAlone];
    auto const warp = static_cast<int32_t>(threadIdx.x / kLanes);
    waitForStream();
    uint32_t const bits = selectUnit<Packed>(predicate, x, count, warp);
    int32_t all = 0;
    int32_t const begin = countBefore(warpSum(__popc(bits)), all);
    if (threadIdx.x == 0)
    {
        *found = all;
    }
    writeUnit<SelectOrder<Packed, T>>(shape, bits, warp, begin, all, lists + warp * kSelectUnit, indices);
}

//! Leaves the bits of a block's units, `each` or fewer, and their sum.
template <bool Packed, int32_t Threads, typename Predicate, typename T>
__global__ void __launch_bounds__(Threads) selectBitsKernel(Predicate const predicate, int32_t count, int32_t each,
                                                            Input<T> const x, uint32_t* bits, int32_t* counts)
{
    int32_t const units = (count + kSelectUnit - 1) / kSelectUnit;
    int32_t const first = static_cast<int32_t>(blockIdx.x) * each;
    int32_t const last = min(first + each, units);
    int32_t found = 0;
    waitForStream();
    for (int32_t unit = first + static_cast<int32_t>(threadIdx.x / kLanes); unit < last;
         unit += Threads / static_cast<int32_t>(kLanes))
    {
        uint32_t const mine = selectUnit<Packed>(predicate, x, count, unit);
        bits[static_cast<uint32_t>(unit) * kLanes + threadIdx.x % kLanes] = mine;
        found += __popc(mine);
    }
    int32_t all = 0;
    countBefore(warpSum(found), all);
    if (threadIdx.x == 0)
    {
        counts[blockIdx.x] = all;
    }
}

//! Writes the indices of a block's units; a warp has neighbouring ones.
template <typename Order, int32_t Threads, typename Index>
__global__ void __launch_bounds__(Threads)
    selectIndicesKernel(SelectShape const shape, int32_t count, int32_t each, uint32_t const* bits,
                        int32_t const* counts, int32_t* found, Index* indices)
{
    constexpr int32_t kWarpsHere = Threads / static_cast<int32_t>(kLanes);
    __shared__ uint16_t lists[kWarpsHere][kSelectUnit];
    auto const warp = static_cast<int32_t>(threadIdx.x / kLanes);
    uint32_t const lane = threadIdx.x % kLanes;
    int32_t const units = (count + kSelectUnit - 1) / kSelectUnit;
    int32_t const firstOfBlock = static_cast<int32_t>(blockIdx.x) * each;
    int32_t const ofWarp = (each + kWarpsHere - 1) / kWarpsHere;
    int32_t const first = min(firstOfBlock + warp * ofWarp, min(firstOfBlock + each, units));
    int32_t const last = min(first + ofWarp, min(firstOfBlock + each, units));
    waitForStream();
    int32_t mine = 0;
    for (int32_t unit = first; unit < last; ++unit)
    {
        mine += __popc(bits[static_cast<uint32_t>(unit) * kLanes + lane]);
    }
    int32_t before = 0; // of this thread's blocks
    int32_t all = 0;
    for (uint32_t other = threadIdx.x; other < gridDim.x; other += Threads)
    {
        int32_t const number = counts[other];
        before += other < blockIdx.x ? number : 0;
        all += number;
    }
    int32_t begin = 0;
    int32_t const inBlock = countBefore(warpSum(mine), begin);
    __syncthreads(); // all have read the counts before others take their memory
    countBefore(warpSum(before), begin);
    __syncthreads();
    int32_t selected = 0;
    countBefore(warpSum(all), selected);
    if (blockIdx.x == 0 && threadIdx.x == 0)
    {
        *found = selected;
    }
    begin += inBlock;
    for (int32_t unit = first; unit < last; ++unit)
    {
        begin += writeUnit<Order>(shape, bits[static_cast<uint32_t>(unit) * kLanes + lane], unit, begin, selected,
                                  lists[warp], indices);
    }
}

template <typename Values, bool Packed, typename Predicate, typename T, typename Index>
cudaError_t selectBy(cudaStream_t stream, SelectShape const& shape, int32_t count, Predicate const& predicate,
                     Input<T> x, Index* indices, int32_t* found, void* workspace) noexcept
{
    using Order = SelectOrder<Packed, T>;
    constexpr int32_t kMost = 512; // the lists of a block are in shared memory
    constexpr int32_t kThreads = Values::kThreads > 0 ? std::min(Values::kThreads, kMost) : kSelectThreads;
    constexpr int32_t kUnits = kSelectTile / kSelectUnit;
    if (count <= kSelectAlone)
    {
        auto const warps = static_cast<uint32_t>((count + kSelectUnit - 1) / kSelectUnit);
        launchEarly(selectAloneKernel<Packed, Predicate, T, Index>, dim3{1}, warps * kLanes, stream, predicate, shape,
                    count, x, found, indices);
        return cudaGetLastError();
    }
    int32_t const tiles = (count + kSelectTile - 1) / kSelectTile;
    int32_t const ofBlock = (tiles + kSelectBlocks - 1) / kSelectBlocks;
    int32_t const each = ofBlock * kUnits;
    dim3 const blocks{static_cast<uint32_t>((tiles + ofBlock - 1) / ofBlock)};
    auto* const bits = static_cast<uint32_t*>(workspace);
    auto* const counts = reinterpret_cast<int32_t*>(bits + int64_t{tiles} * (kSelectTile / 32));
    launchEarly(selectBitsKernel<Packed, kThreads, Predicate, T>, blocks, kThreads, stream, predicate, count, each, x,
                bits, counts);
    if (cudaError_t const error = cudaGetLastError(); error != cudaSuccess)
    {
        return error;
    }
    launchEarly(selectIndicesKernel<Order, kThreads, Index>, blocks, kThreads, stream, shape, count, each, bits, counts,
                found, indices);
    return cudaGetLastError();
}

} // namespace detail

//! Bytes of workspace for a tensor of so many elements, aligned to 4.
inline int64_t selectWorkspace(int64_t count) noexcept
{
    constexpr int64_t kOfTile = detail::kSelectTile / 8 + int64_t{sizeof(int32_t)};
    return (count + detail::kSelectTile - 1) / detail::kSelectTile * kOfTile;
}

//! Starts the kernels on a stream, which may be `tuned` (tuning.cuh), and returns at once.
//!
//! x has `rank` dimensions, 1 to 8, and at most 2^31 - 8192 elements. `found` gets how many elements the predicate
//! holds for; `indices` a row of so many numbers for each dimension. Index is int32_t or int64_t. The workspace has
//! `selectWorkspace` bytes; if `workspaceBytes` says how large it is, less is cudaErrorInvalidValue. The predicate may
//! be asked for a zero that the tensor doesn't have.
template <typename Predicate, typename T, typename Index, typename Stream>
cudaError_t launchSelect(Stream const& stream, int32_t rank, int64_t const* dims, Predicate const& predicate,
                         Input<T> x, Index* indices, int32_t* found, void* workspace,
                         int64_t workspaceBytes = 0) noexcept
{
    if (rank < 1 || rank > detail::kMostSelectDims)
    {
        return cudaErrorInvalidValue;
    }
    int64_t const count = detail::elementsOf(rank, dims, 0x7FFFFFFF - detail::kSelectTile + 1);
    if (count < 0 || (workspaceBytes > 0 && workspaceBytes < selectWorkspace(count)))
    {
        return cudaErrorInvalidValue;
    }
    detail::SelectShape shape{rank, {}};
    for (int32_t d = 0; d < rank; ++d)
    {
        shape.sizes[d] = divisorOf(dims[rank - 1 - d]);
    }
    return launchWith(
        stream,
        [&](cudaStream_t on, auto values)
        {
            using Values = decltype(values);
            auto const elements = static_cast<int32_t>(count);
            if (count == 0)
            {
                return cudaMemsetAsync(found, 0, sizeof *found, on);
            }
            return canPack(x.data)
                       ? detail::selectBy<Values, true>(on, shape, elements, predicate, x, indices, found, workspace)
                       : detail::selectBy<Values, false>(on, shape, elements, predicate, x, indices, found, workspace);
        });
}

} // namespace pluginkit::kernels
