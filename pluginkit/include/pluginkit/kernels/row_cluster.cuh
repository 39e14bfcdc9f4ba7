//! Long rows: a cluster of blocks has one row after another, and each block the same part of each. The parts of the
//! next row are loaded while this one is computed; weights of one-byte elements are in a block's shared memory, and
//! read from the L2 cache once, not for each row. For normalize.cuh.
#pragma once

#include <pluginkit/kernels/row_kernels.cuh>
#include <pluginkit/kernels/row_policy.cuh>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace pluginkit::kernels
{

namespace detail
{

//! What the blocks of a cluster exchange numbers by, of each block: two turns, each with a number of each warp of the
//! cluster and an mbarrier that counts their bytes. A warp sends the numbers of a turn when it has read those of the
//! one before, and has them all when every warp has sent its own: so nobody still reads a turn's numbers that is
//! written to again.
struct PartMemory
{
    float numbers[2][kClusterBlocks * kWarps];
    uint64_t arrived[2];
};

//! Once, by a thread, before the blocks of a cluster meet.
inline __device__ void prepareExchange([[maybe_unused]] PartMemory& memory)
{
#if defined(PLUGINKIT_KERNELS_CLUSTERS) && defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    for (auto& barrier : memory.arrived)
    {
        asm volatile(
            "mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(static_cast<uint32_t>(__cvta_generic_to_shared(&barrier))));
    }
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
#endif
}

//! A block of a cluster, which has a part of a row. Every warp sends its number to every block (PTX ISA, st.async): so
//! an exchange takes one wait instead of a block's barrier and a cluster's.
struct PartOfRow
{
    PartMemory* memory;
    uint32_t* turn;
    uint32_t rank;
    uint32_t blocks;

    __device__ uint32_t thread() const
    {
        return threadIdx.x;
    }

    __device__ uint32_t threads() const
    {
        return blockDim.x;
    }

    //! Whether it is this thread that writes what there is once a row.
    __device__ bool first() const
    {
        return rank == 0 && threadIdx.x == 0;
    }

    template <typename Operation>
    __device__ float reduce(float value, Operation operation) const
    {
        value = warpReduce(value, operation);
        if (blocks == 1)
        {
            return reduceWarps(value, operation, {memory->numbers[0], turn});
        }
#if defined(PLUGINKIT_KERNELS_CLUSTERS) && defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
        uint32_t const half = *turn & 1U;
        uint32_t const parity = *turn >> 1U & 1U;
        ++*turn;
        uint32_t const warps = blockDim.x / kLanes;
        uint32_t const lane = threadIdx.x % kLanes;
        float* const numbers = memory->numbers[half];
        auto const barrier = static_cast<uint32_t>(__cvta_generic_to_shared(&memory->arrived[half]));
        if (lane < blocks)
        {
            auto const mine =
                static_cast<uint32_t>(__cvta_generic_to_shared(numbers + rank * warps + threadIdx.x / kLanes));
            asm volatile(
                "{ .reg .b32 number, arrived;\n"
                "mapa.shared::cluster.u32 number, %0, %2;\n"
                "mapa.shared::cluster.u32 arrived, %1, %2;\n"
                "st.async.shared::cluster.mbarrier::complete_tx::bytes.b32 [number], %3, [arrived]; }" ::"r"(mine),
                "r"(barrier), "r"(lane), "r"(__float_as_uint(value))
                : "memory");
        }
        if (threadIdx.x == 0)
        {
            asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier),
                         "r"(blocks * warps * static_cast<uint32_t>(sizeof(float)))
                         : "memory");
        }
        uint32_t all = 0;
        while (all == 0)
        {
            asm volatile("{ .reg .pred all;\n"
                         "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 all, [%1], %2;\n"
                         "selp.u32 %0, 1, 0, all; }"
                         : "=r"(all)
                         : "r"(barrier), "r"(parity)
                         : "memory");
        }
        value = Operation::kIdentity;
        for (uint32_t i = lane; i < blocks * warps; i += kLanes)
        {
            value = operation(value, numbers[i]);
        }
        return warpReduce(value, operation);
#else
        return value; // no cluster is started
#endif
    }
};

//! How many chunks a block has of a row, at most.
inline __host__ __device__ int32_t chunksOfPart(int64_t chunks, uint32_t blocks)
{
    return static_cast<int32_t>((chunks + blocks - 1) / blocks);
}

//! The block's part of a row. A chunk's column is the row's.
template <int32_t Size, bool Whole>
__device__ Place<Size, Whole, PartOfRow> partOf(PartOfRow const& group, int64_t row, int64_t rows, int64_t columns)
{
    auto place = placeFor<Size, Whole>(group, row, rows, columns);
    int32_t const each = chunksOfPart(columns / Size, group.blocks);
    int32_t const first = static_cast<int32_t>(group.rank) * each;
    place.first += first;
    place.chunks = max(min(each, static_cast<int32_t>(place.chunks) - first), 0);
    place.edges = place.present && group.rank == 0;
    return place;
}

//! The block's part of a row that all rows share, as numbers in shared memory: in fours, of which number four / 4 of
//! those with the same remainder are neighbours, so that neighbouring threads read neighbouring 16 bytes.
struct PartWeights
{
    float4 const* fours; //!< where the row's first would be
    int32_t apart;       //!< those of one remainder from those of the next
};

inline __device__ void loadOne(PartWeights const& in, Chunk<16, true> const& chunk, float* numbers)
{
#pragma unroll
    for (int32_t q = 0; q < 4; ++q)
    {
        float4 const four = in.fours[q * in.apart + static_cast<int32_t>(chunk.column) / 16];
        numbers[4 * q] = four.x;
        numbers[4 * q + 1] = four.y;
        numbers[4 * q + 2] = four.z;
        numbers[4 * q + 3] = four.w;
    }
}

//! The chunks that a block has of rows that all rows share, and shared memory for those.
struct PartMap
{
    int64_t first;
    int32_t chunks;
    int64_t columns;
    float4* memory;
};

//! What an input is to a block that has parts of rows: itself, unless it is weights of one-byte elements.
template <bool Shared, typename In>
struct PartType
{
    using Type = In;
    static constexpr int32_t kShared = 0;

    __device__ static In of(In const& in, PartMap const& /*part*/)
    {
        return in;
    }

    __device__ static void copy(In const& /*in*/, PartMap const& /*part*/) {}
};

template <typename T>
struct PartType<true, kernels::Row<T>>
{
    using Type = PartWeights;
    static constexpr int32_t kShared = 1;

    __device__ static Type of(kernels::Row<T> const& /*in*/, PartMap const& part)
    {
        return {part.memory - part.first, part.chunks};
    }

    //! By all threads of the block; a barrier must follow.
    __device__ static void copy(kernels::Row<T> const& in, PartMap const& part)
    {
        for (auto i = static_cast<int32_t>(threadIdx.x); i < 4 * part.chunks; i += static_cast<int32_t>(blockDim.x))
        {
            float numbers[4] = {};
            if (16 * part.first + 4 * i < part.columns)
            {
                loadNumbers<4>(in.data, 4 * part.first + i, in.scale, numbers);
            }
            part.memory[(i & 3) * part.chunks + (i >> 2)] = make_float4(numbers[0], numbers[1], numbers[2], numbers[3]);
        }
    }
};

template <bool Shared, typename In>
__device__ PartMap behind(PartMap part)
{
    part.memory += PartType<Shared, In>::kShared * 4 * part.chunks;
    return part;
}

template <bool Shared>
__device__ Inputs<> inParts(Inputs<> const& /*in*/, PartMap const& /*part*/)
{
    return {};
}

template <bool Shared, typename First, typename... Rest>
__device__ auto inParts(Inputs<First, Rest...> const& in, PartMap const& part)
    -> Inputs<typename PartType<Shared, First>::Type, typename PartType<Shared, Rest>::Type...>
{
    return {PartType<Shared, First>::of(in.first, part), inParts<Shared>(in.rest, behind<Shared, First>(part))};
}

template <bool Shared>
__device__ void copyParts(Inputs<> const& /*in*/, PartMap const& /*part*/)
{
}

template <bool Shared, typename First, typename... Rest>
__device__ void copyParts(Inputs<First, Rest...> const& in, PartMap const& part)
{
    PartType<Shared, First>::copy(in.first, part);
    copyParts<Shared>(in.rest, behind<Shared, First>(part));
}

template <bool Shared, typename... In>
constexpr int32_t sharedByParts(Inputs<In...> const* /*in*/)
{
    return (0 + ... + PartType<Shared, In>::kShared);
}

} // namespace detail

