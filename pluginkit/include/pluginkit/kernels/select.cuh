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
//! The elements are read once, and a bit of each is kept: in the shared memory of the GPU's multiprocessors, where all
//! of them fit in, or in the workspace (`selectWorkspace`), which is a bit more than an eighth of a byte an element.
#pragma once

#include <pluginkit/kernels/select_once.cuh>
#include <pluginkit/kernels/select_steps.cuh>
#include <pluginkit/kernels/tuning.cuh>

#include <cstdint>

namespace pluginkit::kernels
{

namespace detail
{

//! Size: elements that a thread loads at once. Tiles: of a block, if it takes two kernels.
template <int32_t Size, int32_t Tiles, typename Stream, typename Predicate, typename T, typename Index>
cudaError_t launchSelectOf(Stream const& stream, SelectShape const& shape, int64_t count, Predicate const& predicate,
                           Input<T> x, Index* indices, int32_t* found, void* workspace) noexcept
{
    return launchWith(
        stream,
        [&](cudaStream_t on, auto values)
        {
            constexpr int32_t kAsked = decltype(values)::kThreads; // the warps of a block share out its units
            constexpr int32_t kThreads = kAsked > 0 ? powerOfTwo(kAsked) : kOnceThreads;
            return selectAtOnce<Size>(on, shape, count, predicate, x, indices, found, workspace, kThreads)
                       ? cudaSuccess
                       : selectInSteps<Size, Tiles>(on, shape, count, predicate, x, indices, found, workspace);
        });
}

} // namespace detail

//! Bytes of workspace for a tensor of so many elements.
inline int64_t selectWorkspace(int64_t count) noexcept
{
    constexpr int64_t kOfTile = detail::kTileBytes + int64_t{sizeof(int32_t)};
    return (count + detail::kSelectTile - 1) / detail::kSelectTile * kOfTile;
}

//! Starts the kernels on a stream, which may be `tuned` (tuning.cuh), and returns at once.
//!
//! x has `rank` dimensions, 1 to 8, and at most 2^31 - 8192 elements. `found` gets how many elements the predicate
//! holds for; `indices` a row of so many numbers for each dimension. Index is int32_t or int64_t.
template <typename Predicate, typename T, typename Index, typename Stream>
cudaError_t launchSelect(Stream const& stream, int32_t rank, int64_t const* dims, Predicate const& predicate,
                         Input<T> x, Index* indices, int32_t* found, void* workspace) noexcept
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
        return launchWith(stream, [&](cudaStream_t on, auto /*values*/)
                          { return cudaMemsetAsync(found, 0, sizeof *found, on); });
    }
    detail::SelectShape shape{rank, {}};
    for (int32_t d = 0; d < rank; ++d)
    {
        shape.sizes[d] = divisorOf(dims[d]);
    }
    if (!canPack(x.data))
    {
        return detail::launchSelectOf<1, 1>(stream, shape, count, predicate, x, indices, found, workspace);
    }
    // Few blocks for a large GPU, if a block had four tiles of a small tensor.
    constexpr int64_t kLarge = int64_t{detail::kSelectBlocks} * 4 * detail::kSelectTile;
    return count < kLarge ? detail::launchSelectOf<Pack<T>::kSize, 1>(stream, shape, count, predicate, x, indices,
                                                                      found, workspace)
                          : detail::launchSelectOf<Pack<T>::kSize, 4>(stream, shape, count, predicate, x, indices,
                                                                      found, workspace);
}

} // namespace pluginkit::kernels
