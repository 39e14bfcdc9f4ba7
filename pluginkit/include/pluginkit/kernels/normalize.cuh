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
//! a warp each, longer ones a block, and stay in registers between the steps; rows too long for that are read again in
//! each step.
#pragma once

#include <pluginkit/kernels/rows.cuh>
#include <pluginkit/kernels/tensors.cuh>

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

//! Lanes threads of a warp that have a row together.
template <uint32_t Lanes>
struct LanesOfWarp
{
    static constexpr bool kIsBlock = false;

    float* scratch; // not needed

    __device__ uint32_t thread() const
    {
        return threadIdx.x % Lanes;
    }

    __device__ uint32_t threads() const
    {
        return Lanes;
    }

    __device__ int64_t row() const
    {
        return static_cast<int64_t>(blockIdx.x) * (blockDim.x / Lanes) + threadIdx.x / Lanes;
    }

    template <typename Operation>
    __device__ float reduce(float value, Operation operation) const
    {
        return warpReduce<Lanes>(value, operation);
    }
};

//! All threads of a block.
struct WholeBlock
{
    static constexpr bool kIsBlock = true;

    float* scratch; //!< shared memory, kWarps floats

    __device__ uint32_t thread() const
    {
        return threadIdx.x;
    }

    __device__ uint32_t threads() const
    {
        return blockDim.x;
    }

    __device__ int64_t row() const
    {
        return blockIdx.x;
    }

    template <typename Operation>
    __device__ float reduce(float value, Operation operation) const
    {
        return blockReduce(value, operation, scratch);
    }
};

//! Where a thread's chunks of a row lie.
template <typename Group>
struct Place
{
    Group group;
    int64_t row;    //!< the row's number
    int64_t chunks; //!< of a row; 0 where there is no such row: then the thread only takes part in exchanges

    __device__ int64_t first() const
    {
        return row * chunks;
    }
};

//! What a mapped row's numbers are made of, where they don't fit into registers: of the inputs, each time anew.
template <typename Source, typename Function>
struct MappedLoad
{
    Source source;
    Function function;

    template <int32_t Size>
    __device__ void load(int64_t chunk, int64_t column, float (&numbers)[1][Size]) const
    {
        float inputs[Source::kCount][Size];
        source.template load<Size>(chunk, column, inputs);
#pragma unroll
        for (int32_t j = 0; j < Size; ++j)
        {
            numbers[0][j] = applied(function, inputs, j, std::make_index_sequence<Source::kCount>{});
        }
    }

    static constexpr int32_t kCount = 1;
};

//! How many matrices are among inputs: those are kept in registers, where rows are.
template <typename T>
constexpr int32_t kIsMatrix = 0;

template <typename T>
constexpr int32_t kIsMatrix<Input<T>> = 1;

template <int32_t Size, typename T>
__device__ void loadOne(Input<T> const& in, int64_t chunk, int64_t /*column*/, float* numbers)
{
    in.template load<Size>(chunk, numbers);
}

template <int32_t Size, typename T>
__device__ void loadOne(kernels::Row<T> const& in, int64_t /*chunk*/, int64_t column, float* numbers)
{
    loadNumbers<Size>(in.data, column, in.scale, numbers);
}

template <int32_t Size, typename T>
__device__ void loadOne(Scalar<T> const& in, int64_t /*chunk*/, int64_t /*column*/, float* numbers)
{
    in.template load<Size>(0, numbers);
}

//! The inputs themselves: a matrix at its chunk, a shared row at its column. Nothing behind the last.
template <typename... In>
struct Inputs
{
    static constexpr int32_t kCount = 0;
    static constexpr int32_t kMatrices = 0;

    template <int32_t Size>
    __device__ void loadAt(int64_t /*chunk*/, int64_t /*column*/, float (* /*numbers*/)[Size]) const
    {
    }

    template <int32_t Size>
    __device__ void hold(int64_t /*chunk*/, float (* /*held*/)[Size]) const
    {
    }

    template <int32_t Size>
    __device__ void recall(float const (* /*held*/)[Size], int64_t /*column*/, float (* /*numbers*/)[Size]) const
    {
    }
};

template <typename First, typename... Rest>
struct Inputs<First, Rest...>
{
    static constexpr int32_t kCount = 1 + static_cast<int32_t>(sizeof...(Rest));
    static constexpr int32_t kMatrices = kIsMatrix<First> + Inputs<Rest...>::kMatrices;