//! Each thread has Chunks chunks of a row, and loads those of the cluster's next row while it computes. At least Blocks
//! blocks of Threads threads share a multiprocessor's registers.
template <int32_t Size, bool Whole, int32_t Chunks, int32_t Threads, int32_t Blocks, typename Function, typename Outs,
          typename In>
__global__ void __launch_bounds__(Threads, Blocks)
    clusterRowsKernel(Function const function, int64_t rows, int64_t columns, uint32_t blocks, Outs const outs,
                      In const in)
{
    using Group = detail::PartOfRow;
    constexpr bool kShared = Size == 16 && Whole;
    __shared__ alignas(16) detail::PartMemory exchange;
    extern __shared__ float4 pluginkitSharedRows[];
    uint32_t turn = 0;
    Group const group{&exchange, &turn, blockIdx.x % blocks, blocks};
    int32_t const each = detail::chunksOfPart(columns / Size, blocks);
    detail::PartMap const part{int64_t{group.rank} * each, each, columns, pluginkitSharedRows};
    auto const inputs = detail::inParts<kShared>(in, part);
    using Inputs = std::remove_const_t<decltype(inputs)>;
    int64_t next = blockIdx.x / blocks;
    int64_t const step = gridDim.x / blocks;
    detail::HeldRow<Size, Whole, Chunks, 0, Group, Inputs> row{
        detail::partOf<Size, Whole>(group, next, rows, columns), inputs, {}, {}};
    typename Inputs::template Raw<Size> raw[Chunks] = {};
    typename Inputs::template Raw<1> rawEdge = {};
    row.load(row.place, raw, rawEdge); // under way while weights are copied
    if (threadIdx.x == 0)
    {
        detail::prepareExchange(exchange);
    }
    detail::copyParts<kShared>(in, part);
    __syncthreads();
    if (blocks > 1)
    {
        detail::arriveInCluster();
        detail::waitForCluster();
    }
    while (next < rows)
    {
        row.unpack(raw, rawEdge);
        next += step;
        auto const after = detail::partOf<Size, Whole>(group, next, rows, columns);
        if (next < rows)
        {
            row.load(after, raw, rawEdge);
        }
        detail::callOnRow(function, row, outs);
        row.place = after;
    }
    if (blocks > 1)
    {
        detail::arriveInCluster(); // nobody ends while others still send to it
        detail::waitForCluster();
    }
}

