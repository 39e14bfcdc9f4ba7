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
//!             float const inverse = 1.0F / powers.reduce(kernels::Sum{}, [](float power) { return power; });
//!             powers.write(y, [inverse](float power) { return power * inverse; });
//!         }
//!     };
//!     kernels::launchRows(stream, rows, columns, Softmax{}, kernels::output<__half>(y), kernels::input<__half>(x));
//!
//! Every thread of a row's group runs the function; a result of `reduce` is the same in all. Short rows have a part of
//! a warp each, longer ones a block, and stay in registers between the steps; on GPUs of compute capability 9.0 eight
//! blocks have a row that is longer still. Rows too long for that are read again in each step.
#pragma once

#include <pluginkit/kernels/row_groups.cuh>
#include <pluginkit/kernels/row_inputs.cuh>
#include <pluginkit/kernels/tuning.cuh>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace pluginkit::kernels
{

//! Outputs of one number a row, as a maximum.
template <typename T>
struct RowOutput
{
    static constexpr int32_t kSize = 1;

    T* data;
    float inverse;

    bool canPack() const noexcept
    {
        return true; // it has no chunks
    }
};

template <typename T>
RowOutput<T> rowOutput(void* data, float scale = 1.0F) noexcept
{
    return {static_cast<T*>(data), output<T>(data, scale).inverse};
}

namespace detail
{

template <typename Place, typename T>
__device__ void setOne(Place const& place, RowOutput<T> const& out, float number)
{
    if (place.chunks > 0 && place.group.thread() == 0)
    {
        toElement(out.data[place.row], number, out.inverse);
    }
}

//! The function of each element of a chunk, of which `numbers` are the inputs'.
template <size_t Count, int32_t Size, typename Function>
__device__ void applyAll(Function const& function, float const (&numbers)[Count][Size], float (&results)[Size])
{
#pragma unroll
    for (int32_t j = 0; j < Size; ++j)
    {
        results[j] = applied(function, numbers, j, std::make_index_sequence<Count>{});
    }
}

//! A row whose numbers are loaded in each step: `Source` knows how.
template <int32_t Size, bool Whole, typename Group, typename Source>
struct StreamedRow
{
    Place<Size, Whole, Group> place;
    Source source;

    template <typename Operation, typename Function>
    __device__ float reduce(Operation operation, Function const& function) const
    {
        float result = Operation::kIdentity;
        for (int64_t c = place.group.thread(); c < place.chunks; c += place.group.threads())
        {
            auto const chunk = place.at(c);
            float numbers[Source::kCount][Size];
            source.loadAt(chunk, numbers);
            float results[Size];
            applyAll(function, numbers, results);
            result = foldChunk(result, operation, chunk, results);
        }
        return place.group.reduce(result, operation);
    }

    template <typename Function>
    __device__ auto map(Function function) const
    {
        return StreamedRow<Size, Whole, Group, MappedLoad<Source, Function>>{place, {source, function}};
    }

    template <typename T, typename Function>
    __device__ void write(Output<T> const& out, Function const& function) const
    {
        for (int64_t c = place.group.thread(); c < place.chunks; c += place.group.threads())
        {
            auto const chunk = place.at(c);
            float numbers[Source::kCount][Size];
            source.loadAt(chunk, numbers);
            float results[Size];
            applyAll(function, numbers, results);
            storeOne(out, chunk, results);
        }
    }

    template <typename T>
    __device__ void writeOne(RowOutput<T> const& out, float number) const
    {
        setOne(place, out, number);
    }
};

//! A row in registers: of at most Chunks chunks a thread, the matrices' numbers.
template <int32_t Size, bool Whole, int32_t Chunks, typename Group, typename In>
struct HeldRow
{
    Place<Size, Whole, Group> place;
    In in;
    float held[Chunks][In::kMatrices][Size];

    __device__ int32_t chunkAt(int32_t k) const
    {
        return static_cast<int32_t>(place.group.thread() + static_cast<uint32_t>(k) * place.group.threads());
    }

    __device__ bool has(int32_t k) const
    {
        return chunkAt(k) < place.chunks;
    }

    //! The function of each element of chunk k, whose numbers are `mine`; where there is no such chunk, of zeros. (They
    //! are an argument since g++ takes functions of several kinds of rows for one, and would warn of that one's array.)
    template <typename Function>
    __device__ void apply(int32_t k, float const (*mine)[Size], Function const& function, float (&results)[Size]) const
    {
        float numbers[In::kCount][Size];
        in.recall(mine, place.at(chunkAt(k)), has(k), numbers);
        applyAll(function, numbers, results);
    }

    template <typename Operation, typename Function>
    __device__ float reduce(Operation operation, Function const& function) const
    {
        float result = Operation::kIdentity;
#pragma unroll
        for (int32_t k = 0; k < Chunks; ++k)
        {
            float results[Size];
            apply(k, held[k], function, results);
            float const folded = foldChunk(result, operation, place.at(chunkAt(k)), results);
            result = has(k) ? folded : result;
        }
        return place.group.reduce(result, operation);
    }

    template <typename Function>
    __device__ auto map(Function const& function) const
    {
        HeldRow<Size, Whole, Chunks, Group, Mapped> mapped{place, {}, {}};
#pragma unroll
        for (int32_t k = 0; k < Chunks; ++k)
        {
            apply(k, held[k], function, mapped.held[k][0]);
        }
        return mapped;
    }

    template <typename T, typename Function>
    __device__ void write(Output<T> const& out, Function const& function) const
    {
#pragma unroll
        for (int32_t k = 0; k < Chunks; ++k)
        {
            float results[Size];
            apply(k, held[k], function, results);
            if (has(k))
            {
                storeOne(out, place.at(chunkAt(k)), results);
            }
        }
    }

    template <typename T>
    __device__ void writeOne(RowOutput<T> const& out, float number) const
    {
        setOne(place, out, number);
    }
};

template <typename Function, typename Row, typename... Out>
__device__ void callOnRow(Function const& function, Row const& row, Outputs<Out...> const& outs)
{
    if constexpr (sizeof...(Out) == 1)
    {
        function(row, outs.first);
    }
    else if constexpr (sizeof...(Out) == 2)
    {
        function(row, outs.first, outs.rest.first);
    }
    else
    {
        static_assert(sizeof...(Out) == 3, "one to three outputs");
        function(row, outs.first, outs.rest.first, outs.rest.rest.first);
    }
}

} // namespace detail

//! A row in the registers of a group of threads. Chunks of 0: too long for that, read again in each step.
template <int32_t Size, bool Whole, int32_t Chunks, uint32_t Threads, typename Group, typename Function, typename Outs,
          typename In>
__global__ void __launch_bounds__(Threads)
    rowsKernel(Function const function, int64_t rows, int64_t columns, Outs const outs, In const in)
{
    __shared__ float scratch[detail::kTurns * kWarps];
    uint32_t turn = 0;
    auto const place = detail::placeOf<Size, Whole>(Group{{scratch, &turn}}, rows, columns);
    if constexpr (Chunks == 0)
    {
        detail::callOnRow(function, detail::StreamedRow<Size, Whole, Group, In>{place, in}, outs);
    }
    else
    {
        if constexpr (Group::kBlocks > 1)
        {
            detail::arriveInCluster();
        }
        detail::HeldRow<Size, Whole, Chunks, Group, In> row{place, in, {}};
        typename In::template Raw<Size> raw[Chunks] = {};
#pragma unroll
        for (int32_t k = 0; k < Chunks; ++k)
        {
            if (row.has(k))
            {
                in.load(place.at(row.chunkAt(k)), raw[k]);
            }
        }
#pragma unroll
        for (int32_t k = 0; k < Chunks; ++k)
        {
            in.unpack(raw[k], row.held[k]);
        }
        if constexpr (Group::kBlocks > 1)
        {
            detail::waitForCluster();
        }
        detail::callOnRow(function, row, outs);
    }
}

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

//! Lanes threads of a warp have a row, each at most Chunks chunks of it.
template <int32_t Size, bool Whole, int32_t Chunks, uint32_t Lanes, typename Work>
void launchShort(Work const& work) noexcept
{
    constexpr uint32_t kThreads = Work::Values::kThreads > 0 ? Work::Values::kThreads : kRowThreads;
    int64_t const inBlock = kThreads / Lanes;
    auto const blocks = static_cast<uint32_t>((work.rows + inBlock - 1) / inBlock);
    rowsKernel<Size, Whole, Chunks, kThreads, LanesOfWarp<Lanes>>
        <<<blocks, kThreads, 0, work.stream>>>(work.function, work.rows, work.columns, work.outs, work.in);
}

//! So many threads, of whole warps, that each has at most `each` of a row's chunks.
inline uint32_t threadsFor(int64_t chunks, int64_t each, uint32_t most) noexcept
{
    int64_t const wanted = ((chunks + each - 1) / each + kLanes - 1) / kLanes * kLanes;
    return static_cast<uint32_t>(std::min<int64_t>(wanted, most));
}

//! A block has a row.
template <int32_t Size, bool Whole, int32_t Chunks, uint32_t Most, typename Work>
void launchLong(Work const& work, int64_t chunks) noexcept
{
    uint32_t const threads = threadsFor(chunks, std::max(Chunks, 1), Most);
    rowsKernel<Size, Whole, Chunks, Most, WholeBlock<Most / kLanes>>
        <<<static_cast<uint32_t>(work.rows), threads, 0, work.stream>>>(work.function, work.rows, work.columns,
                                                                        work.outs, work.in);
}

//! A cluster of blocks has a row; false where the GPU can't start one, or the row is too long for it.
template <int32_t Size, bool Whole, int32_t Chunks, uint32_t Most, uint32_t Blocks, typename Work>
bool launchCluster([[maybe_unused]] Work const& work, [[maybe_unused]] int64_t chunks) noexcept
{
#ifdef PLUGINKIT_KERNELS_CLUSTERS
    auto* const kernel = rowsKernel<Size, Whole, Chunks, Most, WholeCluster<Most / kLanes, Blocks>,
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
    config.gridDim = dim3{static_cast<uint32_t>(work.rows) * Blocks};
    config.blockDim = dim3{threadsFor(chunks, int64_t{Chunks} * Blocks, Most)};
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
            launchLong<Size, Whole, Work::Values::kPacks, 512>(work, chunks);
            return;
        }
    }
    if constexpr (Size < 16)
    {
        constexpr int32_t kEach = 16 / Size;
        constexpr uint32_t kFirst = Size < 8 ? 1024 : 256; // the first cluster's threads: what was fastest on an H100
        constexpr uint32_t kBlocks = Size < 8 ? 2 : 8;
        if (chunks <= kEach * 512)
        {
            launchLong<Size, Whole, kEach, 512>(work, chunks);
        }
        else if (chunks <= 2 * kEach * 1024)
        {
            launchLong<Size, Whole, 2 * kEach, 1024>(work, chunks);
        }
        // At most 8 blocks: what every GPU of compute capability 9.0 can start together.
        else if (!launchCluster<Size, Whole, 2 * kEach, kFirst, kBlocks>(work, chunks) &&
                 !launchCluster<Size, Whole, 2 * kEach, 1024, 8>(work, chunks))
        {
            launchLong<Size, Whole, 0, 1024>(work, chunks);
        }
    }
    else
    {
        constexpr int32_t kEach = kHeld > 1 ? 2 : 4;
        if (chunks <= kEach * 128)
        {
            launchLong<Size, Whole, kEach, 128>(work, chunks);
        }
        else if (chunks <= kEach * 512)
        {
            launchLong<Size, Whole, kEach, 512>(work, chunks);
        }
        else if (!launchCluster<Size, Whole, kEach, 256, 8>(work, chunks))
        {
            launchLong<Size, Whole, 0, 1024>(work, chunks);
        }
    }
}

