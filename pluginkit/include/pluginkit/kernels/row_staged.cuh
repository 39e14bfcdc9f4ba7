//! Rows by way of shared memory: a block copies neighbouring rows, one piece of memory wherever they begin, by 16
//! bytes; for normalize.cuh.
#pragma once

#include <pluginkit/kernels/row_kernels.cuh>
#include <pluginkit/kernels/row_policy.cuh>

#include <cstddef>
#include <cstdint>

namespace pluginkit::kernels
{

namespace detail
{

//! 16 bytes from global into shared memory, without registers on the way; `waitForTiles` must follow.
inline __device__ void startTileCopy(uint4* to, uint4 const* from)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    auto const address = static_cast<uint32_t>(__cvta_generic_to_shared(to));
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(address), "l"(from) : "memory");
#else
    *to = *from;
#endif
}

//! Waits until all of the block's copies are there.
inline __device__ void waitForTiles()
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_all;" ::: "memory");
#endif
    __syncthreads();
}

//! Neighbouring elements of matrices of `all` elements, from number `begin` on, at least one.
struct RowTile
{
    int64_t begin;
    int32_t count;
    int64_t all;
    int32_t most; //!< elements that the shared memory of each matrix is for

    //! Bytes of shared memory: packs, of which the first and the last may be another tile's, too.
    __device__ int32_t bytes(int32_t size) const
    {
        constexpr auto kBytes = static_cast<int32_t>(kPackBytes);
        return (most * size / kBytes + 2) * kBytes;
    }

    //! Where the first element is in it.
    __device__ int32_t offset(int32_t size) const
    {
        return static_cast<int32_t>(begin * size % kPackBytes);
    }

    template <typename T>
    __device__ void load(T const* tensor, char* memory) const
    {
        int64_t const first = begin * static_cast<int64_t>(sizeof(T)) / kPackBytes;
        int64_t const end = all * static_cast<int64_t>(sizeof(T));
        auto const* const bytes = reinterpret_cast<char const*>(tensor);
        int32_t const packs = packsOf(sizeof(T));
        for (auto p = static_cast<int32_t>(threadIdx.x); p < packs; p += static_cast<int32_t>(blockDim.x))
        {
            int64_t const at = (first + p) * kPackBytes;
            if (at + kPackBytes <= end)
            {
                startTileCopy(reinterpret_cast<uint4*>(memory) + p, reinterpret_cast<uint4 const*>(tensor) + first + p);
                continue;
            }
            for (int64_t i = at; i < end; ++i) // behind the tensor's last whole pack
            {
                memory[i - first * kPackBytes] = bytes[i];
            }
        }
    }

    //! Copies the elements back, no others.
    template <typename T>
    __device__ void store(T* tensor, char const* memory) const
    {
        constexpr auto kBytes = static_cast<int32_t>(kPackBytes);
        constexpr auto kSize = static_cast<int32_t>(sizeof(T));
        int64_t const first = begin * kSize / kPackBytes;
        int32_t const from = offset(kSize);
        int32_t const to = from + count * kSize;
        int32_t const packs = packsOf(kSize);
        for (auto p = static_cast<int32_t>(threadIdx.x); p < packs; p += static_cast<int32_t>(blockDim.x))
        {
            if (p * kBytes >= from && (p + 1) * kBytes <= to)
            {
                reinterpret_cast<uint4*>(tensor)[first + p] = reinterpret_cast<uint4 const*>(memory)[p];
            }
        }
        // A thread an element of the two packs that are other tiles', too.
        auto const thread = static_cast<int32_t>(threadIdx.x);
        int32_t const p = thread < kBytes ? 0 : packs - 1;
        int32_t const at = p * kBytes + thread % kBytes / kSize * kSize;
        bool const whole = p * kBytes >= from && (p + 1) * kBytes <= to;
        bool const mine = thread < (packs > 1 ? 2 : 1) * kBytes && thread % kSize == 0;
        if (mine && !whole && at >= from && at < to)
        {
            *reinterpret_cast<T*>(reinterpret_cast<char*>(tensor) + first * kPackBytes + at) =
                *reinterpret_cast<T const*>(memory + at);
        }
    }

private:
    __device__ int32_t packsOf(int32_t size) const
    {
        constexpr auto kBytes = static_cast<int32_t>(kPackBytes);
        return (offset(size) + count * size + kBytes - 1) / kBytes;
    }
};

//! Bytes that an element has in tiles, and the tensor there: itself where it isn't a matrix.
template <typename Tensor>
constexpr int32_t kRowTileBytesOf = 0;

template <typename T>
constexpr int32_t kRowTileBytesOf<Input<T>> = sizeof(T);

template <typename T>
constexpr int32_t kRowTileBytesOf<Output<T>> = sizeof(T);

//! The tensor in shared memory, of which `memory` is the rest from then on.
template <typename Tensor>
__device__ Tensor onRowTile(Tensor tensor, RowTile const& tile, char*& memory)
{
    constexpr int32_t kSize = kRowTileBytesOf<Tensor>;
    if constexpr (kSize > 0)
    {
        tensor.data = reinterpret_cast<decltype(tensor.data)>(memory + tile.offset(kSize));
        memory += tile.bytes(kSize);
    }
    return tensor;
}

//! The tensor from another element on, where it is a matrix in shared memory.
template <typename Tensor>
__device__ Tensor movedBy(Tensor tensor, int32_t elements)
{
    if constexpr (kRowTileBytesOf<Tensor> > 0)
    {
        tensor.data += elements;
    }
    return tensor;
}

inline __device__ Inputs<> loadRowTiles(Inputs<> const& /*in*/, RowTile const& /*tile*/, char*& /*memory*/)
{
    return {};
}