    First first;
    Inputs<Rest...> rest;

    template <int32_t Size, size_t Count>
    __device__ void load(int64_t chunk, int64_t column, float (&numbers)[Count][Size]) const
    {
        loadAt<Size>(chunk, column, numbers);
    }

    template <int32_t Size>
    __device__ void loadAt(int64_t chunk, int64_t column, float (*numbers)[Size]) const
    {
        loadOne<Size>(first, chunk, column, numbers[0]);
        rest.template loadAt<Size>(chunk, column, numbers + 1);
    }

    //! The matrices' numbers alone.
    template <int32_t Size>
    __device__ void hold(int64_t chunk, float (*held)[Size]) const
    {
        if constexpr (kIsMatrix<First> == 1)
        {
            loadOne<Size>(first, chunk, 0, held[0]);
        }
        rest.template hold<Size>(chunk, held + kIsMatrix<First>);
    }

    //! All inputs' numbers: matrices' as they are held, the others' loaded. What a function doesn't use of them costs
    //! nothing: the compiler leaves out the load.
    template <int32_t Size>
    __device__ void recall(float const (*held)[Size], int64_t column, float (*numbers)[Size]) const
    {
        if constexpr (kIsMatrix<First> == 1)
        {
#pragma unroll
            for (int32_t j = 0; j < Size; ++j)
            {
                numbers[0][j] = held[0][j];
            }
        }
        else
        {
            loadOne<Size>(first, 0, column, numbers[0]);
        }
        rest.template recall<Size>(held + kIsMatrix<First>, column, numbers + 1);
    }
};

//! Of a mapped row, which has no inputs of its own.
struct Mapped
{
    static constexpr int32_t kCount = 1;
    static constexpr int32_t kMatrices = 1;

    template <int32_t Size>
    __device__ void recall(float const (*held)[Size], int64_t /*column*/, float (*numbers)[Size]) const
    {
#pragma unroll
        for (int32_t j = 0; j < Size; ++j)
        {
            numbers[0][j] = held[0][j];
        }
    }
};

inline Inputs<> inputsOf() noexcept
{
    return {};
}

template <typename First, typename... Rest>
Inputs<First, Rest...> inputsOf(First first, Rest... rest) noexcept
{
    return {first, inputsOf(rest...)};
}

template <typename Group, typename T>
__device__ void setOne(Place<Group> const& place, RowOutput<T> const& out, float number)
{
    if (place.chunks > 0 && place.group.thread() == 0)
    {
        toElement(out.data[place.row], number, out.inverse);
    }
}

//! A row whose numbers are loaded in each step: `Source` knows how.
template <int32_t Size, typename Group, typename Source>
struct StreamedRow
{
    Place<Group> place;
    Source source;

    template <typename Operation, typename Function>
    __device__ float reduce(Operation operation, Function const& function) const
    {
        float result = Operation::kIdentity;
        for (int64_t c = place.group.thread(); c < place.chunks; c += place.group.threads())
        {
            float numbers[Source::kCount][Size];
            source.template load<Size>(place.first() + c, c, numbers);
#pragma unroll
            for (int32_t j = 0; j < Size; ++j)
            {
                result = operation(result, applied(function, numbers, j, std::make_index_sequence<Source::kCount>{}));
            }
        }
        return place.group.reduce(result, operation);
    }

    template <typename Function>
    __device__ auto map(Function function) const
    {
        return StreamedRow<Size, Group, MappedLoad<Source, Function>>{place, {source, function}};
    }

    template <typename T, typename Function>
    __device__ void write(Output<T> const& out, Function const& function) const
    {
        for (int64_t c = place.group.thread(); c < place.chunks; c += place.group.threads())
        {
            float numbers[Source::kCount][Size];
            source.template load<Size>(place.first() + c, c, numbers);
            float results[Size];
#pragma unroll
            for (int32_t j = 0; j < Size; ++j)
            {
                results[j] = applied(function, numbers, j, std::make_index_sequence<Source::kCount>{});
            }
            out.template store<Size>(place.first() + c, results);
        }
    }

    template <typename T>
    __device__ void writeOne(RowOutput<T> const& out, float number) const
    {
        setOne(place, out, number);
    }
};

