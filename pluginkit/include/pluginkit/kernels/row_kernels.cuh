//! A row as its function sees it, in registers or read again in each step, and the kernel; for normalize.cuh.
#pragma once

#include <pluginkit/kernels/launch.cuh>
#include <pluginkit/kernels/row_groups.cuh>
#include <pluginkit/kernels/row_inputs.cuh>

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

template <typename T>
RowOutput<T> rowOutput(pluginkit::Output const& tensor) noexcept
{
    return rowOutput<T>(tensor.data, tensor.scale);
}

namespace detail
{

template <typename Place, typename T>
__device__ void setOne(Place const& place, RowOutput<T> const& out, float number)
{
    if (place.present && place.group.first())
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

//! A factor of all numbers that are written: of an output with a scale it is one of the scale, which costs nothing an
//! element.
template <typename T>
__device__ Output<T> multiplied(Output<T> const& out, float factor)
{
    constexpr float kMost = 3.402823466e+38F; // the largest float
    return {out.data, kScaled<T> ? fminf(fmaxf(out.inverse * factor, -kMost), kMost) : out.inverse};
}

template <typename T, int32_t Size>
__device__ void multiply(float factor, float (&results)[Size])
{
#pragma unroll
    for (int32_t j = 0; j < Size; ++j)
    {
        results[j] = kScaled<T> ? results[j] : results[j] * factor;
    }
}

//! Results of a chunk's elements, folded into one number: each chunk by itself, so that no operation waits for those of
//! all chunks before.
template <typename Operation, int32_t Size>
__device__ float foldAll(float result, Operation operation, float const (&results)[Size])
{
    float folded = results[0];
#pragma unroll
    for (int32_t j = 1; j < Size; ++j)
    {
        folded = operation(folded, results[j]);
    }
    return operation(result, folded);
}

template <typename T, int32_t Size>
__device__ void storeChunk(Output<T> const& out, int64_t index, float const (&results)[Size])
{
    out.template store<Size>(index, results);
}

//! A row whose numbers are loaded in each step: `Source` knows how.
template <int32_t Size, bool Whole, typename Group, typename Source>
struct StreamedRow
{
    Place<Size, Whole, Group> place;
    Source source;

    //! Calls `visit(chunk, results)` with the function of the elements of each chunk of the thread.
    template <typename Function, typename Visit>
    __device__ void each(Function const& function, Visit const& visit) const
    {
        for (int64_t c = place.group.thread(); c < place.chunks; c += place.group.threads())
        {
            auto const chunk = place.at(c);
            float numbers[Source::kCount][Size];
            source.loadAt(chunk, numbers);
            float results[Size];
            applyAll(function, numbers, results);
            visit(chunk, results);
        }
        if constexpr (!Whole)
        {
            if (int64_t const column = place.edge(); column >= 0)
            {
                float numbers[Source::kCount][1];
                source.loadAt(place.single(column), numbers);
                float results[1];
                applyAll(function, numbers, results);
                visit(place.single(column), results);
            }
        }
    }

    template <typename Operation, typename Function>
    __device__ float reduce(Operation operation, Function const& function) const
    {
        float result = Operation::kIdentity;
        each(function,
             [&](auto const& /*chunk*/, auto const& results) { result = foldAll(result, operation, results); });
        return place.group.reduce(result, operation);
    }

    template <typename Function>
    __device__ auto map(Function function) const
    {
        return StreamedRow<Size, Whole, Group, MappedLoad<Source, Function>>{place, {source, function}};
    }

    template <typename T, typename Function>
    __device__ void write(Output<T> const& out, Function const& function, float factor = 1.0F) const
    {
        auto const scaled = multiplied(out, factor);
        each(function,
             [&](auto const& chunk, auto& results)
             {
                 multiply<T>(factor, results);
                 storeChunk(scaled, chunk.index, results);
             });
    }

    template <typename T>
    __device__ void writeOne(RowOutput<T> const& out, float number) const
    {
        setOne(place, out, number);
    }
};

//! A row in registers: of at most Chunks chunks a thread, the matrices' numbers. Each thread has the first Sure chunks.
template <int32_t Size, bool Whole, int32_t Chunks, int32_t Sure, typename Group, typename In>
struct HeldRow
{
    Place<Size, Whole, Group> place;
    In in;
    float held[Chunks][In::kMatrices][Size];
    float edge[In::kMatrices][1]; //!< of rows that aren't made of chunks

    //! Of a thread without chunk k: the row's first one, which can be loaded, and counts for nothing. A condition at
    //! each load would double what is done to the chunk.
    template <typename Where>
    __device__ static int32_t chunkAt(Where const& where, int32_t k)
    {
        auto const chunk =
            static_cast<int32_t>(where.group.thread() + static_cast<uint32_t>(k) * where.group.threads());
        return k < Sure || chunk < where.chunks ? chunk : 0;
    }

    __device__ bool has(int32_t k) const
    {
        return k < Sure || static_cast<int32_t>(place.group.thread() +
                                                static_cast<uint32_t>(k) * place.group.threads()) < place.chunks;
    }

    //! All of a thread's chunks are loaded before the first is converted: so many loads are under way at once.
    template <typename Raw, typename RawEdge>
    __device__ void load(Place<Size, Whole, Group> const& from, Raw (&raw)[Chunks], RawEdge& rawEdge) const
    {
        if constexpr (!Whole)
        {
            int64_t const column = from.edge();
            in.load(from.single(column < 0 ? 0 : column), rawEdge);
        }
#pragma unroll
        for (int32_t k = 0; k < Chunks; ++k)
        {
            in.load(from.at(chunkAt(from, k)), raw[k]);
        }
    }

    template <typename Raw, typename RawEdge>
    __device__ void unpack(Raw const (&raw)[Chunks], RawEdge const& rawEdge)
    {
        if constexpr (!Whole)
        {
            in.unpack(rawEdge, edge);
        }
#pragma unroll
        for (int32_t k = 0; k < Chunks; ++k)
        {
            in.unpack(raw[k], held[k]);
        }
    }

    //! The function of each element of chunk k, whose numbers are `mine`; where there is no such chunk, of anything:
    //! what all threads do alike leaves nothing to wait for. (They are an argument since g++ takes functions of several
    //! kinds of rows for one, and would warn of that one's array.)
    template <typename Function>
    __device__ void apply(int32_t k, float const (*mine)[Size], Function const& function, float (&results)[Size]) const
    {
        float numbers[In::kCount][Size];
        in.recall(mine, place.at(chunkAt(place, k)), numbers);
        applyAll(function, numbers, results);
    }

    template <typename Function>
    __device__ float applyEdge(int64_t column, Function const& function) const
    {
        float numbers[In::kCount][1];
        in.recall(edge, place.single(column < 0 ? 0 : column), numbers);
        float results[1];
        applyAll(function, numbers, results);
        return results[0];
    }

    template <typename Operation, typename Function>
    __device__ float reduce(Operation operation, Function const& function) const
    {
        float result = Operation::kIdentity;
        if constexpr (!Whole)
        {
            int64_t const column = place.edge();
            float const single = applyEdge(column, function);
            result = column >= 0 ? single : result;
        }
#pragma unroll
        for (int32_t k = 0; k < Chunks; ++k)
        {
            float results[Size];
            apply(k, held[k], function, results);
            float const folded = foldAll(result, operation, results);
            result = has(k) ? folded : result;
        }
        return place.group.reduce(result, operation);
    }

    template <typename Function>
    __device__ auto map(Function const& function) const
    {
        HeldRow<Size, Whole, Chunks, Sure, Group, Mapped> mapped{place, {}, {}, {}};
        if constexpr (!Whole)
        {
            mapped.edge[0][0] = applyEdge(place.edge(), function);
        }
#pragma unroll
        for (int32_t k = 0; k < Chunks; ++k)
        {
            apply(k, held[k], function, mapped.held[k][0]);
        }
        return mapped;
    }

    template <typename T, typename Function>
    __device__ void write(Output<T> const& out, Function const& function, float factor = 1.0F) const
    {
        if (Sure > 0 && place.chunks == 0)
        {
            return; // there is no such row
        }
        auto const scaled = multiplied(out, factor);
        if constexpr (!Whole)
        {
            if (int64_t const column = place.edge(); column >= 0)
            {
                float results[1] = {applyEdge(column, function)};
                multiply<T>(factor, results);
                storeChunk(scaled, place.single(column).index, results);
            }
        }
#pragma unroll
        for (int32_t k = 0; k < Chunks; ++k)
        {
            float results[Size];
            apply(k, held[k], function, results);
            multiply<T>(factor, results);
            if (has(k))
            {
                storeChunk(scaled, place.at(chunkAt(place, k)).index, results);
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

//! Of this many threads a block of `rowsKernel` has at most.
template <int32_t Threads, typename Values>
constexpr int32_t kThreadsOf = Values::kThreads > Threads ? Values::kThreads : Threads;

} // namespace detail

//! `lanes` threads have a row in registers, each Chunks chunks or, if rows are made of chunks, one less; 0: the row is
//! read again in each step. At least Blocks blocks of Threads threads share a multiprocessor's registers.
template <int32_t Size, bool Whole, int32_t Chunks, int32_t Sure, int32_t Threads, int32_t Blocks, typename Function,
          typename Outs, typename In>
__global__ void __launch_bounds__(Threads, detail::heldBlocks(Threads, Blocks))
    rowsKernel(Function const function, int64_t rows, int64_t columns, uint32_t lanes, Outs const outs, In const in)
{
    using Group = detail::RowGroup;
    __shared__ alignas(16) float scratch[detail::kTurns * kWarps];
    uint32_t turn = 0;
    Group const group{{scratch, &turn}, lanes};
    int64_t const number = static_cast<int64_t>(blockIdx.x) * group.groups() + group.number();
    auto const place = detail::placeFor<Size, Whole>(group, number, rows, columns);
    detail::waitForStream();
    if constexpr (Chunks == 0)
    {
        detail::callOnRow(function, detail::StreamedRow<Size, Whole, Group, In>{place, in}, outs);
    }
    else
    {
        detail::HeldRow<Size, Whole, Chunks, Sure, Group, In> row{place, in, {}, {}};
        typename In::template Raw<Size> raw[Chunks] = {};
        typename In::template Raw<1> rawEdge = {};
        row.load(place, raw, rawEdge);
        row.unpack(raw, rawEdge);
        detail::callOnRow(function, row, outs);
    }
}

} // namespace pluginkit::kernels