template <typename First, typename... Rest>
__device__ Inputs<First, Rest...> loadRowTiles(Inputs<First, Rest...> const& in, RowTile const& tile, char*& memory)
{
    if constexpr (kRowTileBytesOf<First> > 0)
    {
        tile.load(in.first.data, memory);
    }
    First const first = onRowTile(in.first, tile, memory);
    return {first, loadRowTiles(in.rest, tile, memory)};
}

template <typename First, typename... Rest>
__device__ Outputs<First, Rest...> outputRowTiles(Outputs<First, Rest...> const& outs, RowTile const& tile,
                                                  char*& memory)
{
    First const first = onRowTile(outs.first, tile, memory);
    if constexpr (sizeof...(Rest) > 0)
    {
        return {first, outputRowTiles(outs.rest, tile, memory)};
    }
    else
    {
        return {first};
    }
}

template <typename First, typename... Rest>
__device__ void storeRowTiles(Outputs<First, Rest...> const& outs, RowTile const& tile, char const* memory)
{
    if constexpr (kRowTileBytesOf<First> > 0)
    {
        tile.store(outs.first.data, memory);
        memory += tile.bytes(kRowTileBytesOf<First>);
    }
    if constexpr (sizeof...(Rest) > 0)
    {
        storeRowTiles(outs.rest, tile, memory);
    }
}

inline __device__ Inputs<> allMovedBy(Inputs<> const& /*in*/, int32_t /*elements*/)
{
    return {};
}

template <typename First, typename... Rest>
__device__ Inputs<First, Rest...> allMovedBy(Inputs<First, Rest...> const& in, int32_t elements)
{
    return {movedBy(in.first, elements), allMovedBy(in.rest, elements)};
}

template <typename First, typename... Rest>
__device__ Outputs<First, Rest...> allMovedBy(Outputs<First, Rest...> const& outs, int32_t elements)
{
    if constexpr (sizeof...(Rest) > 0)
    {
        return {movedBy(outs.first, elements), allMovedBy(outs.rest, elements)};
    }
    else
    {
        return {movedBy(outs.first, elements)};
    }
}

} // namespace detail

//! A block has a tile of `inTile` rows, and `lanes` threads a row of it, of which each has Each elements or up to two
//! less.
template <int32_t Each, int32_t Threads, typename Function, typename Outs, typename In>
__global__ void __launch_bounds__(Threads, detail::heldBlocks(Threads, In::kMatrices > 1 ? 1 : 5))
    stagedRowsKernel(bool early, Function const function, int64_t rows, int32_t columns, uint32_t lanes, int32_t inTile,
                     Outs const outs, In const in)
{
    using Group = detail::RowGroup;
    __shared__ alignas(16) float scratch[detail::kTurns * kWarps];
    extern __shared__ uint4 pluginkitStaged[];
    uint32_t turn = 0;
    Group const group{{scratch, &turn}, lanes};
    int64_t const first = int64_t{blockIdx.x} * inTile;
    auto const some = static_cast<int32_t>(rows - first < inTile ? rows - first : inTile);
    detail::RowTile const tile{first * columns, some * columns, rows * columns, inTile * columns};
    auto* memory = reinterpret_cast<char*>(pluginkitStaged);
    detail::waitForStream(early);
    In const inputs = detail::loadRowTiles(in, tile, memory);
    char* const results = memory;
    Outs const outputs = detail::outputRowTiles(outs, tile, memory);
    detail::waitForTiles();
    auto const atOnce = static_cast<int32_t>(group.groups());
    auto const number = static_cast<int32_t>(group.number());
    for (int32_t base = 0; base < some; base += atOnce)
    {
        int32_t const mine = base + number;
        bool const present = mine < some;
        int32_t const begin = present ? mine * columns : 0;
        detail::Place<1, true, Group> const place{first + mine,          columns, 0,     0,
                                                  present ? columns : 0, present, false, group};
        detail::HeldRow<1, true, Each, Each - 2, Group, In> row{place, detail::allMovedBy(inputs, begin), {}, {}};
        typename In::template Raw<1> raw[Each] = {};
        row.load(place, raw, raw[0]);
        row.unpack(raw, raw[0]);
        detail::callOnRow(function, row, detail::allMovedBy(outputs, begin));
    }
    __syncthreads();
    detail::storeRowTiles(outs, tile, results);
}

namespace detail
{

template <int32_t Each, typename Work>
void launchStagedRowsOf(Work const& work, RowPlan const& plan) noexcept
{
    constexpr int32_t kThreads = kThreadsOf<static_cast<int32_t>(kRowTileThreads), typename Work::Values>;
    auto const blocks = static_cast<uint32_t>((work.rows + plan.rows - 1) / plan.rows);
    auto const bytes = static_cast<size_t>(rowTileBytes(Work::kTypes, plan, work.columns));
    launchEarlyIfFew(stagedRowsKernel<Each, kThreads, decltype(work.function), decltype(work.outs), decltype(work.in)>,
                     blocks, {plan.block, bytes}, work.stream, work.function, work.rows,
                     static_cast<int32_t>(work.columns), plan.threads, plan.rows, work.outs, work.in);
}

template <typename Work>
void launchStagedRows(Work const& work, RowPlan const& plan) noexcept
{
    plan.chunks <= 10   ? launchStagedRowsOf<10>(work, plan)
    : plan.chunks <= 12 ? launchStagedRowsOf<12>(work, plan)
    : plan.chunks <= 14 ? launchStagedRowsOf<14>(work, plan)
                        : launchStagedRowsOf<16>(work, plan);
}

} // namespace detail

} // namespace pluginkit::kernels