//! A row in registers: of at most Chunks chunks a thread, the matrices' numbers.
template <int32_t Size, int32_t Chunks, typename Group, typename In>
struct HeldRow
{
    Place<Group> place;
    In in;
    float held[Chunks][In::kMatrices][Size];

    __device__ int64_t chunkAt(int32_t k) const
    {
        return place.group.thread() + static_cast<int64_t>(k) * place.group.threads();
    }

    //! The function of each element of chunk k.
    template <typename Function>
    __device__ void apply(int32_t k, Function const& function, float (&results)[Size]) const
    {
        float numbers[In::kCount][Size];
        in.template recall<Size>(held[k], chunkAt(k), numbers);
#pragma unroll
        for (int32_t j = 0; j < Size; ++j)
        {
            results[j] = applied(function, numbers, j, std::make_index_sequence<In::kCount>{});
        }
    }

    template <typename Operation, typename Function>
    __device__ float reduce(Operation operation, Function const& function) const
    {
        float result = Operation::kIdentity;
#pragma unroll
        for (int32_t k = 0; k < Chunks; ++k)
        {
            if (chunkAt(k) < place.chunks)
            {
                float results[Size];
                apply(k, function, results);
#pragma unroll
                for (int32_t j = 0; j < Size; ++j)
                {
                    result = operation(result, results[j]);
                }
            }
        }
        return place.group.reduce(result, operation);
    }

    template <typename Function>
    __device__ auto map(Function const& function) const
    {
        HeldRow<Size, Chunks, Group, Mapped> mapped{place, {}, {}};
#pragma unroll
        for (int32_t k = 0; k < Chunks; ++k)
        {
            if (chunkAt(k) < place.chunks)
            {
                apply(k, function, mapped.held[k][0]);
            }
        }
        return mapped;
    }

