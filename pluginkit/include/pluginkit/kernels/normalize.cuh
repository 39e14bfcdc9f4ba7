//! A function of each row: reductions, softmax, normalisations, at the speed of the memory. The tensors are linear
//! matrices of `rows` times `columns`; an input may be a row that all rows share, as a norm's weights.
//!
//!     struct Softmax
//!     {
//!         template <typename Row, typename Out>
//!         __device__ void operator()(Row const& row, Out const& y) const
//!         {
//!             float const most = row.reduce(kernels::Max{}, [](float x) { return x; });
//!             auto const powers = row.map([most](float x) { return expf(x - most); });
//!             float const sum = powers.reduce(kernels::Sum{}, [](float power) { return power; });
//!             powers.write(y, [](float power) { return power; }, 1.0F / sum);
//!         }
//!     };
//!     kernels::launchRows(stream, rows, columns, Softmax{}, kernels::output<__half>(y), kernels::input<__half>(x));
//!
//! Every thread of a row's group runs the function; a result of `reduce` is the same in all. Short rows have a part of
//! a warp each, longer ones a block, and stay in registers between the steps; on GPUs of compute capability 9.0 eight
//! blocks have a row that is longer still. Rows too long for that are read again in each step.
#pragma once

#include <pluginkit/kernels/kept_rows.cuh>
#include <pluginkit/kernels/launch.cuh>
#include <pluginkit/kernels/part_rows.cuh>
#include <pluginkit/kernels/row_kernels.cuh>
#include <pluginkit/kernels/shared_rows.cuh>
#include <pluginkit/kernels/staged_rows.cuh>
#include <pluginkit/kernels/tile_rows.cuh>
#include <pluginkit/kernels/tuning.cuh>
#include <pluginkit/kernels/word_rows.cuh>

#include <algorithm>
#include <cstdint>

namespace pluginkit::kernels
{

namespace detail
{

//! What a launch of rows is given.
template <typename Tuning, typename Function, typename Outs, typename In>
struct RowsWork
{
    using Values = Tuning;