namespace detail
{

//! Starts as many clusters, or blocks that have whole rows, as run at once; false where the GPU can't start one.
template <typename Kernel, typename Work>
bool launchParts(Kernel* kernel, Work const& work, RowPlan const& plan, size_t bytes) noexcept
{
    if (plan.blocks == 1)
    {
        int device = 0;
        int processors = 0;
        int resident = 0;
        if (cudaGetDevice(&device) != cudaSuccess ||
            cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device) != cudaSuccess ||
            cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, kernel, static_cast<int>(plan.block), bytes) !=
                cudaSuccess ||
            resident == 0)
        {
            static_cast<void>(cudaGetLastError()); // the next launch's error isn't this one
            return false;
        }
        auto const blocks = static_cast<uint32_t>(std::min(work.rows, int64_t{resident} * processors));
        kernel<<<blocks, plan.block, bytes, work.stream>>>(work.function, work.rows, work.columns, 1, work.outs,
                                                           work.in);
        return true;
    }
#ifdef PLUGINKIT_KERNELS_CLUSTERS
    cudaLaunchAttribute attribute{};
    attribute.id = cudaLaunchAttributeClusterDimension;
    attribute.val.clusterDim.x = plan.blocks;
    attribute.val.clusterDim.y = 1;
    attribute.val.clusterDim.z = 1;
    cudaLaunchConfig_t config{};
    config.blockDim = dim3{plan.block};
    config.gridDim = dim3{plan.blocks};
    config.dynamicSmemBytes = bytes;
    config.stream = work.stream;
    config.attrs = &attribute;
    config.numAttrs = 1;
    int64_t const clusters = clustersAtOnce(reinterpret_cast<void const*>(kernel), config);
    if (clusters > 0)
    {
        config.gridDim = dim3{static_cast<uint32_t>(std::min(work.rows, clusters)) * plan.blocks};
        // An error is the launch's, which cudaGetLastError tells.
        static_cast<void>(cudaLaunchKernelEx(&config, kernel, work.function, work.rows, work.columns, plan.blocks,
                                             work.outs, work.in));
        return true;
    }
#endif
    return false;
}

template <int32_t Size, bool Whole, typename Work>
bool launchClusterRows(Work const& work, RowPlan const& plan) noexcept
{
    using In = decltype(work.in);
    constexpr RowTypes kTypes = Work::kTypes;
    constexpr int32_t kChunks = clusterChunks(kTypes);
    constexpr int32_t kShared = sharedByParts < Size == 16 && Whole > (static_cast<In*>(nullptr));
    constexpr int32_t kChunkBytes = 16 * static_cast<int32_t>(sizeof(float)); // of weights
    constexpr int32_t kBlocks = Size == 16 && kTypes.wide > 1 ? 3 : 1; // of narrow rows many have to be under way
    auto* const kernel = clusterRowsKernel<Size, Whole, kChunks, static_cast<int32_t>(clusterThreads(kTypes)), kBlocks,
                                           decltype(work.function), decltype(work.outs), In>;
    // What the widest parts of this kernel take, whatever these take: it is the kernel's, and another thread's launch
    // of other rows may come between this and the launch.
    constexpr int32_t kMost = kShared * kChunkBytes * kChunks * static_cast<int32_t>(clusterThreads(kTypes));
    if (kMost > 0 && cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kMost) != cudaSuccess)
    {
        static_cast<void>(cudaGetLastError());
        return false;
    }
    auto const bytes = static_cast<size_t>(kShared * kChunkBytes * chunksOfPart(work.columns / Size, plan.blocks));
    return launchParts(kernel, work, plan, bytes);
}

} // namespace detail

} // namespace pluginkit::kernels
