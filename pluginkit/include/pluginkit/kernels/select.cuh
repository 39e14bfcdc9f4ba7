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
//! The elements are read once, and a bit of each is kept: of at most 16 KiB in registers of one block; of more in the
//! workspace, by a kernel that counts them, and another that writes indices.
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

constexpr int32_t kSelectUnit = 1024;   //!< elements of a warp that writes indices: a word of bits of each thread
constexpr int32_t kSelectTile = 8192;   //!< elements of which a large tensor's blocks have several
constexpr int32_t kSelectThreads = 256; //!< of a block
constexpr int32_t kSelectBlocks = 6;    //!< of a multiprocessor: for which are registers
constexpr int32_t kAlonePacks = 1024;   //!< that one block has alone, at most
constexpr int64_t kFewPacks = 1 << 18;  //!< of which a thread has one; of larger tensors it has several at once
constexpr int32_t kSelectWarps = 32;    //!< of a block, at most
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

//! Exchanges the bits of a warp's packs, Count of Size elements of each thread, 32 of them apart, so that a thread has
//! those of 32 neighbouring elements: of word `wordOf`.
template <int32_t Size, int32_t Count>
struct SelectExchange
{
    static __device__ uint32_t exchanged(uint32_t bits)
    {
#pragma unroll
        for (uint32_t distance = Count / 2; distance > 0; distance /= 2)
        {
            uint32_t const width = distance * Size;
            uint32_t const low = 0xFFFFFFFFU / ((1U << width) + 1U); // every second field of so many bits
            uint32_t const other = __shfl_xor_sync(kWholeWarp, bits, static_cast<int>(distance));
            bits = (threadIdx.x & distance) == 0 ? (bits & low) | (other & low) << width
                                                 : (bits & ~low) | (other >> width & low);
        }
        return bits;
    }

    static __device__ uint32_t wordOf(uint32_t lane)
    {
        return lane % Count * (kLanes / Count) + lane / Count;
    }
};

//! A bit for each of Count packs, of a thread, from element `first` on and `step` elements apart, for whose elements
//! the predicate holds. Packed: the tensor begins at a multiple of 16 bytes.
template <bool Packed, int32_t Count, typename Predicate, typename T>
__device__ uint32_t selectPacks(Predicate const& predicate, Input<T> const& x, int32_t count, int32_t first,
                                int32_t step)
{
    constexpr int32_t kSize = Pack<T>::kSize;
    int32_t const behind = first + (Count - 1) * step + kSize; // the last pack
    Pack<T> packs[Count];
    if (Packed && __all_sync(kWholeWarp, behind <= count))
    {
#pragma unroll
        for (int32_t k = 0; k < Count; ++k)
        {
            packs[k] = loadPack(x.data, (first + k * step) / kSize);
        }
    }
    else
    {
#pragma unroll
        for (int32_t k = 0; k < Count; ++k)
        {
            T elements[kSize] = {};
#pragma unroll
            for (int32_t j = 0; j < kSize; ++j)
            {
                if (first + k * step + j < count)
                {
                    elements[j] = x.data[first + k * step + j];
                }
            }
            memcpy(&packs[k], &elements, sizeof elements);
        }
    }
    uint32_t bits = 0;
#pragma unroll
    for (int32_t k = 0; k < Count; ++k)
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
        int32_t const present = min(max(count - first - k * step, 0), kSize);
        ofPack &= (1U << static_cast<uint32_t>(present)) - 1U;
        bits |= ofPack << static_cast<uint32_t>(k * kSize);
    }
    return bits;
}

//! Writes the indices of a warp's selected elements, as numbers `begin` and on of `all`, and returns how many they are.
//! A thread has the bits of Size neighbouring elements, the warp's from `first` on. They are listed in memory of the
//! warp first, unless they are few: so neighbouring threads write neighbouring ones.
template <int32_t Size, typename Index>
__device__ int32_t writeSelected(SelectShape const& shape, uint32_t bits, int32_t first, int32_t begin, int64_t all,
                                 uint16_t* list, Index* indices)
{
    auto const lane = static_cast<int32_t>(threadIdx.x % kLanes);
    int32_t const mine = __popc(bits);
    int32_t sum = mine;
#pragma unroll
    for (uint32_t distance = 1; distance < kLanes; distance *= 2)
    {
        int32_t const other = __shfl_up_sync(kWholeWarp, sum, distance);
        sum += lane >= static_cast<int32_t>(distance) ? other : 0;
    }
    int32_t const total = __shfl_sync(kWholeWarp, sum, static_cast<int>(kLanes) - 1);
    if (Size < 32 && total <= static_cast<int32_t>(kLanes))
    {
        for (int32_t at = begin + sum - mine; bits != 0; bits &= bits - 1)
        {
            writeIndices(shape, first + lane * Size + __ffs(static_cast<int>(bits)) - 1, at++, all, indices);
        }
        return total;
    }
    for (int32_t at = sum - mine; bits != 0; bits &= bits - 1)
    {
        list[at++] = static_cast<uint16_t>(lane * Size + __ffs(static_cast<int>(bits)) - 1);
    }
    __syncwarp();
    for (int32_t i = lane; i < total; i += static_cast<int32_t>(kLanes))
    {
        writeIndices(shape, first + list[i], begin + i, all, indices);
    }
    __syncwarp(); // nobody lists the next before all are written
    return total;
}

