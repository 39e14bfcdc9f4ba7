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
//!     kernels::launchSelect(stream, rank, dims, NonZero{}, kernels::input<__half>(x), indices, found, workspace,
//!                           kernels::selectWorkspace(count));
//!
//! The elements are read once, and a bit of each is kept: in registers of one block of a small tensor; in the workspace
//! (`selectWorkspace`), which is a bit more than an eighth of a byte an element; or in the shared memory of the GPU's
//! multiprocessors, where all of a large tensor's fit in.
#pragma once

#include <pluginkit/kernels/select_block.cuh>
#include <pluginkit/kernels/select_marked.cuh>
#include <pluginkit/kernels/select_once.cuh>
#include <pluginkit/kernels/select_steps.cuh>
#include <pluginkit/kernels/tuning.cuh>

#include <algorithm>
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

constexpr int64_t kMarkedPacks = int64_t{1} << 20U; //!< of a tensor of two kernels that start early, at most

//! Of so many packs. An H100 takes least with these ways, sizes and threads (benchmarks/notes.md).
template <typename Predicate, typename T, typename Index>
cudaError_t selectEarly(cudaStream_t stream, int64_t packs, SelectShape const& shape, int64_t count,
                        Predicate const& predicate, Input<T> x, Index* indices, int32_t* found,
                        void* workspace) noexcept
{
    constexpr int32_t kSize = Pack<T>::kSize;
    SelectShape fromLast{shape.rank, {}};
    std::reverse_copy(shape.sizes, shape.sizes + shape.rank, fromLast.sizes);
    if (packs <= kBlockThreads)
    {
        return selectByBlock<kSize, 1>(stream, fromLast, count, predicate, x, indices, found);
    }
    if (packs <= 2 * kBlockThreads)
    {
        return selectByBlock<kSize, 2>(stream, fromLast, count, predicate, x, indices, found);
    }
    if (packs <= kMarkedPacks / 4)
    {
        uint32_t const threads = packs <= kMarkedPacks / 16 ? 256 : packs < kMarkedPacks / 8 ? 512 : 1024;
        return selectMarked<kSize, 1>(stream, threads, fromLast, count, predicate, x, indices, found, workspace);
    }
    return packs <= kMarkedPacks / 2
               ? selectMarked<kSize, 4>(stream, 512, fromLast, count, predicate, x, indices, found, workspace)
               : selectMarked<kSize, 8>(stream, 512, fromLast, count, predicate, x, indices, found, workspace);
}

//! Of a tensor whose packs are loaded whole. Roomy: the workspace has room for the numbers of two kernels that start
//! early.
template <typename Stream, typename Predicate, typename T, typename Index>
cudaError_t launchSelectOfPacks(Stream const& stream, SelectShape const& shape, int64_t count,
                                Predicate const& predicate, Input<T> x, Index* indices, int32_t* found, void* workspace,
                                bool roomy) noexcept
{
    constexpr int32_t kSize = Pack<T>::kSize;
    int64_t const packs = (count + kSize - 1) / kSize;
    if (packs <= 2 * kBlockThreads || (roomy && packs <= kMarkedPacks))
    {
        return launchWith(stream, [&](cudaStream_t on, auto /*values*/)
                          { return selectEarly(on, packs, shape, count, predicate, x, indices, found, workspace); });
    }
    // Few blocks for a large GPU, if a block had four tiles of a small tensor.
    constexpr int64_t kLarge = int64_t{kSelectBlocks} * 4 * kSelectTile;
    return count < kLarge ? launchSelectOf<kSize, 1>(stream, shape, count, predicate, x, indices, found, workspace)
                          : launchSelectOf<kSize, 4>(stream, shape, count, predicate, x, indices, found, workspace);
}

} // namespace detail

//! Bytes of workspace for a tensor of so many elements, with which each size is launched in the fastest way.
inline int64_t selectWorkspace(int64_t count) noexcept
{
    return detail::selectTiles(count) * detail::SelectWorkspace::kOfTile;
}

//! Starts the kernels on a stream, which may be `tuned` (tuning.cuh), and returns at once.
//!
//! x has `rank` dimensions, 1 to 8, and at most 2^31 - 8192 elements. `found` gets how many elements the predicate
//! holds for; `indices` a row of so many numbers for each dimension. Index is int32_t or int64_t. `workspaceBytes` says
//! how large the workspace is: 1028 for each 8192 elements or part of them are enough, and what is meant if it is less.
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
    return canPack(x.data)
               ? detail::launchSelectOfPacks(stream, shape, count, predicate, x, indices, found, workspace,
                                             workspaceBytes >= selectWorkspace(count))
               : detail::launchSelectOf<1, 1>(stream, shape, count, predicate, x, indices, found, workspace);
}

} // namespace pluginkit::kernels
