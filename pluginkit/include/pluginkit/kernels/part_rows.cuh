//! Functions of long rows of one-byte elements: a cluster of blocks has many rows, one after another, and each block
//! the same part of each, with that part of weights in its shared memory; for normalize.cuh. The parts of the next row
//! are loaded while this one is computed, and weights are read from the L2 cache once, not for each row. Where there
//! are not clusters, a block has whole rows.
#pragma once

#include <pluginkit/kernels/row_kernels.cuh>
#include <pluginkit/kernels/row_parts.cuh>

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace pluginkit::kernels
{

//! Each thread has Chunks chunks of a row, and loads those of the cluster's next row while it computes. At least Blocks
//! blocks of Threads threads share a multiprocessor's registers.
template <bool Whole, int32_t Chunks, bool Full, uint32_t Threads, uint32_t Blocks, typename Function, typename Outs,
          typename In>
__global__ void __launch_bounds__(Threads, Blocks)
    partRowsKernel(Function const function, int64_t rows, int64_t columns, uint32_t blocks, Outs const outs,
                   In const in)
{
    using Group = detail::PartOfRow;
    __shared__ alignas(16) detail::PartMemory exchange;
    extern __shared__ float4 pluginkitSharedRows[];
    uint32_t turn = 0;
    Group const group{&exchange, &turn, blockIdx.x % blocks, blocks};
    detail::SharedPart<Whole> const shared{group, columns};
    auto const inputs = detail::inParts(in, shared, pluginkitSharedRows);
    using Inputs = std::remove_const_t<decltype(inputs)>;
    int64_t next = blockIdx.x / blocks;
    int64_t const step = gridDim.x / blocks;
    detail::HeldRow<16, Whole, Chunks, Full, Group, Inputs> row{
        detail::partOf<Whole>(group, next, rows, columns), inputs, {}};
    typename Inputs::template Raw<16> raw[Chunks] = {};
    row.load(row.place, raw); // under way while the shared rows are copied
    if (threadIdx.x == 0)
    {
        detail::prepareExchange(exchange);
    }
    detail::copyParts(in, shared, columns, pluginkitSharedRows);
    __syncthreads();
    if (blocks > 1)
    {
        detail::arriveInCluster();
        detail::waitForCluster();
    }
    while (next < rows)
    {
        row.unpack(raw);
        next += step;
        auto const after = detail::partOf<Whole>(group, next, rows, columns);
        if (next < rows)
        {
            row.load(after, raw);
        }
        detail::callOnRow(function, row, outs);
        row.place = after;
    }
}

namespace detail
{

constexpr uint32_t kPartThreads = 256;     //!< of a block, at most
constexpr uint32_t kLeastPartThreads = 64; //!< of one of several blocks
constexpr uint32_t kPartBlocks = 2;        //!< that a multiprocessor's registers hold

struct PartBlocks
{
    uint32_t blocks;
    uint32_t threads;
};

//! How many blocks that have whole rows run at once; 0 where the kernel can't.
inline int64_t blocksAtOnce(void const* kernel, uint32_t threads, size_t bytes) noexcept
{
    int device = 0;
    int processors = 0;
    int resident = 0;
    if (cudaGetDevice(&device) != cudaSuccess ||
        cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device) != cudaSuccess ||
        cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, kernel, static_cast<int>(threads), bytes) !=
            cudaSuccess)
    {
        static_cast<void>(cudaGetLastError()); // the next launch's error isn't this one
    }
    return int64_t{resident} * processors;
}

//! Starts as many clusters as run at once; false where the GPU can't start one, or rows are fewer.
template <typename Kernel, typename Work>
bool launchParts([[maybe_unused]] Kernel* kernel, [[maybe_unused]] Work const& work, [[maybe_unused]] uint32_t blocks,
                 [[maybe_unused]] uint32_t threads, [[maybe_unused]] size_t bytes) noexcept
{
#ifdef PLUGINKIT_KERNELS_PARTS
    cudaLaunchAttribute attribute{};
    attribute.id = cudaLaunchAttributeClusterDimension;
    attribute.val.clusterDim.x = blocks;
    attribute.val.clusterDim.y = 1;
    attribute.val.clusterDim.z = 1;
    cudaLaunchConfig_t config{};
    config.blockDim = dim3{threads};
    config.gridDim = dim3{blocks};
    config.dynamicSmemBytes = bytes;
    config.stream = work.stream;
    config.attrs = &attribute;
    config.numAttrs = 1;
    int clusters = 0;
    if (!canCluster(reinterpret_cast<void const*>(kernel), config))
    {
        return false;
    }
    if (cudaOccupancyMaxActiveClusters(&clusters, kernel, &config) != cudaSuccess || work.rows < clusters)
    {
        static_cast<void>(cudaGetLastError()); // the next launch's error isn't this one
        return false;
    }
    config.gridDim = dim3{static_cast<uint32_t>(clusters) * blocks};
    // An error is the launch's, which cudaGetLastError tells.
    static_cast<void>(
        cudaLaunchKernelEx(&config, kernel, work.function, work.rows, work.columns, blocks, work.outs, work.in));
    return true;
#else
    return false;
#endif
}