//! A small tensor: a thread of the one block has a pack.
template <bool Packed, typename Predicate, typename T, typename Index>
__global__ void __launch_bounds__(kAlonePacks)
    selectAloneKernel(Predicate const predicate, SelectShape const shape, int32_t count, Input<T> const x,
                      int32_t* found, Index* indices)
{
    constexpr int32_t kSize = Pack<T>::kSize;
    __shared__ uint16_t lists[kAlonePacks * kSize];
    int32_t const first = static_cast<int32_t>(threadIdx.x & ~(kLanes - 1)) * kSize; // the warp's
    waitForStream();
    auto const thread = static_cast<int32_t>(threadIdx.x);
    uint32_t const bits = selectPacks<Packed, 1>(predicate, x, count, thread * kSize, 0);
    int32_t all = 0;
    int32_t const begin = countBefore(warpSum(__popc(bits)), all);
    if (threadIdx.x == 0)
    {
        *found = all;
    }
    writeSelected<kSize>(shape, bits, first, begin, all, lists + first, indices);
}

//! Leaves the bits of a block's elements, words of 32, and their sum: Count packs of a thread at once, in `turns`.
template <bool Packed, int32_t Count, int32_t Threads, typename Predicate, typename T>
__global__ void __launch_bounds__(Threads, heldBlocks(Threads, kSelectBlocks* kSelectThreads / Threads))
    selectBitsKernel(Predicate const predicate, int32_t count, int32_t turns, Input<T> const x, uint32_t* bits,
                     int32_t* counts)
{
    constexpr int32_t kSize = Pack<T>::kSize;
    constexpr int32_t kWarp = static_cast<int32_t>(kLanes);
    constexpr int32_t kOfWarp = Count * kSize * kWarp; // elements at once
    constexpr int32_t kInWord = kWarp / kSize;         // packs
    auto const lane = static_cast<int32_t>(threadIdx.x % kLanes);
    int32_t const begin =
        static_cast<int32_t>(blockIdx.x) * turns * (Threads / kWarp) + static_cast<int32_t>(threadIdx.x / kLanes);
    int32_t found = 0;
    waitForStream();
    for (int32_t turn = 0; turn < turns; ++turn)
    {
        int32_t const first = (begin + turn * (Threads / kWarp)) * kOfWarp; // the warp's
        if (first >= count)
        {
            break;
        }
        uint32_t word = 0;
        if constexpr (Count == 1)
        {
            word = selectPacks<Packed, 1>(predicate, x, count, first + lane * kSize, 0) << (lane % kInWord * kSize);
            found += __popc(word);
#pragma unroll
            for (int32_t distance = 1; distance < kInWord; distance *= 2)
            {
                word |= __shfl_xor_sync(kWholeWarp, word, distance);
            }
            if (lane % kInWord == 0)
            {
                bits[(first + lane * kSize) / kWarp] = word;
            }
        }
        else
        {
            using Exchange = SelectExchange<kSize, Count>;
            word = Packed ? Exchange::exchanged(
                                selectPacks<true, Count>(predicate, x, count, first + lane * kSize, kWarp * kSize))
                          : selectPacks<false, Count>(predicate, x, count, first + lane * kWarp, kSize);
            found += __popc(word);
            bits[first / kWarp + (Packed ? static_cast<int32_t>(Exchange::wordOf(threadIdx.x % kLanes)) : lane)] = word;
        }
    }
    int32_t all = 0;
    countBefore(warpSum(found), all);
    if (threadIdx.x == 0)
    {
        counts[blockIdx.x] = all;
    }
}