    cudaStream_t stream;
    int64_t rows;
    int64_t columns;
    Function function;
    Outs outs;
    In in;
};

constexpr uint32_t kRowThreads = 256; //!< of a block with several rows
constexpr int64_t kFewRows = 512;     //!< what a launch waits for is then one row's time, and not the memory

//! Starts the kernel whose groups have a row each.
template <int32_t Size, bool Whole, int32_t Chunks, bool Full, bool Ahead, uint32_t Threads, typename Group,
          typename Work>
void startRows(Work const& work, uint32_t blocks, uint32_t threads) noexcept
{
    launchEarly(rowsKernel<Size, Whole, Chunks, Full, Ahead, Threads, Group, decltype(work.function),
                           decltype(work.outs), decltype(work.in)>,
                blocks, threads, work.stream, work.function, work.rows, work.columns, work.outs, work.in);
}

//! Lanes threads of a warp have a row, each at most Chunks chunks of it.
template <int32_t Size, bool Whole, int32_t Chunks, uint32_t Lanes, typename Work>
void launchShort(Work const& work) noexcept
{
    constexpr uint32_t kThreads = Work::Values::kThreads > 0 ? Work::Values::kThreads : kRowThreads;
    constexpr int64_t kEnoughBlocks = 256; // few rows are spread over the GPU
    bool const few = Work::Values::kThreads == 0 && work.rows * Lanes < kEnoughBlocks * kThreads;
    uint32_t const threads = few ? kLanes : kThreads;
    int64_t const inBlock = threads / Lanes;
    auto const blocks = static_cast<uint32_t>((work.rows + inBlock - 1) / inBlock);
    if constexpr (Size >= 4 && Whole && Lanes == kLanes)
    {
        // Each thread has all its chunks, and each warp of such a block a row.
        if (chunksOf<Size, Whole>(work.columns) == Chunks * kLanes && threads == kLanes)
        {
            startRows<Size, Whole, Chunks, true, false, kLanes, LanesOfWarp<Lanes>>(work, blocks, kLanes);
            return;
        }
    }
    startRows<Size, Whole, Chunks, false, false, kThreads, LanesOfWarp<Lanes>>(work, blocks, threads);
}

//! So many threads, of whole warps, that each has at most `each` of a row's chunks.
inline uint32_t threadsFor(int64_t chunks, int64_t each, uint32_t most) noexcept
{
    int64_t const wanted = ((chunks + each - 1) / each + kLanes - 1) / kLanes * kLanes;
    return static_cast<uint32_t>(std::min<int64_t>(wanted, most));
}

//! How many blocks a launch has: one a row, or, where they load rows ahead, as many as fill the GPU.
inline uint32_t blocksFor(int64_t rows, bool ahead, uint32_t threads) noexcept
{
    constexpr int64_t kResident = 512; // threads of a multiprocessor: more were slower on an H100
    int device = 0;
    int processors = 0;
    if (!ahead || cudaGetDevice(&device) != cudaSuccess ||
        cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device) != cudaSuccess)
    {
        return static_cast<uint32_t>(rows);
    }
    return static_cast<uint32_t>(std::min(rows, processors * std::max<int64_t>(kResident / threads, 1)));
}

//! A block has a row.
template <int32_t Size, bool Whole, int32_t Chunks, bool Ahead, uint32_t Most, typename Work>
void launchLong(Work const& work, int64_t chunks) noexcept
{
    uint32_t const threads = threadsFor(chunks, std::max(Chunks, 1), Most);
    uint32_t const blocks = blocksFor(work.rows, Ahead, threads);
    // Where each thread has all its chunks, nothing is asked for one. Loads of weights then come before what they
    // are for, which costs long rows, wide weights and many rows more registers than it saves instructions.
    using In = decltype(work.in);
    constexpr bool kFull =
        Size < 16 ? Size > 1 && Size * Chunks <= 16 : In::kMatrices == In::kCount || (Most <= 128 && !In::kWide);
    if constexpr (Whole && Chunks > 0 && kFull)
    {
        bool const worthIt = work.rows <= kFewRows || In::kMatrices == In::kCount || Size >= 16;
        if (worthIt && chunks == int64_t{Chunks} * threads)
        {
            startRows<Size, Whole, Chunks, true, Ahead, Most, WholeBlock<Most / kLanes>>(work, blocks, threads);
            return;
        }
    }
    startRows<Size, Whole, Chunks, false, Ahead, Most, WholeBlock<Most / kLanes>>(work, blocks, threads);
}

//! A cluster of blocks has a row; false where the GPU can't start one, or the row is too long for it.
template <int32_t Size, bool Whole, int32_t Chunks, uint32_t Most, uint32_t Blocks, typename Work>
bool launchCluster([[maybe_unused]] Work const& work, [[maybe_unused]] int64_t chunks) noexcept
{
#ifdef PLUGINKIT_KERNELS_CLUSTERS
    auto* const kernel = rowsKernel<Size, Whole, Chunks, false, false, Most, WholeCluster<Most / kLanes, Blocks>,
                                    decltype(work.function), decltype(work.outs), decltype(work.in)>;
    if (chunks > int64_t{Chunks} * Blocks * Most || work.rows > 0x7FFFFFFF / Blocks)
    {
        return false;
    }
    cudaLaunchAttribute attribute{};
    attribute.id = cudaLaunchAttributeClusterDimension;
    attribute.val.clusterDim.x = Blocks;
    attribute.val.clusterDim.y = 1;
    attribute.val.clusterDim.z = 1;
    cudaLaunchConfig_t config{};
    config.blockDim = dim3{threadsFor(chunks, int64_t{Chunks} * Blocks, Most)};
    config.gridDim = dim3{static_cast<uint32_t>(work.rows) * Blocks};
    config.stream = work.stream;
    config.attrs = &attribute;
    config.numAttrs = 1;
    if (!canCluster(reinterpret_cast<void const*>(kernel), config))
    {
        return false;
    }
    // An error is the launch's, which cudaGetLastError tells.
    static_cast<void>(cudaLaunchKernelEx(&config, kernel, work.function, work.rows, work.columns, work.outs, work.in));
    return true;
#else
    return false;
#endif
}

//! More threads than a warp have a row, and each as many numbers of it as leave registers for the others.
template <int32_t Size, bool Whole, typename Work>
void launchLongOf(Work const& work, int64_t chunks) noexcept
{
    constexpr int32_t kHeld = decltype(work.in)::kMatrices;
    if constexpr (Work::Values::kPacks > 0)
    {
        if (chunks <= Work::Values::kPacks * 512)
        {
            launchLong<Size, Whole, Work::Values::kPacks, false, 512>(work, chunks);
            return;
        }
    }
    if constexpr (Size < 16)
    {
        constexpr int32_t kEach = 16 / Size;
        // The first cluster: what was fastest on an H100.
        constexpr int32_t kChunks = Size == 8 && kHeld == 1 ? 4 * kEach : 2 * kEach;
        constexpr uint32_t kFirst = Size < 8 ? 1024 : kHeld == 1 ? 128 : 256;
        constexpr uint32_t kBlocks = Size < 8 ? 2 : 8;
        if (chunks <= kEach * 512)
        {
            launchLong<Size, Whole, kEach, false, 512>(work, chunks);
        }
        else if (chunks <= 2 * kEach * 1024)
        {
            launchLong<Size, Whole, 2 * kEach, false, 1024>(work, chunks);
        }
        // At most 8 blocks: what every GPU of compute capability 9.0 can start together.
        else if (!launchCluster<Size, Whole, kChunks, kFirst, kBlocks>(work, chunks) &&
                 !launchCluster<Size, Whole, 2 * kEach, 1024, 8>(work, chunks))
        {
            launchLong<Size, Whole, 0, false, 1024>(work, chunks);
        }
    }
    else
    {
        constexpr int32_t kEach = kHeld > 1 ? 2 : 4;
        // Weights are loaded while the row is written; to have loaded the next row then doesn't help.
        constexpr bool kAhead = kHeld == decltype(work.in)::kCount;
        // Fewer elements a thread take less time where the GPU isn't full.
        if (work.rows <= kFewRows && chunks <= 2 * 256)
        {
            launchLong<Size, Whole, 2, false, 256>(work, chunks);
        }
        else if (chunks <= kEach * 128)
        {
            launchLong<Size, Whole, kEach, false, 128>(work, chunks);
        }
        else if (chunks <= kEach * 512)
        {
            launchLong<Size, Whole, kEach, kAhead, 512>(work, chunks);
        }
        // At most 8 blocks: what every GPU of compute capability 9.0 can start together.
        else if (!launchCluster<Size, Whole, 2, 256, 8>(work, chunks) &&
                 !launchCluster<Size, Whole, kEach, 256, 8>(work, chunks))
        {
            launchLong<Size, Whole, 0, false, 1024>(work, chunks);
        }
    }
}

//! Rows for which smaller chunks than the usual are right: fewer kinds of groups, each for more widths. False where a
//! row is too long for them.
template <int32_t Size, bool Whole, typename Work>
bool launchSmallChunks(Work const& work) noexcept
{
    constexpr int32_t kEach = 4;
    int64_t const chunks = chunksOf<Size, Whole>(work.columns);
    if (chunks > kEach * 512)
    {
        return false;
    }
    chunks <= kEach* kLanes / 4 ? launchShort<Size, Whole, kEach, kLanes / 4>(work)
    : chunks <= kEach * kLanes  ? launchShort<Size, Whole, kEach, kLanes>(work)
    : chunks <= kEach * 128     ? launchLong<Size, Whole, kEach, false, 128>(work, chunks)
                                : launchLong<Size, Whole, kEach, false, 512>(work, chunks);
    return true;
}

//! Who has a row, and how much of it a thread.
template <int32_t Size, bool Whole, typename Work>
void launchRowsOf(Work const& work) noexcept
{
    int64_t const chunks = chunksOf<Size, Whole>(work.columns);
    if constexpr (Size == 1)
    {
        chunks <= 4 * kLanes ? launchShort<1, Whole, 4, kLanes>(work)
        : chunks <= 8 * 1024 ? launchLong<1, Whole, 8, false, 1024>(work, chunks)
                             : launchLong<1, Whole, 0, false, 1024>(work, chunks);
    }
    else if (chunks > 4 * kLanes)
    {
        launchLongOf<Size, Whole>(work, chunks);
    }
    else if (chunks > 2 * kLanes)
    {
        launchShort<Size, Whole, 4, kLanes>(work);
    }
    else if (chunks > kLanes)
    {
        launchShort<Size, Whole, 2, kLanes>(work);
    }
    else if (Size >= 16 && Whole && chunks == kLanes && work.rows <= kFewRows)
    {
        launchShort<Size, Whole, 1, kLanes>(work); // few rows: fewer elements a thread take less time
    }
    else
    {
        // What the threads of an INT8 row exchange costs more than what else they do with 16 elements.
        constexpr int32_t kEach = Size < 16 ? 1 : 2;
        chunks <= 2 && Whole    ? launchShort<Size, Whole, 1, 2>(work)
        : chunks <= 4 && Whole  ? launchShort<Size, Whole, 1, 4>(work)
        : chunks <= 8           ? launchShort<Size, Whole, kEach, 8 / kEach>(work)
        : chunks <= 16 && Whole ? launchShort<Size, Whole, kEach, 16 / kEach>(work)
                                : launchShort<Size, Whole, kEach, kLanes / kEach>(work);
    }
}

//! Rows of one-byte elements, for which there are Weights rows of wide elements that all share; false where they are
//! launched as others are. With chunks of 16 elements neighbouring threads would read weights 64 bytes apart, and with
//! several such rows, or addresses that aren't multiples of 16, the accesses to the L1 cache would be the limit.
template <int32_t Size, int32_t Weights, typename Work>
bool launchWithWeights(Work const& work) noexcept
{
    if constexpr (Size == 16 && Weights > 0)
    {
        if (work.columns % 4 != 0)
        {
            return work.columns > 4 && launchSmallChunks<4, false>(work);
        }
        if constexpr (Weights > 1)
        {
            return work.columns % 8 == 0 && work.columns > 16 * kLanes && launchSmallChunks<8, true>(work);
        }
    }
    return false;
}

//! Rows of tensors that begin at multiples of 16 bytes, in the largest chunks that they are made of.
template <int32_t Size, typename Work>
void launchPacked(Work const& work) noexcept
{
    if (work.columns % Size == 0)
    {
        launchRowsOf<Size, true>(work);
        return;
    }
    if constexpr (Size >= 8)
    {
        if (work.columns % (Size / 2) == 0 && launchSmallChunks<Size / 2, true>(work))
        {
            return;
        }
    }
    if constexpr (Size >= 16)
    {
        if (work.columns % (Size / 4) == 0 && launchSmallChunks<Size / 4, true>(work))
        {
            return;
        }
    }
    work.columns > Size ? launchRowsOf<Size, false>(work) : launchRowsOf<1, true>(work);
}

template <typename Values, typename Function, typename... Out, typename... In>
cudaError_t launchRowsBy(cudaStream_t stream, int64_t rows, int64_t columns, Function const& function,
                         Outputs<Out...> const& outs, In... in) noexcept
{
    constexpr int32_t kSize = largest(Out::kSize..., In::kSize...);
    bool packed = canPackAll(outs);
    ((packed = canPack(in.data) && packed), ...);
    auto const inputs = inputsOf(in...);
    RowsWork<Values, Function, Outputs<Out...>, decltype(inputs)> const work{stream,   rows, columns,
                                                                             function, outs, inputs};
    if (!packed)
    {
        launchRowsOf<1, true>(work);
    }
    else if (!launchTileRows<kSize>(work) && !launchWordRows<kSize>(work) && !launchStagedRows<kSize>(work) &&
             !launchPartRows<kSize>(work) && !launchKeptRows<kSize>(work) && !launchSharedRows<kSize>(work) &&
             !launchWithWeights<kSize, (0 + ... + kIsWideRow<In>)>(work))
    {
        launchPacked<kSize>(work);
    }
    return cudaGetLastError();
}

} // namespace detail