//! False where the GPU can't start such clusters, or rows are fewer than those that it runs at once.
template <bool Whole, bool Full, int32_t Chunks, typename Work>
bool launchPartRowsOf(Work const& work, uint32_t blocks, uint32_t threads) noexcept
{
    constexpr int32_t kShared = sharedByParts(static_cast<decltype(work.in)*>(nullptr));
    constexpr int32_t kChunkBytes = 16 * static_cast<int32_t>(sizeof(float)); // of weights
    auto* const kernel = partRowsKernel<Whole, Chunks, Full, kPartThreads, kPartBlocks, decltype(work.function),
                                        decltype(work.outs), decltype(work.in)>;
    // What the widest parts of this kernel take, whatever these take: it is the kernel's, and another thread's launch
    // of other rows may come between this and the launch.
    constexpr int32_t kMost = kShared * kChunkBytes * (Chunks * static_cast<int32_t>(kPartThreads) + (Whole ? 0 : 1));
    if (cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kMost) != cudaSuccess)
    {
        static_cast<void>(cudaGetLastError());
        return false;
    }
    auto const bytes = static_cast<size_t>(kShared * kChunkBytes * SharedPart<Whole>::chunksOf(work.columns, blocks));
    if (blocks > 1)
    {
        return launchParts(kernel, work, blocks, threads, bytes);
    }
    int64_t const resident = blocksAtOnce(reinterpret_cast<void const*>(kernel), threads, bytes);
    if (resident == 0 || work.rows < resident)
    {
        return false;
    }
    kernel<<<static_cast<uint32_t>(resident), threads, bytes, work.stream>>>(work.function, work.rows, work.columns,
                                                                             blocks, work.outs, work.in);
    return true;
}

//! How many blocks a row has, and of how many threads: those that leave the fewest threads without elements, of equals
//! the smaller ones. Without clusters it is one block. 0 threads: a row is too long.
template <bool Whole, int32_t Chunks>
PartBlocks partBlocks(int64_t columns) noexcept
{
#ifdef PLUGINKIT_KERNELS_PARTS
    constexpr uint32_t kMost = kMostParts;
#else
    constexpr uint32_t kMost = 1;
#endif
    PartBlocks best{1, 0};
    for (uint32_t blocks = 1; blocks <= kMost; blocks *= 2)
    {
        auto const each = static_cast<uint32_t>((chunksOfPart<Whole>(columns, blocks) + Chunks - 1) / Chunks);
        uint32_t const threads = (each + kLanes - 1) / kLanes * kLanes;
        bool const possible = threads <= kPartThreads && (blocks == 1 || threads >= kLeastPartThreads);
        if (possible && (best.threads == 0 || blocks * threads <= best.blocks * best.threads))
        {
            best = {blocks, threads};
        }
    }
    return best;
}

template <bool Whole, typename Work>
bool launchPartRowsIn(Work const& work) noexcept
{
    constexpr int32_t kChunks = 4 / decltype(work.in)::kMatrices; // as many registers as hold a row's numbers
    PartBlocks const best = partBlocks<Whole, kChunks>(work.columns);
    if (best.threads == 0)
    {
        return false;
    }
    if constexpr (Whole)
    {
        if (chunksOf<16, Whole>(work.columns) == int64_t{kChunks} * best.threads * best.blocks)
        {
            return launchPartRowsOf<Whole, true, kChunks>(work, best.blocks, best.threads);
        }
    }
    return launchPartRowsOf<Whole, false, kChunks>(work, best.blocks, best.threads);
}

//! False for rows that are launched as others are: of other elements, of few rows, and of widths for which another
//! kernel is as fast.
template <int32_t Size, typename Work>
bool launchPartRows([[maybe_unused]] Work const& work) noexcept
{
    using In = decltype(work.in);
    if constexpr (Size == 16 && (In::kMatrices == 1 || In::kMatrices == 2))
    {
        constexpr int32_t kShared = sharedByParts(static_cast<In*>(nullptr));
        // More to load for a row: it is slow early without the next one on its way.
        constexpr int64_t kLeast = kShared > 1 || In::kMatrices > 1 ? 8192 : 32768;
        constexpr int64_t kMost = int64_t{1} << 20U; // more than any cluster has threads for
        if (work.columns <= kLeast || work.columns > kMost)
        {
            return false;
        }
        if (work.columns % Size == 0)
        {
            return launchPartRowsIn<true>(work);
        }
        return (kShared == 0 || work.columns % 4 == 0) && launchPartRowsIn<false>(work);
    }
    return false;
}

} // namespace detail

} // namespace pluginkit::kernels
