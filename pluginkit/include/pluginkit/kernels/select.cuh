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
#include <pluginkit/kernels/rows.cuh>
#include <pluginkit/kernels/tensors.cuh>

#include <algorithm>
#include <cstdint>

namespace pluginkit::kernels
{

namespace detail
{

constexpr int32_t kSelectThreads = 256;
constexpr int32_t kSelectTile = 8192; //!< elements of a block: a word of bits a thread
constexpr int32_t kMostSelectDims = 8;

struct SelectShape
{
    int32_t rank;
    Divisor sizes[kMostSelectDims];
};

//! What comes before this thread's number in its block of kSelectThreads; `total` is that of all.
inline __device__ int32_t countBefore(int32_t number, int32_t& total, int32_t (&scratch)[kSelectThreads / kLanes])
{
    auto const lane = static_cast<int32_t>(threadIdx.x % kLanes);
    auto const warp = static_cast<int32_t>(threadIdx.x / kLanes);
    int32_t sum = number;
#pragma unroll
    for (uint32_t distance = 1; distance < kLanes; distance *= 2)
    {
        int32_t const other = __shfl_up_sync(kWholeWarp, sum, distance);
        sum += lane >= static_cast<int32_t>(distance) ? other : 0;
    }
    if (lane == static_cast<int32_t>(kLanes) - 1)
    {
        scratch[warp] = sum;
    }
    __syncthreads();
    int32_t before = 0;
    total = 0;
#pragma unroll
    for (int32_t w = 0; w < kSelectThreads / static_cast<int32_t>(kLanes); ++w)
    {
        before += w < warp ? scratch[w] : 0;
        total += scratch[w];
    }
    __syncthreads(); // nobody writes to scratch again before all have read it
    return before + sum - number;
}

//! A bit for each element of a tile, and how many are set.
template <int32_t Size, typename Predicate, typename T>
__global__ void __launch_bounds__(kSelectThreads)
    flagsKernel(Predicate const predicate, int32_t count, Input<T> const x, uint32_t* bits, int32_t* counts)
{
    __shared__ int32_t scratch[kSelectThreads / kLanes];
    constexpr int32_t kTurns = kSelectTile / kSelectThreads / Size;
    constexpr uint32_t kPerWord = 32 / Size; // threads
    int64_t const first = static_cast<int64_t>(blockIdx.x) * kSelectTile;
    float numbers[kTurns][Size];
#pragma unroll
    for (int32_t k = 0; k < kTurns; ++k)
    {
        int64_t const at = first + (static_cast<int64_t>(k) * kSelectThreads + threadIdx.x) * Size;
        if (at + Size <= count)
        {
            x.template load<Size>(at / Size, numbers[k]);
        }
        else
        {
#pragma unroll
            for (int32_t j = 0; j < Size; ++j)
            {
                numbers[k][j] = at + j < count ? x.at(at + j) : 0.0F;
            }
        }
    }
    int32_t found = 0;
#pragma unroll
    for (int32_t k = 0; k < kTurns; ++k)
    {
        int64_t const at = first + (static_cast<int64_t>(k) * kSelectThreads + threadIdx.x) * Size;
        uint32_t word = 0;
#pragma unroll
        for (int32_t j = 0; j < Size; ++j)
        {
            word |= (at + j < count && predicate(numbers[k][j]) ? 1U : 0U) << static_cast<uint32_t>(j);
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
    int32_t total = 0;
    countBefore(found, total, scratch);
    if (threadIdx.x == 0)
    {
        counts[blockIdx.x] = total;
    }
}

//! How many are set in the tiles before each, in its place, and in all. One block, of which
//! a thread takes Each tiles a turn.
template <int32_t Each>
__global__ void __launch_bounds__(kSelectThreads) offsetsKernel(int32_t tiles, int32_t* counts, int32_t* found)
{
    __shared__ int32_t scratch[kSelectThreads / kLanes];
    int32_t carried = 0;
    for (int32_t begin = 0; begin < tiles; begin += kSelectThreads * Each)
    {
        int32_t const first = begin + static_cast<int32_t>(threadIdx.x) * Each;
        int32_t mine[Each];
        int32_t sum = 0;
#pragma unroll
        for (int32_t j = 0; j < Each; ++j)
        {
            mine[j] = first + j < tiles ? counts[first + j] : 0;
        }
#pragma unroll
        for (int32_t j = 0; j < Each; ++j)
        {
            sum += mine[j];
        }
        int32_t total = 0;
        int32_t before = carried + countBefore(sum, total, scratch);
#pragma unroll
        for (int32_t j = 0; j < Each; ++j)
        {
            if (first + j < tiles)
            {
                counts[first + j] = before;
            }
            before += mine[j];
        }
        carried += total;
    }
    if (threadIdx.x == 0)
    {
        *found = carried;
    }
}

//! The places of a tile's set bits, gathered in shared memory, so that neighbouring threads write neighbouring ones.
template <typename Index>
__global__ void __launch_bounds__(kSelectThreads)
    placesKernel(SelectShape const shape, uint32_t const* bits, int32_t const* before, int32_t const* found,
                 Index* indices)
{
    __shared__ int32_t scratch[kSelectThreads / kLanes];
    __shared__ uint16_t places[kSelectTile];
    uint32_t word = bits[static_cast<int64_t>(blockIdx.x) * kSelectThreads + threadIdx.x];
    int32_t total = 0;
    int32_t at = countBefore(__popc(word), total, scratch);
    while (word != 0)
    {
        places[at] = static_cast<uint16_t>(threadIdx.x * 32 + static_cast<uint32_t>(__ffs(static_cast<int>(word)) - 1));
        word &= word - 1;
        ++at;
    }
    __syncthreads();
    int64_t const all = *found;
    int64_t const begin = before[blockIdx.x];
    for (auto i = static_cast<int32_t>(threadIdx.x); i < total; i += kSelectThreads)
    {
        int32_t index = static_cast<int32_t>(blockIdx.x) * kSelectTile + places[i];
        for (int32_t d = shape.rank - 1; d >= 0; --d)
        {
            int32_t const next = shape.sizes[d].quotient(index);
            indices[d * all + begin + i] =
                static_cast<Index>(index - next * static_cast<int32_t>(shape.sizes[d].divisor));
            index = next;
        }
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
    int64_t const count = detail::elementsOf(rank, dims, 0x7FFFFFFF - detail::kSelectTile);
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
    detail::offsetsKernel<16><<<1, detail::kSelectThreads, 0, stream>>>(tiles, counts, found);
    if (cudaError_t const error = cudaGetLastError(); error != cudaSuccess)
    {
        return error;
    }
    detail::placesKernel<<<blocks, detail::kSelectThreads, 0, stream>>>(shape, bits, counts, found, indices);
    return cudaGetLastError();
}

} // namespace pluginkit::kernels
