//! Running sums and the like along each row of a matrix, at the speed of the memory: element i of a row's result is the
//! operation over elements 0 to i.
//!
//!     kernels::launchScan(stream, rows, columns, kernels::Sum{}, kernels::output<__half>(y),
//!     kernels::input<__half>(x));
//!
//! A block has a row. Where there are few rows and they are long, blocks share them if they are given a workspace.
#pragma once

#include <pluginkit/kernels/launch.cuh>
#include <pluginkit/kernels/long_scan.cuh>
#include <pluginkit/kernels/packed_scan.cuh>
#include <pluginkit/kernels/scan_pieces.cuh>
#include <pluginkit/kernels/staged_scan.cuh>
#include <pluginkit/kernels/tensors.cuh>
#include <pluginkit/kernels/tuning.cuh>
#include <pluginkit/kernels/word_scan.cuh>

#include <algorithm>
#include <cstdint>

namespace pluginkit::kernels
{

namespace detail
{

constexpr int64_t kManyRows = 1024;                 //!< enough for all multiprocessors, a block each
constexpr int64_t kLongColumns = 32768;             //!< of rows that are worth to be shared
constexpr int64_t kMostColumns = int64_t{1} << 31U; //!< of rows that can be

//! Whether several blocks have a row.
inline bool sharesRows(int64_t rows, int64_t columns) noexcept
{
    return rows < kManyRows && columns >= kLongColumns && columns <= kMostColumns;
}

constexpr int32_t kMostScanThreads = 512; //!< of a block

//! A group scans its row in turns of a chunk a thread: what the turns before gave is carried on.
template <int32_t Size, bool Whole, uint32_t Lanes, bool Block, typename Operation, typename Out, typename In>
__global__ void __launch_bounds__(kMostScanThreads)
    scanKernel(bool early, int64_t rows, int64_t columns, Operation const operation, Output<Out> const out,
               Input<In> const in)
{
    __shared__ float scratch[kWarps];
    uint32_t const threads = Block ? blockDim.x : Lanes;
    uint32_t const thread = Block ? threadIdx.x : threadIdx.x % Lanes;
    int64_t const row =
        Block ? blockIdx.x : static_cast<int64_t>(blockIdx.x) * (blockDim.x / Lanes) + threadIdx.x / Lanes;
    auto const place = placeOfRow<Size, Whole>(row, rows, columns);
    int64_t const most = chunksOf<Size, Whole>(columns);
    waitForStream(early);
    float carried = Operation::kIdentity;
    // Every thread takes as many turns as each other row's could, or it would miss exchanges of its warp.
    for (int64_t begin = 0; begin < most; begin += threads)
    {
        float numbers[Size];
        loadForScan(in, place, begin + thread, operation, numbers);
        scanChunk(operation, numbers);
        float total = 0.0F;
        float before = 0.0F;
        if constexpr (Block)
        {
            before = blockScan(numbers[Size - 1], operation, scratch, total);
        }
        else
        {
            before = warpScan<Lanes>(numbers[Size - 1], operation, total);
        }
        before = operation(carried, before);
        carried = operation(carried, total);
        storeScanned(out, place, begin + thread, operation, before, numbers);
    }
}

//! A block scans a row of which each thread has Chunks chunks, and a warp neighbouring ones.
template <int32_t Size, int32_t Chunks, typename Operation, typename Out, typename In>
__global__ void __launch_bounds__(kMostScanThreads)
    fullScanKernel(bool early, Operation const operation, Output<Out> const out, Input<In> const in)
{
    static_assert(kMostScanThreads <= kMostTotals * kLanes, "a total of each warp");
    __shared__ alignas(16) float totals[kMostTotals];
    uint32_t const lane = threadIdx.x % kLanes;
    uint32_t const warp = threadIdx.x / kLanes;
    uint32_t const warps = blockDim.x / kLanes;
    int64_t const first = (int64_t{blockIdx.x} * warps + warp) * Chunks * kLanes + lane;
    float numbers[Chunks][Size];
    Elements<Size, In> raw[Chunks];
    waitForStream(early);
#pragma unroll
    for (int32_t k = 0; k < Chunks; ++k)
    {
        raw[k].load(in, Chunk<Size, true>{first + k * int64_t{kLanes}, 0, Size});
    }
    float before[Chunks] = {}; // in the warp
    float carried = Operation::kIdentity;
#pragma unroll
    for (int32_t k = 0; k < Chunks; ++k)
    {
        raw[k].unpack(in.scale, numbers[k]);
        scanChunk(operation, numbers[k]);
        float total = 0.0F;
        float const inChunks = warpScan<kLanes>(numbers[k][Size - 1], operation, total);
        before[k] = k > 0 ? operation(carried, inChunks) : inChunks;
        carried = k > 0 ? operation(carried, total) : total;
    }
    float start = Operation::kIdentity; // of the warps before
    if (warps > 1)
    {
        if (lane == kLanes - 1)
        {
            totals[warp] = operation(before[Chunks - 1], numbers[Chunks - 1][Size - 1]);
        }
        if (threadIdx.x >= warps && threadIdx.x < kMostTotals)
        {
            totals[threadIdx.x] = Operation::kIdentity;
        }
        __syncthreads();
        start = foldBefore(totals, warp, warps, operation);
    }
#pragma unroll
    for (int32_t k = 0; k < Chunks; ++k)
    {
        float const all = operation(start, before[k]);
#pragma unroll
        for (int32_t j = 0; j < Size; ++j)
        {
            numbers[k][j] = operation(all, numbers[k][j]);
        }
        out.template store<Size>(first + k * int64_t{kLanes}, numbers[k]);
    }
}

//! Rows that threads have whole chunks of, all of them as many; false where there is no such kernel.
template <int32_t Size, int32_t Chunks, typename Operation, typename Out, typename In>
bool launchFullScan(cudaStream_t stream, int64_t rows, int64_t chunks, Operation operation, Output<Out> out,
                    Input<In> in) noexcept
{
    constexpr int64_t kFewWarps = 1024; // more rows of one warp each are faster several in a block
    int64_t const threads = chunks / Chunks;
    if (threads > kMostScanThreads || chunks % (Chunks * int64_t{kLanes}) != 0 ||
        (threads == kLanes && rows > kFewWarps))
    {
        return false;
    }
    launchEarlyIfFew(fullScanKernel<Size, Chunks, Operation, Out, In>, static_cast<uint32_t>(rows),
                     static_cast<uint32_t>(threads), stream, operation, out, in);
    return true;
}

template <typename Values, int32_t Size, bool Whole, uint32_t Lanes, typename Operation, typename Out, typename In>
void launchShortScan(cudaStream_t stream, int64_t rows, int64_t columns, Operation operation, Output<Out> out,
                     Input<In> in) noexcept
{
    constexpr uint32_t kThreads = Values::kThreads > 0 ? std::min(Values::kThreads, kMostScanThreads) : 256;
    constexpr int64_t kInBlock = kThreads / Lanes;
    launchEarly(scanKernel<Size, Whole, Lanes, false, Operation, Out, In>,
                static_cast<uint32_t>((rows + kInBlock - 1) / kInBlock), kThreads, stream, true, rows, columns,
                operation, out, in);
}

template <typename Values, int32_t Size, bool Whole, typename Operation, typename Out, typename In>
cudaError_t launchScanOf(cudaStream_t stream, int64_t rows, int64_t columns, Operation operation, Output<Out> out,
                         Input<In> in, void* workspace) noexcept
{
    int64_t const chunks = chunksOf<Size, Whole>(columns);
    if (workspace != nullptr && sharesRows(rows, columns))
    {
        int64_t const tiles = (chunks + kTileElements<Size> / Size - 1) / (kTileElements<Size> / Size);
        auto const bytes = static_cast<size_t>(1 + rows * tiles) * sizeof(TileState);
        if (cudaError_t const error = cudaMemsetAsync(workspace, 0, bytes, stream); error != cudaSuccess)
        {
            return error;
        }
        longScanKernel<Size, Whole><<<static_cast<uint32_t>(rows * tiles), kTileThreads, 0, stream>>>(
            rows, columns, static_cast<uint32_t>(tiles), operation, out, in, static_cast<TileState*>(workspace));
        return cudaGetLastError();
    }
    if constexpr (Size > 1 && Whole && Values::kThreads == 0)
    {
        if (launchFullScan<Size, 1>(stream, rows, chunks, operation, out, in))
        {
            return cudaGetLastError();
        }
        if constexpr (Size < 16)
        {
            if (launchFullScan<Size, 2>(stream, rows, chunks, operation, out, in) ||
                launchFullScan<Size, 4>(stream, rows, chunks, operation, out, in))
            {
                return cudaGetLastError();
            }
        }
    }
    if (chunks <= 2 && Whole)
    {
        launchShortScan<Values, Size, Whole, 2>(stream, rows, columns, operation, out, in);
    }
    else if (chunks <= 4 && Whole)
    {
        launchShortScan<Values, Size, Whole, 4>(stream, rows, columns, operation, out, in);
    }
    else if (chunks <= 8)
    {
        launchShortScan<Values, Size, Whole, 8>(stream, rows, columns, operation, out, in);
    }
    else if (chunks <= 16 && Whole)
    {
        launchShortScan<Values, Size, Whole, 16>(stream, rows, columns, operation, out, in);
    }
    else if (chunks <= kLanes)
    {
        launchShortScan<Values, Size, Whole, kLanes>(stream, rows, columns, operation, out, in);
    }
    else
    {
        constexpr int64_t kMost =
            Values::kThreads > 0 ? std::min(Values::kThreads, kMostScanThreads) : kMostScanThreads;
        auto const threads = static_cast<uint32_t>(std::min((chunks + kLanes - 1) / kLanes * kLanes, kMost));
        launchEarlyIfFew(scanKernel<Size, Whole, kLanes, true, Operation, Out, In>, static_cast<uint32_t>(rows),
                         threads, stream, rows, columns, operation, out, in);
    }
    return cudaGetLastError();
}

template <typename Values, typename Operation, typename Out, typename In>
cudaError_t launchScanBy(cudaStream_t stream, int64_t rows, int64_t columns, Operation operation, Output<Out> out,
                         Input<In> in, void* workspace) noexcept
{
    constexpr int32_t kSize = largest(Output<Out>::kSize, Input<In>::kSize);
    constexpr int32_t kHalf = std::max(kSize / 2, 4);
    bool const packed = canPack(out.data, in.data);
    if (packed && columns % kSize == 0)
    {
        return launchScanOf<Values, kSize, true>(stream, rows, columns, operation, out, in, workspace);
    }
    if (packed && (launchPackedScan(stream, rows, columns, operation, out, in) ||
                   launchWordScan(stream, rows, columns, operation, out, in) ||
                   launchStagedScan(stream, rows, columns, operation, out, in)))
    {
        return cudaGetLastError();
    }
    if (packed && columns % kHalf == 0)
    {
        return launchScanOf<Values, kHalf, true>(stream, rows, columns, operation, out, in, workspace);
    }
    if (packed && columns > kSize)
    {
        return launchScanOf<Values, kSize, false>(stream, rows, columns, operation, out, in, workspace);
    }
    return launchScanOf<Values, 1, true>(stream, rows, columns, operation, out, in, workspace);
}

} // namespace detail

//! Bytes of a workspace for `launchScan`, aligned to 8: enough for so many rows and columns and for fewer, since
//! TensorRT gives what the profile's largest shapes take. Where no row is long enough to be shared it takes none.
inline int64_t scanWorkspace(int64_t rows, int64_t columns) noexcept
{
    if (columns < detail::kLongColumns)
    {
        return 0;
    }
    int64_t const tiles = std::min(columns, detail::kMostColumns) / detail::kTileElements<1> + 2;
    return (1 + std::min(rows, detail::kManyRows - 1) * tiles) * static_cast<int64_t>(sizeof(detail::TileState));
}

//! Starts the kernel on a stream, which may be `tuned` (tuning.cuh), and returns at once; without elements it starts
//! nothing.
//!
//! `operation(a, b)` is associative, and `kIdentity` the number that changes no other one: Sum, Max (rows.cuh), or one
//! of your own. The output may be the input. What is summed up stays a float until it is written. With a workspace
//! blocks share rows where there are few and long ones; which partial sums are added up first then depends on the run.
template <typename Stream, typename Operation, typename Out, typename In>
cudaError_t launchScan(Stream const& stream, int64_t rows, int64_t columns, Operation operation, Output<Out> out,
                       Input<In> in, void* workspace = nullptr) noexcept
{
    if (rows < 0 || columns < 0 || rows > 0x7FFFFFFF)
    {
        return cudaErrorInvalidValue;
    }
    if (rows == 0 || columns == 0)
    {
        return cudaSuccess; // a launch of no blocks is an error
    }
    return launchWith(
        stream, [&](cudaStream_t on, auto values)
        { return detail::launchScanBy<decltype(values)>(on, rows, columns, operation, out, in, workspace); });
}

} // namespace pluginkit::kernels