constexpr int32_t kWordSize = 8; //!< elements of a chunk, where weights are wide; 4 were slower on an H100

//! The same for rows of one-byte elements with several wide ones that all rows share, as a norm's weights and its bias.
//! With chunks of 16 elements neighbouring threads would read weights 64 bytes apart, and these accesses to the L1
//! cache, not the memory, would be the limit.
template <typename Work>
void launchRowsOfWords(Work const& work) noexcept
{
    constexpr int32_t kEach = 32 / kWordSize;
    int64_t const chunks = work.columns / kWordSize;
    chunks <= kLanes* kEach ? launchShort<kWordSize, true, kEach, kLanes>(work)
    : chunks <= kEach * 128 ? launchLong<kWordSize, true, kEach, 128>(work, chunks)
    : chunks <= kEach * 512 ? launchLong<kWordSize, true, kEach, 512>(work, chunks)
                            : launchLongOf<16, true>(work, work.columns / 16);
}

//! Who has a row, and how much of it a thread.
template <int32_t Size, bool Whole, typename Work>
void launchRowsOf(Work const& work) noexcept
{
    // A row that isn't made of whole chunks may begin within one, and end within another.
    int64_t const chunks = Whole ? work.columns / Size : (work.columns + Size - 2) / Size + 1;
    if constexpr (Size == 1)
    {
        chunks <= 4 * kLanes ? launchShort<1, Whole, 4, kLanes>(work)
        : chunks <= 8 * 1024 ? launchLong<1, Whole, 8, 1024>(work, chunks)
                             : launchLong<1, Whole, 0, 1024>(work, chunks);
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
    if constexpr (kSize == 16 && (0 + ... + kIsWideRow<In>) > 1)
    {
        if (packed && columns > 16 * kLanes && columns % 16 == 0)
        {
            launchRowsOfWords(work);
            return cudaGetLastError();
        }
    }
    if (packed && columns % kSize == 0)
    {
        launchRowsOf<kSize, true>(work);
    }
    else if (packed && columns > kSize)
    {
        launchRowsOf<kSize, false>(work);
    }
    else
    {
        launchRowsOf<1, true>(work);
    }
    return cudaGetLastError();
}

} // namespace detail

//! Starts the kernel on a stream, which may be `tuned` (tuning.cuh), and returns at once; without elements it starts
//! nothing.
//!
//! `function(row, out...)` gets the outputs in their order. `row.reduce(operation, f)` reduces f(x, ...) over the row,
//! where f gets a number of each input in their order; `row.map(f)` is the row of f(x, ...), with one number;
//! `row.write(out, f)` writes f(x, ...) into an output; `row.writeOne(out, number)` one number of the row into a
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
        return cudaSuccess; // a launch of no blocks would be an error
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
