//! The places of some of a tensor's elements, in row-major order, as ONNX's NonZero has them. How many there are is
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
//! The elements are read once, and a bit of each is kept; so the workspace (`selectWorkspace`) is a bit more than an
//! eighth of a byte an element.
#pragma once

#include <pluginkit/kernels/division.cuh>
#include <pluginkit/kernels/row_inputs.cuh>
#include <pluginkit/kernels/rows.cuh>
#include <pluginkit/kernels/tensors.cuh>

#include <algorithm>
#include <cstdint>

namespace pluginkit::kernels
{

namespace detail
{

constexpr int32_t kSelectThreads = 256;
constexpr int32_t kSelectTile = 8192;   //!< elements of a block that looks at them: a word of bits a thread
constexpr int32_t kSelectWords = 4;     //!< of bits, of a thread that writes places
constexpr int32_t kSelectPlaces = 4096; //!< that a block gathers before it writes them
constexpr int32_t kOffsetThreads = 1024;
constexpr int32_t kMostSelectDims = 8;

struct SelectShape
{
    int32_t rank;
    Divisor sizes[kMostSelectDims];
};

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
        float numbers[Size];
        loaded[k].unpack(x.scale, numbers);
        // Bits added up in a float of 2^23: additions have units of their own, and those for integers are busy already.
        float marks = 8388608.0F;
#pragma unroll
        for (int32_t j = 0; j < Size; ++j)
        {
            if ((Whole || at + j < count) && predicate(numbers[j]))
            {
                marks += static_cast<float>(1U << static_cast<uint32_t>(j));
            }
        }
        uint32_t word = __float_as_uint(marks) & 0xFFFFU;
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

template <int32_t Size, typename Predicate, typename T>
__global__ void __launch_bounds__(kSelectThreads)
    flagsKernel(Predicate const predicate, int32_t count, Input<T> const x, uint32_t* bits, int32_t* counts)
{
    __shared__ int32_t scratch[kSelectThreads / kLanes];
    int64_t const first = static_cast<int64_t>(blockIdx.x) * kSelectTile;
    int32_t const found = first + kSelectTile <= count ? markTile<Size, true>(predicate, first, count, x, bits)
                                                       : markTile<Size, false>(predicate, first, count, x, bits);
    int32_t total = 0;
    countBefore(found, total, scratch);
    if (threadIdx.x == 0)
    {
        counts[blockIdx.x] = total;
    }
}

//! How many are set in the tiles before each, in its place, and in all. One block, of which a thread adds up Each
//! tiles a turn; neighbouring threads load and store neighbouring ones.
template <int32_t Each>
__global__ void __launch_bounds__(kOffsetThreads) offsetsKernel(int32_t tiles, int32_t* counts, int32_t* found)
{
    __shared__ int32_t scratch[kOffsetThreads / kLanes];
    __shared__ int32_t held[kOffsetThreads * (Each + 1)]; // one more for each thread: other banks
    auto const thread = static_cast<int32_t>(threadIdx.x);
    int32_t* const mine = held + thread * (Each + 1);
    int32_t carried = 0;
    for (int32_t begin = 0; begin < tiles; begin += kOffsetThreads * Each)
    {
        for (int32_t i = thread; i < kOffsetThreads * Each; i += kOffsetThreads)
        {
            held[i + i / Each] = begin + i < tiles ? counts[begin + i] : 0;
        }
        __syncthreads();
        int32_t sum = 0;
#pragma unroll
        for (int32_t j = 0; j < Each; ++j)
        {
            sum += mine[j];
        }
        int32_t total = 0;
        int32_t before = carried + countBefore(sum, total, scratch);
        carried += total;
#pragma unroll
        for (int32_t j = 0; j < Each; ++j)
        {
            int32_t const number = mine[j];
            mine[j] = before;
            before += number;
        }
        __syncthreads();
        for (int32_t i = thread; i < kOffsetThreads * Each && begin + i < tiles; i += kOffsetThreads)
        {
            counts[begin + i] = held[i + i / Each];
        }
        __syncthreads(); // nobody loads the next before all are stored
    }
    if (thread == 0)
    {
        *found = carried;
    }
}

//! The places of some tiles' set bits, gathered in shared memory, so that neighbouring threads write neighbouring ones.
template <typename Index>
__global__ void __launch_bounds__(kSelectThreads)
    placesKernel(SelectShape const shape, int32_t tiles, uint32_t const* bits, int32_t const* before,
                 int32_t const* found, Index* indices)
{
    __shared__ int32_t scratch[kSelectThreads / kLanes];
    __shared__ uint16_t places[kSelectPlaces];
    int64_t const first = (static_cast<int64_t>(blockIdx.x) * kSelectThreads + threadIdx.x) * kSelectWords;
    uint32_t words[kSelectWords];
    int32_t mine = 0;
#pragma unroll
    for (int32_t k = 0; k < kSelectWords; ++k)
    {
        words[k] = first + k < static_cast<int64_t>(tiles) * kSelectThreads ? bits[first + k] : 0;
        mine += __popc(words[k]);
    }
    int64_t const all = *found;
    int64_t const begin = before[static_cast<int32_t>(blockIdx.x) * kSelectWords]; // a tile has a word of each thread
    int32_t total = 0;
    int32_t at = countBefore(mine, total, scratch);
    for (int32_t written = 0; written < total; written += kSelectPlaces)
    {
#pragma unroll
        for (int32_t k = 0; k < kSelectWords; ++k)
        {
            for (; words[k] != 0 && at < written + kSelectPlaces; ++at)
            {
                auto const bit = static_cast<uint32_t>(__ffs(static_cast<int>(words[k])) - 1);
                places[at - written] =
                    static_cast<uint16_t>((threadIdx.x * kSelectWords + static_cast<uint32_t>(k)) * 32 + bit);
                words[k] &= words[k] - 1;
            }
        }
        __syncthreads();
        for (auto i = written + static_cast<int32_t>(threadIdx.x); i < min(total, written + kSelectPlaces);
             i += kSelectThreads)
        {
            int32_t index = static_cast<int32_t>(blockIdx.x) * (kSelectTile * kSelectWords) + places[i - written];
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
}

} // namespace detail

//! Bytes of workspace for a tensor of so many elements.
inline int64_t selectWorkspace(int64_t count) noexcept
{
    constexpr int64_t kOfTile = detail::kSelectTile / 8 + int64_t{sizeof(int32_t)};
    return (count + detail::kSelectTile - 1) / detail::kSelectTile * kOfTile;
}

//! Starts the kernels on a stream and returns at once.
//!
//! x has `rank` dimensions, 1 to 8, and at most 2^31 - 8192 elements. `found` gets how many elements the predicate
//! holds for; `indices` a row of so many numbers for each dimension. Index is int32_t or int64_t.
template <typename Predicate, typename T, typename Index>
cudaError_t launchSelect(cudaStream_t stream, int32_t rank, int64_t const* dims, Predicate const& predicate, Input<T> x,
                         Index* indices, int32_t* found, void* workspace) noexcept
{
    if (rank < 1 || rank > detail::kMostSelectDims)
    {
        return cudaErrorInvalidValue;
    }
    int64_t const count = detail::elementsOf(rank, dims, 0x7FFFFFFF - detail::kSelectTile + 1);
    if (count < 0)
    {
        return cudaErrorInvalidValue;
    }
    if (count == 0)
    {
        return cudaMemsetAsync(found, 0, sizeof *found, stream);
    }
    detail::SelectShape shape{rank, {}};
    for (int32_t d = 0; d < rank; ++d)
    {
        shape.sizes[d] = divisorOf(dims[d]);
    }
    auto const tiles = static_cast<int32_t>((count + detail::kSelectTile - 1) / detail::kSelectTile);
    auto* const bits = static_cast<uint32_t*>(workspace);
    auto* const counts = static_cast<int32_t*>(workspace) + int64_t{tiles} * detail::kSelectThreads;
    auto const blocks = static_cast<uint32_t>(tiles);
    if (canPack(x.data))
    {
        detail::flagsKernel<Pack<T>::kSize>
            <<<blocks, detail::kSelectThreads, 0, stream>>>(predicate, static_cast<int32_t>(count), x, bits, counts);
    }
    else
    {
        detail::flagsKernel<1>
            <<<blocks, detail::kSelectThreads, 0, stream>>>(predicate, static_cast<int32_t>(count), x, bits, counts);
    }
    if (cudaError_t const error = cudaGetLastError(); error != cudaSuccess)
    {
        return error;
    }
    detail::offsetsKernel<8><<<1, detail::kOffsetThreads, 0, stream>>>(tiles, counts, found);
    if (cudaError_t const error = cudaGetLastError(); error != cudaSuccess)
    {
        return error;
    }
    uint32_t const groups = (blocks + detail::kSelectWords - 1) / detail::kSelectWords;
    detail::placesKernel<<<groups, detail::kSelectThreads, 0, stream>>>(shape, tiles, bits, counts, found, indices);
    return cudaGetLastError();
}

} // namespace pluginkit::kernels
