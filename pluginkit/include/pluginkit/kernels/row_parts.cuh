//! Parts of long rows of one-byte elements, for part_rows.cuh: which of a row's chunks a block of a cluster has, what
//! blocks exchange numbers by, and weights in a block's shared memory.
#pragma once

#include <pluginkit/kernels/row_kernels.cuh>

#include <cstdint>

// Stores into another block's memory that are counted there: CUDA 12.1, compute capability 9.0.
#if defined(PLUGINKIT_KERNELS_CLUSTERS) && CUDART_VERSION >= 12010
#define PLUGINKIT_KERNELS_PARTS 1
#endif

namespace pluginkit::kernels
{

namespace detail
{

constexpr uint32_t kMostParts = 8; //!< what every GPU of compute capability 9.0 can start together

//! What the blocks of a cluster exchange numbers by, of each block: two turns, each with a number of each warp of the
//! cluster and an mbarrier that counts their bytes. A warp sends the numbers of a turn when it has read those of the
//! one before, and has them all when every warp has sent its own: so nobody still reads a turn's numbers that is
//! written to again.
struct PartMemory
{
    float numbers[2][kMostParts * kWarps];
    uint64_t arrived[2];
};

//! Once, by a thread, before the blocks of a cluster meet.
inline __device__ void prepareExchange([[maybe_unused]] PartMemory& memory)
{
#if defined(PLUGINKIT_KERNELS_PARTS) && defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
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

    template <typename Operation>
    __device__ float reduce(float value, Operation operation) const
    {
#if defined(PLUGINKIT_KERNELS_PARTS) && defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
        value = warpReduce(value, operation);
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
        return reduceBlock<kWarps>(value, operation, {memory->numbers[0], turn});
#endif
    }
};

//! How many chunks a block has of a row, at most.
template <bool Whole>
__host__ __device__ int32_t chunksOfPart(int64_t columns, uint32_t blocks)
{
    return static_cast<int32_t>((chunksOf<16, Whole>(columns) + blocks - 1) / blocks);
}

//! The block's part of a row. A chunk's column is the row's.
template <bool Whole>
__device__ Place<16, Whole, PartOfRow> partOf(PartOfRow const& group, int64_t row, int64_t rows, int64_t columns)
{
    auto whole = placeOfRow<16, Whole>(row, rows, columns);
    int32_t const each = chunksOfPart<Whole>(columns, group.blocks);
    int32_t const first = static_cast<int32_t>(group.rank) * each;
    whole.first += first;
    whole.skipped -= 16 * first;
    whole.chunks = max(min(each, static_cast<int32_t>(whole.chunks) - first), 0);
    return {whole, group};
}

//! One number for the row, by one of its blocks.
template <bool Whole, typename T>
__device__ void setOne(Place<16, Whole, PartOfRow> const& place, RowOutput<T> const& out, float number)
{
    if (place.group.rank == 0 && place.chunks > 0 && threadIdx.x == 0)
    {
        toElement(out.data[place.row], number, out.inverse);
    }
}

//! The block's part of a row that all rows share, as numbers in shared memory: in fours, of which number four / 4 of
//! those with the same remainder are neighbours, so that neighbouring threads read neighbouring 16 bytes.
struct PartWeights
{
    float4 const* fours; //!< where the row's first would be
    int32_t apart;       //!< those of one remainder from those of the next

    __device__ float4 at(int32_t four) const
    {
        return fours[(four & 3) * apart + (four >> 2)];
    }
};

template <int32_t Size, bool Whole>
__device__ void loadOne(PartWeights const& in, Chunk<Size, Whole> const& chunk, float* numbers)
{
    auto const first = static_cast<int32_t>(chunk.column) / 4; // rows that aren't made of chunks are made of fours
#pragma unroll
    for (int32_t q = 0; q < Size / 4; ++q)
    {
        float4 const four = Whole ? in.fours[q * in.apart + first / 4] : in.at(first + q);
        numbers[4 * q] = four.x;
        numbers[4 * q + 1] = four.y;
        numbers[4 * q + 2] = four.z;
        numbers[4 * q + 3] = four.w;
    }
}

//! What an input is to a block that has parts of rows.
template <typename In>
struct PartType
{
    using Type = In;
    static constexpr int32_t kShared = 0;

    __device__ static In of(In const& in, float4 const* /*fours*/, int32_t /*apart*/)
    {
        return in;
    }
};

template <typename T>
struct PartType<kernels::Row<T>>
{
    using Type = PartWeights;
    static constexpr int32_t kShared = 1;

    __device__ static Type of(kernels::Row<T> const& /*in*/, float4 const* fours, int32_t apart)
    {
        return {fours, apart};
    }
};

//! Which fours of a shared row a block keeps: those of its part, and where a row may begin within a chunk, of the chunk
//! before.
template <bool Whole>
struct SharedPart
{
    int32_t first; //!< four
    int32_t apart;

    __device__ SharedPart(PartOfRow const& group, int64_t columns)
        : first(4 * (static_cast<int32_t>(group.rank) * chunksOfPart<Whole>(columns, group.blocks) - (Whole ? 0 : 1))),
          apart(chunksOf(columns, group.blocks))
    {
    }

    __host__ __device__ static int32_t chunksOf(int64_t columns, uint32_t blocks)
    {
        return chunksOfPart<Whole>(columns, blocks) + (Whole ? 0 : 1);
    }

    //! By all threads of the block. What is not the row's is zeros.
    template <typename T>
    __device__ void copy(kernels::Row<T> const& in, int64_t columns, float4* memory) const
    {
        for (auto i = static_cast<int32_t>(threadIdx.x); i < 4 * apart; i += static_cast<int32_t>(blockDim.x))
        {
            int32_t const four = first + i;
            float numbers[4] = {};
            if (four >= 0 && 4 * four < columns)
            {
                loadNumbers<4>(in.data, four, in.scale, numbers);
            }
            memory[(i & 3) * apart + (i >> 2)] = make_float4(numbers[0], numbers[1], numbers[2], numbers[3]);
        }
    }
};

template <bool Whole>
__device__ Inputs<> inParts(Inputs<> const& /*in*/, SharedPart<Whole> const& /*part*/, float4 const* /*memory*/)
{
    return {};
}

template <bool Whole, typename First, typename... Rest>
__device__ auto inParts(Inputs<First, Rest...> const& in, SharedPart<Whole> const& part, float4 const* memory)
    -> Inputs<typename PartType<First>::Type, typename PartType<Rest>::Type...>
{
    return {PartType<First>::of(in.first, memory - part.first / 4, part.apart),
            inParts(in.rest, part, memory + PartType<First>::kShared * 4 * part.apart)};
}

template <bool Whole>
__device__ void copyParts(Inputs<> const& /*in*/, SharedPart<Whole> const& /*part*/, int64_t /*columns*/,
                          float4* /*memory*/)
{
}

template <bool Whole, typename First, typename... Rest>
__device__ void copyParts(Inputs<First, Rest...> const& in, SharedPart<Whole> const& part, int64_t columns,
                          float4* memory)
{
    if constexpr (PartType<First>::kShared > 0)
    {
        part.copy(in.first, columns, memory);
    }
    copyParts(in.rest, part, columns, memory + PartType<First>::kShared * 4 * part.apart);
}

template <typename... In>
constexpr int32_t sharedByParts(Inputs<In...> const* /*in*/)
{
    return (0 + ... + PartType<In>::kShared);
}

} // namespace detail

} // namespace pluginkit::kernels