//! Writes the indices of `each` units of a block, of which `counted` of the other kernel's `blocks` have looked at the
//! elements. A warp has neighbouring ones.
template <int32_t Threads, typename Index>
__global__ void __launch_bounds__(Threads)
    selectIndicesKernel(SelectShape const shape, int32_t count, int32_t each, int32_t counted, int32_t blocks,
                        uint32_t const* bits, int32_t const* counts, int32_t* found, Index* indices)
{
    constexpr int32_t kWarpsHere = Threads / static_cast<int32_t>(kLanes);
    __shared__ uint16_t lists[kWarpsHere][kSelectUnit];
    auto const warp = static_cast<int32_t>(threadIdx.x / kLanes);
    auto const lane = static_cast<int32_t>(threadIdx.x % kLanes);
    int32_t const words = (count + 31) / 32;
    int32_t const last = min(static_cast<int32_t>(blockIdx.x + 1) * each, (count + kSelectUnit - 1) / kSelectUnit);
    int32_t const ofWarp = (each + kWarpsHere - 1) / kWarpsHere;
    int32_t const firstUnit = min(static_cast<int32_t>(blockIdx.x) * each + warp * ofWarp, last);
    int32_t const lastUnit = min(firstUnit + ofWarp, last);
    waitForStream();
    int32_t mine = 0;
#pragma unroll 8
    for (int32_t word = firstUnit * static_cast<int32_t>(kLanes) + lane;
         word < min(lastUnit * static_cast<int32_t>(kLanes), words); word += static_cast<int32_t>(kLanes))
    {
        mine += __popc(bits[word]);
    }
    int32_t before = 0; // of this thread's blocks
    int32_t all = 0;
    for (auto other = static_cast<int32_t>(threadIdx.x); other < blocks; other += Threads)
    {
        int32_t const number = counts[other];
        before += other < static_cast<int32_t>(blockIdx.x) * counted ? number : 0;
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
    int32_t word = firstUnit * static_cast<int32_t>(kLanes) + lane;
    uint32_t next = firstUnit < lastUnit && word < words ? bits[word] : 0;
    for (int32_t unit = firstUnit; unit < lastUnit; ++unit)
    {
        uint32_t const here = next;
        word += static_cast<int32_t>(kLanes);
        next = unit + 1 < lastUnit && word < words ? bits[word] : 0; // under way while this one is written
        begin += writeSelected<32>(shape, here, unit * kSelectUnit, begin, selected, lists[warp], indices);
    }
}

//! Count: packs of a thread at once.
template <int32_t Threads, bool Packed, int32_t Count, typename Predicate, typename T, typename Index>
cudaError_t selectLarge(cudaStream_t stream, SelectShape const& shape, int32_t count, int32_t turns,
                        Predicate const& predicate, Input<T> x, Index* indices, int32_t* found,
                        void* workspace) noexcept
{
    int64_t const ofBlock = int64_t{Threads} * Count * Pack<T>::kSize * turns; // elements
    auto const blocks = static_cast<int32_t>((count + ofBlock - 1) / ofBlock);
    // Each block of the second kernel has what one or several of the first have.
    constexpr int64_t kLeast = int64_t{kSelectUnit} * Threads / kLanes;
    auto const counted = static_cast<int32_t>(std::max<int64_t>(kLeast / ofBlock, 1));
    auto const each = static_cast<int32_t>(counted * ofBlock / kSelectUnit);
    auto* const bits = static_cast<uint32_t*>(workspace);
    auto* const counts =
        reinterpret_cast<int32_t*>(bits + (int64_t{count} + kSelectTile - 1) / kSelectTile * (kSelectTile / 32));
    launchEarly(selectBitsKernel<Packed, Count, Threads, Predicate, T>, dim3{static_cast<uint32_t>(blocks)}, Threads,
                stream, predicate, count, turns, x, bits, counts);
    if (cudaError_t const error = cudaGetLastError(); error != cudaSuccess)
    {
        return error;
    }
    launchEarly(selectIndicesKernel<Threads, Index>, dim3{static_cast<uint32_t>((blocks + counted - 1) / counted)},
                Threads, stream, shape, count, each, counted, blocks, bits, counts, found, indices);
    return cudaGetLastError();
}

template <typename Values, bool Packed, typename Predicate, typename T, typename Index>
cudaError_t selectBy(cudaStream_t stream, SelectShape const& shape, int32_t count, Predicate const& predicate,
                     Input<T> x, Index* indices, int32_t* found, void* workspace) noexcept
{
    constexpr int32_t kSize = Pack<T>::kSize;
    // The workspace has no room for more blocks' counts, and the shared memory none for the lists of larger blocks.
    constexpr int32_t kThreads = Values::kThreads > kSelectThreads ? 2 * kSelectThreads : kSelectThreads;
    int64_t const packs = (int64_t{count} + kSize - 1) / kSize;
    if (packs <= kAlonePacks)
    {
        auto const threads = static_cast<uint32_t>((packs + kLanes - 1) / kLanes * kLanes);
        launchEarly(selectAloneKernel<Packed, Predicate, T, Index>, dim3{1}, threads, stream, predicate, shape, count,
                    x, found, indices);
        return cudaGetLastError();
    }
    if (packs <= kFewPacks && kSize >= 4)
    {
        return selectLarge<kThreads, Packed, 1>(stream, shape, count, 1, predicate, x, indices, found, workspace);
    }
    // As many blocks as run at once, so that all end at the same time.
    int device = 0;
    int processors = 1;
    if (cudaGetDevice(&device) != cudaSuccess ||
        cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device) != cudaSuccess)
    {
        return cudaGetLastError();
    }
    int64_t const blocks = int64_t{processors} * kSelectBlocks * kSelectThreads / kThreads;
    int64_t const ofTurn = int64_t{kThreads} * static_cast<int64_t>(kLanes);
    auto const turns = static_cast<int32_t>((count + blocks * ofTurn - 1) / (blocks * ofTurn));
    return selectLarge<kThreads, Packed, static_cast<int32_t>(kLanes) / kSize>(stream, shape, count, turns, predicate,
                                                                               x, indices, found, workspace);
}

} // namespace detail

//! Bytes of workspace for a tensor of so many elements, aligned to 4.
inline int64_t selectWorkspace(int64_t count) noexcept
{
    constexpr int64_t kOfTile = detail::kSelectTile / 8 + 32; // bits, and counts of a block of few threads' packs
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
