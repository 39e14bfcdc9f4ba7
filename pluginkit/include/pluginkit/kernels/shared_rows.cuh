//! Functions of INT8 rows with several rows of weights that all rows share, as a norm's with a bias; for normalize.cuh.
//! A block has many rows, one after another, and keeps the weights in its shared memory: read from there in 16 bytes a
//! thread side by side, and converted once. With chunks of 16 elements the L1 cache would be the limit.
#pragma once

#include <pluginkit/kernels/row_kernels.cuh>

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace pluginkit::kernels
{

namespace detail
{

//! A row that all rows share, as numbers in shared memory: number 4 * q + j of chunk c is at (q * chunks + c) * 4 + j,
//! so that neighbouring threads read neighbouring 16 bytes.
struct SharedRow
{
    float const* numbers;
    int32_t chunks; //!< of a row
};

template <int32_t Size>
__device__ void loadOne(SharedRow const& in, Chunk<Size, true> const& chunk, float* numbers)
{
    static_assert(Size % 4 == 0, "chunks are made of 16 bytes of numbers");
    auto const at = static_cast<int32_t>(chunk.column) / Size;
#pragma unroll
    for (int32_t q = 0; q < Size / 4; ++q)
    {
        auto const four = reinterpret_cast<float4 const*>(in.numbers)[q * in.chunks + at];
        numbers[4 * q] = four.x;
        numbers[4 * q + 1] = four.y;
        numbers[4 * q + 2] = four.z;
        numbers[4 * q + 3] = four.w;
    }
}

//! What an input is to a block that keeps shared rows: itself.
template <typename In>
struct Sharing
{
    using Type = In;
    static constexpr int32_t kRows = 0; //!< in shared memory

    __device__ static In of(In const& in, float const* /*memory*/, int32_t /*chunks*/)
    {
        return in;
    }

    template <int32_t Size, int32_t Chunks>
    __device__ static void copy(In const& /*in*/, float* /*memory*/, int32_t /*chunks*/)
    {
    }
};

template <typename T>
struct Sharing<kernels::Row<T>>
{
    using Type = SharedRow;
    static constexpr int32_t kRows = 1;

    __device__ static SharedRow of(kernels::Row<T> const& /*in*/, float const* memory, int32_t chunks)
    {
        return {memory, chunks};
    }

    //! By all threads of the block, Chunks chunks each.
    template <int32_t Size, int32_t Chunks>
    __device__ static void copy(kernels::Row<T> const& in, float* memory, int32_t chunks)
    {
#pragma unroll
        for (int32_t k = 0; k < Chunks; ++k)
        {
            auto const c = static_cast<int32_t>(threadIdx.x + static_cast<uint32_t>(k) * blockDim.x);
            float numbers[Size];
            loadNumbers<Size>(in.data, c, in.scale, numbers);
#pragma unroll
            for (int32_t q = 0; q < Size / 4; ++q)
            {
                reinterpret_cast<float4*>(memory)[q * chunks + c] =
                    make_float4(numbers[4 * q], numbers[4 * q + 1], numbers[4 * q + 2], numbers[4 * q + 3]);
            }
        }
    }
};

//! The inputs, with the shared rows in memory, one after another.
template <int32_t Size>
__device__ Inputs<> shared(Inputs<> const& /*in*/, float const* /*memory*/, int32_t /*chunks*/)
{
    return {};
}

template <int32_t Size, typename First, typename... Rest>
__device__ auto shared(Inputs<First, Rest...> const& in, float const* memory, int32_t chunks)
    -> Inputs<typename Sharing<First>::Type, typename Sharing<Rest>::Type...>
{
    return {Sharing<First>::of(in.first, memory, chunks),
            shared<Size>(in.rest, memory + Sharing<First>::kRows * Size * chunks, chunks)};
}

template <int32_t Size, int32_t Chunks>
__device__ void copyShared(Inputs<> const& /*in*/, float* /*memory*/, int32_t /*chunks*/)
{
}

template <int32_t Size, int32_t Chunks, typename First, typename... Rest>
__device__ void copyShared(Inputs<First, Rest...> const& in, float* memory, int32_t chunks)
{
    Sharing<First>::template copy<Size, Chunks>(in.first, memory, chunks);
    copyShared<Size, Chunks>(in.rest, memory + Sharing<First>::kRows * Size * chunks, chunks);
}

template <typename... In>
constexpr int32_t sharedRowsOf(Inputs<In...> const* /*in*/)
{
    return (0 + ... + Sharing<In>::kRows);
}

} // namespace detail

//! Each thread has Chunks chunks of a row, and loads those of the block's next row while it computes. At least Blocks
//! blocks of Threads threads share a multiprocessor's registers.
template <int32_t Size, int32_t Chunks, uint32_t Threads, uint32_t Blocks, typename Function, typename Outs,
          typename In>
__global__ void __launch_bounds__(Threads, Blocks)
    sharedRowsKernel(Function const function, int64_t rows, int64_t columns, Outs const outs, In const in)
{
    using Group = detail::WholeBlock<Threads / kLanes>;
    __shared__ alignas(16) float scratch[detail::kTurns * kWarps];
    extern __shared__ float4 pluginkitSharedRows[];
    auto* const memory = reinterpret_cast<float*>(pluginkitSharedRows);
    auto const chunks = static_cast<int32_t>(columns / Size);
    auto const inputs = detail::shared<Size>(in, memory, chunks);
    using Inputs = std::remove_const_t<decltype(inputs)>;
    uint32_t turn = 0;
    Group const group{{scratch, &turn}};
    int64_t next = group.row();
    detail::HeldRow<Size, true, Chunks, true, Group, Inputs> row{
        detail::placeOf<Size, true>(group, next, rows, columns), inputs, {}};
    typename Inputs::template Raw<Size> raw[Chunks] = {};
    row.load(row.place, raw); // under way while the shared rows are copied
    detail::copyShared<Size, Chunks>(in, memory, chunks);
    __syncthreads();
    while (next < rows)
    {
        row.unpack(raw);
        next += gridDim.x;
        auto const after = detail::placeOf<Size, true>(group, next, rows, columns);
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

constexpr int32_t kSharedChunks = 2; //!< of a thread, of 16 elements

//! With blocks of at most Most threads; as many of them as fill a GPU. False where those can't be had, or rows are too
//! few for what a block does before its first one.
template <uint32_t Most, typename Work>
bool launchSharedRowsOf(Work const& work, uint32_t threads, size_t bytes) noexcept
{
    constexpr uint32_t kResident = 768; // threads of a multiprocessor: more were slower on an H100, and fewer
    constexpr int kEnough = 512;        // the same: with fewer an H100 gained nothing
    constexpr int64_t kLeastRows = 8;   // of a block
    auto* const kernel = sharedRowsKernel<16, kSharedChunks, Most, kResident / Most, decltype(work.function),
                                          decltype(work.outs), decltype(work.in)>;
    // What the widest rows of this kernel take, whatever these take: it is the kernel's, and another thread's launch of
    // other rows may come between this and the launch.
    auto const most = static_cast<int>(bytes / threads * Most);
    int device = 0;
    int processors = 0;
    int blocks = 0;
    if (cudaGetDevice(&device) != cudaSuccess ||
        cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device) != cudaSuccess)
    {
        static_cast<void>(cudaGetLastError()); // the next launch's error isn't this one
        return false;
    }
    if (work.rows < kLeastRows * processors)
    {
        return false;
    }
    if (cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, most) != cudaSuccess ||
        cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, static_cast<int>(threads), bytes) != cudaSuccess)
    {
        static_cast<void>(cudaGetLastError());
        return false;
    }
    if (blocks * static_cast<int>(threads) < kEnough || work.rows < kLeastRows * processors * blocks)
    {
        return false;
    }
    kernel<<<static_cast<uint32_t>(processors * blocks), threads, bytes, work.stream>>>(
        work.function, work.rows, work.columns, work.outs, work.in);
    return true;
}

//! False where rows are launched as others are.
template <int32_t Size, typename Work>
bool launchSharedRows([[maybe_unused]] Work const& work) noexcept
{
    constexpr int32_t kShared = sharedRowsOf(static_cast<decltype(work.in)*>(nullptr));
    if constexpr (Size == 16 && kShared > 1)
    {
        constexpr int64_t kOfThread = int64_t{kSharedChunks} * Size;
        int64_t const threads = work.columns / kOfThread;
        auto const bytes = static_cast<size_t>(work.columns * kShared) * sizeof(float);
        if (work.columns % (kOfThread * kLanes) == 0 && threads >= 2 * kLanes && threads <= 256)
        {
            return threads <= 128 ? launchSharedRowsOf<128>(work, static_cast<uint32_t>(threads), bytes)
                                  : launchSharedRowsOf<256>(work, static_cast<uint32_t>(threads), bytes);
        }
    }
    return false;
}

} // namespace detail

} // namespace pluginkit::kernels