    template <typename T, typename Function>
    __device__ void write(Output<T> const& out, Function const& function) const
    {
#pragma unroll
        for (int32_t k = 0; k < Chunks; ++k)
        {
            if (chunkAt(k) < place.chunks)
            {
                float results[Size];
                apply(k, function, results);
                out.template store<Size>(place.first() + chunkAt(k), results);
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
template <int32_t Size, int32_t Chunks, uint32_t Threads, typename Group, typename Function, typename Outs, typename In>
__global__ void __launch_bounds__(Threads)
    rowsKernel(Function const function, int64_t rows, int64_t chunks, Outs const outs, In const in)
{
    __shared__ float scratch[kWarps];
    Group const group{scratch};
    int64_t const number = group.row();
    // A group without a row has no chunks, but takes part in the exchanges of its warp.
    detail::Place<Group> const place{group, number, number < rows ? chunks : 0};
    if constexpr (Chunks == 0)
    {
        detail::callOnRow(function, detail::StreamedRow<Size, Group, In>{place, in}, outs);
    }
    else
    {
        detail::HeldRow<Size, Chunks, Group, In> row{place, in, {}};
#pragma unroll
        for (int32_t k = 0; k < Chunks; ++k)
        {
            if (row.chunkAt(k) < place.chunks)
            {
                in.template hold<Size>(place.first() + row.chunkAt(k), row.held[k]);
            }
        }
        detail::callOnRow(function, row, outs);
    }
}

namespace detail
{

constexpr uint32_t kRowThreads = 256; //!< of a block with several rows

template <int32_t Size, int32_t Chunks, uint32_t Lanes, typename Function, typename Outs, typename In>
void launchShort(cudaStream_t stream, int64_t rows, int64_t chunks, Function const& function, Outs const& outs,
                 In const& in) noexcept
{
    int64_t const inBlock = kRowThreads / Lanes;
    rowsKernel<Size, Chunks, kRowThreads, LanesOfWarp<Lanes>>
        <<<static_cast<uint32_t>((rows + inBlock - 1) / inBlock), kRowThreads, 0, stream>>>(function, rows, chunks,
                                                                                            outs, in);
}

template <int32_t Size, int32_t Chunks, uint32_t Most, typename Function, typename Outs, typename In>
void launchLong(cudaStream_t stream, int64_t rows, int64_t chunks, Function const& function, Outs const& outs,
                In const& in) noexcept
{
    constexpr int64_t kEach = Chunks > 0 ? Chunks : 1;
    int64_t const wanted = ((chunks + kEach - 1) / kEach + kLanes - 1) / kLanes * kLanes;
    auto const threads = static_cast<uint32_t>(std::min<int64_t>(wanted, Most));
    rowsKernel<Size, Chunks, Most, WholeBlock>
        <<<static_cast<uint32_t>(rows), threads, 0, stream>>>(function, rows, chunks, outs, in);
}

//! Rows of so many chunks: who has one, and how much of it a thread.
template <int32_t Size, typename Function, typename Outs, typename In>
void launchRowsOf(cudaStream_t stream, int64_t rows, int64_t chunks, Function const& function, Outs const& outs,
                  In const& in) noexcept
{
    // 16 numbers a thread, in long rows 32: what registers have room for beside the function's own.
    constexpr int32_t kFew = Size < 16 ? 16 / Size : 1;
    if constexpr (Size == 1)
    {
        if (chunks <= int64_t{4} * kLanes)
        {
            launchShort<1, 4, kLanes>(stream, rows, chunks, function, outs, in);
        }
        else if (chunks <= 8 * 1024)
        {
            launchLong<1, 8, 1024>(stream, rows, chunks, function, outs, in);
        }
        else
        {
            launchLong<1, 0, 1024>(stream, rows, chunks, function, outs, in);
        }
    }
    else if (chunks <= 2)
    {
        launchShort<Size, 1, 2>(stream, rows, chunks, function, outs, in);
    }
    else if (chunks <= 8)
    {
        launchShort<Size, 1, 8>(stream, rows, chunks, function, outs, in);
    }
    else if (chunks <= kLanes)
    {
        launchShort<Size, 1, kLanes>(stream, rows, chunks, function, outs, in);
    }
    else if (chunks <= 2 * kLanes)
    {
        launchShort<Size, 2, kLanes>(stream, rows, chunks, function, outs, in);
    }
    else if (chunks <= kFew * 512)
    {
        launchLong<Size, kFew, 512>(stream, rows, chunks, function, outs, in);
    }
    else if (chunks <= 2 * kFew * 1024)
    {
        launchLong<Size, 2 * kFew, 1024>(stream, rows, chunks, function, outs, in);
    }
    else
    {
        launchLong<Size, 0, 1024>(stream, rows, chunks, function, outs, in);
    }
}

} // namespace detail

//! Starts the kernel on a stream and returns at once; without elements it starts nothing.
//!
//! `function(row, out...)` gets the outputs in their order. `row.reduce(operation, f)` reduces f(x, ...) over the row,
//! where f gets a number of each input in their order; `row.map(f)` is the row of f(x, ...), with one number;
//! `row.write(out, f)` writes f(x, ...) into an output; `row.writeOne(out, number)` one number of the row into a
//! `rowOutput`. Every thread must call them, in the same order. An output may be one of the inputs.
//!
//! If a tensor doesn't begin at a multiple of 16 bytes, or rows aren't made of whole chunks, elements are taken one by
//! one.
template <typename Function, typename... Out, typename... In>
cudaError_t launchRows(cudaStream_t stream, int64_t rows, int64_t columns, Function const& function,
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
    constexpr int32_t kSize = detail::largest(Out::kSize..., In::kSize...);
    bool packed = columns % kSize == 0 && detail::canPackAll(outs);
    ((packed = canPack(in.data) && packed), ...);
    if (packed)
    {
        detail::launchRowsOf<kSize>(stream, rows, columns / kSize, function, outs, detail::inputsOf(in...));
    }
    else
    {
        detail::launchRowsOf<1>(stream, rows, columns, function, outs, detail::inputsOf(in...));
    }
    return cudaGetLastError();
}

//! Of one output.
template <typename Function, typename T, typename... In>
cudaError_t launchRows(cudaStream_t stream, int64_t rows, int64_t columns, Function const& function, Output<T> out,
                       In... in) noexcept
{
    return launchRows(stream, rows, columns, function, outputs(out), in...);
}

template <typename Function, typename T, typename... In>
cudaError_t launchRows(cudaStream_t stream, int64_t rows, int64_t columns, Function const& function, RowOutput<T> out,
                       In... in) noexcept
{
    return launchRows(stream, rows, columns, function, outputs(out), in...);
}

} // namespace pluginkit::kernels
