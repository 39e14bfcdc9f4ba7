//! Functions of long rows of one-byte elements: a block has a row in shared memory, as it is, and converts it in each
//! step; for normalize.cuh. Registers would hold four bytes for each of its elements.
#pragma once

#include <pluginkit/kernels/staged_rows.cuh>

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace pluginkit::kernels
{

namespace detail
{

constexpr uint32_t kKeptThreads = 512; //!< of one that has a long row
constexpr uint32_t kKeptBlocks = 3;    //!< of those, that a multiprocessor has at once
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
constexpr uint32_t kKeptBound = 1; // it has too few threads, and is never asked for them
#else
constexpr uint32_t kKeptBound = kKeptBlocks;
#endif

constexpr int kMostKept = 75776; //!< bytes of it: a third of what an H100's multiprocessor has, less 2 KiB

//! A row of a matrix in shared memory, of whole chunks.
template <typename T>
struct KeptInput
{
    T const* data;
    float scale;
};

template <int32_t Size, typename T>
__device__ void loadOne(KeptInput<T> const& in, Chunk<Size, true> const& chunk, float* numbers)
{
    loadNumbers<Size>(in.data, static_cast<int32_t>(chunk.column) / Size, in.scale, numbers);
}

//! A matrix's row, copied by all threads of a block, each of which later reads what it has copied itself.
template <typename T, typename Place>
__device__ KeptInput<T> kept(Input<T> const& in, Place const& place, uint4* memory)
{
    constexpr int32_t kAtOnce = 8; // loads under way
    auto const* const row = reinterpret_cast<uint4 const*>(in.data) + place.first;
    auto const chunks = static_cast<uint32_t>(place.chunks);
    for (uint32_t begin = threadIdx.x; begin < chunks; begin += kAtOnce * kKeptThreads)
    {
        uint4 packs[kAtOnce] = {};
#pragma unroll
        for (uint32_t k = 0; k < kAtOnce; ++k)
        {
            if (begin + k * kKeptThreads < chunks)
            {
                packs[k] = row[begin + k * kKeptThreads];
            }
        }
#pragma unroll
        for (uint32_t k = 0; k < kAtOnce; ++k)
        {
            if (begin + k * kKeptThreads < chunks)
            {
                memory[begin + k * kKeptThreads] = packs[k];
            }
        }
    }
    return {reinterpret_cast<T const*>(memory), in.scale};
}

template <typename Tensor, typename Place>
__device__ Tensor kept(Tensor const& in, Place const& /*place*/, uint4* /*memory*/)
{
    return in;
}

template <typename Tensor>
struct KeptType
{
    using Type = Tensor;
};

template <typename T>
struct KeptType<Input<T>>
{
    using Type = KeptInput<T>;
};

template <typename Place>
__device__ Inputs<> keptAll(Inputs<> const& /*in*/, Place const& /*place*/, uint4* /*memory*/)
{
    return {};
}

template <typename First, typename... Rest, typename Place>
__device__ auto keptAll(Inputs<First, Rest...> const& in, Place const& place, uint4* memory)
    -> Inputs<typename KeptType<First>::Type, typename KeptType<Rest>::Type...>
{
    return {kept(in.first, place, memory),
            keptAll(in.rest, place, Staging<First>::kStaged ? memory + place.chunks : memory)};
}

} // namespace detail

//! A block has a row, which it keeps in shared memory.
template <typename Function, typename Outs, typename In>
__global__ void __launch_bounds__(detail::kKeptThreads, detail::kKeptBound)
    keptRowsKernel(Function const function, int64_t rows, int64_t columns, Outs const outs, In const in)
{
    using Group = detail::WholeBlock<detail::kKeptThreads / kLanes>;
    __shared__ alignas(16) float scratch[detail::kTurns * kWarps];
    extern __shared__ uint4 pluginkitStaged[];
    uint32_t turn = 0;
    Group const group{{scratch, &turn}};
    auto const place = detail::placeOf<16, true>(group, group.row(), rows, columns);
    auto const inputs = detail::keptAll(in, place, pluginkitStaged);
    detail::callOnRow(function,
                      detail::StreamedRow<16, true, Group, std::remove_const_t<decltype(inputs)>>{place, inputs}, outs);
}

namespace detail
{

//! False for rows that a block's registers hold, for those of which a multiprocessor's shared memory doesn't hold
//! enough at once, and where there are weights of wide elements, for which loads from the L1 cache would be the limit.
template <int32_t Size, typename Work>
bool launchKeptRows([[maybe_unused]] Work const& work) noexcept
{
    using In = decltype(work.in);
    if constexpr (Size == 16 && canStage(static_cast<In*>(nullptr)) && !In::kWide && In::kMatrices > 0)
    {
        constexpr int32_t kMatrices = In::kMatrices;
        constexpr int64_t kInRegisters = (kMatrices > 1 ? 2 : 4) * int64_t{512} * Size;
        if (work.columns % Size != 0 || work.columns <= kInRegisters || kMatrices * work.columns > kMostKept)
        {
            return false;
        }
        auto* const kernel = keptRowsKernel<decltype(work.function), decltype(work.outs), decltype(work.in)>;
        auto const bytes = static_cast<int>(kMatrices * work.columns);
        int blocks = 0;
        if (cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kMostKept) != cudaSuccess ||
            cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, kKeptThreads, static_cast<size_t>(bytes)) !=
                cudaSuccess)
        {
            static_cast<void>(cudaGetLastError()); // the next launch's error isn't this one
            return false;
        }
        if (blocks < static_cast<int>(kKeptBlocks))
        {
            return false;
        }
        kernel<<<static_cast<uint32_t>(work.rows), kKeptThreads, static_cast<size_t>(bytes), work.stream>>>(
            work.function, work.rows, work.columns, work.outs, work.in);
        return true;
    }
    return false;
}

} // namespace detail

} // namespace pluginkit::kernels