//! Starts the kernel on a stream, which may be `tuned` (tuning.cuh), and returns at once; without elements it starts
//! nothing.
//!
//! `function(row, out...)` gets the outputs in their order. `row.reduce(operation, f)` reduces f(x, ...) over the row,
//! where f gets a number of each input in their order; `row.map(f)` is the row of f(x, ...), with one number;
//! `row.write(out, f)` writes f(x, ...) into an output, `row.write(out, f, factor)` its product with a factor of the
//! whole row, which costs nothing where elements have a scale; `row.writeOne(out, number)` one number of the row into a
//! `rowOutput`. Every thread must call them, in the same order. An output may be one of the inputs that the function
//! doesn't use after it has written the output: a row that is too long for registers is read again in each step.
//!
//! If a tensor doesn't begin at a multiple of 16 bytes, elements are taken one by one.
template <typename Stream, typename Function, typename... Out, typename... In>
cudaError_t launchRows(Stream const& stream, int64_t rows, int64_t columns, Function const& function,
                       Outputs<Out...> outs, In... in) noexcept
{
    if (rows < 0 || columns < 0 || rows > 0x7FFFFFFF)
    {
        return cudaErrorInvalidValue;
    }
    if (rows == 0 || columns == 0)
    {
        return cudaSuccess; // a launch of no blocks is an error
    }
    return launchWith(stream, [&](cudaStream_t on, auto values)
                      { return detail::launchRowsBy<decltype(values)>(on, rows, columns, function, outs, in...); });
}

//! Of one output.
template <typename Stream, typename Function, typename T, typename... In>
cudaError_t launchRows(Stream const& stream, int64_t rows, int64_t columns, Function const& function, Output<T> out,
                       In... in) noexcept
{
    return launchRows(stream, rows, columns, function, outputs(out), in...);
}

template <typename Stream, typename Function, typename T, typename... In>
cudaError_t launchRows(Stream const& stream, int64_t rows, int64_t columns, Function const& function, RowOutput<T> out,
                       In... in) noexcept
{
    return launchRows(stream, rows, columns, function, outputs(out), in...);
}

} // namespace pluginkit::kernels
