//! Chunks of a matrix's rows, and what a function of rows reads of them; for normalize.cuh and select.cuh.
#pragma once

#include <pluginkit/kernels/shifted.cuh>
#include <pluginkit/kernels/tensors.cuh>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

namespace pluginkit::kernels::detail
{

//! Size neighbouring elements of a matrix. Whole: rows are made of chunks. If they aren't, a row's first and last chunk
//! are its neighbours', too.
template <int32_t Size, bool Whole>
struct Chunk
{
    int64_t index;   //!< in the matrix, counted in chunks
    int64_t column;  //!< of its first element; below 0, where that is of the row before
    int64_t columns; //!< of a row

    //! Whether all its elements are the row's.
    __device__ bool full() const
    {
        return Whole || (column >= 0 && column + Size <= columns);
    }

    __device__ bool has(int32_t j) const
    {
        return Whole || (column + j >= 0 && column + j < columns);
    }
};

//! A row of a matrix.
template <int32_t Size, bool Whole>
struct RowPlace
{
    int64_t row;     //!< its number
    int64_t columns; //!< its elements
    int64_t first;   //!< its first chunk
    int64_t chunks;  //!< 0 where there is no such row: then a thread only takes part in exchanges
    int32_t skipped; //!< elements of the first chunk before the row

    __device__ Chunk<Size, Whole> at(int64_t chunk) const
    {
        return {first + chunk, chunk * Size - skipped, columns};
    }
};

template <int32_t Size, bool Whole>
__device__ RowPlace<Size, Whole> placeOfRow(int64_t row, int64_t rows, int64_t columns)
{
    int64_t const begin = row * columns;
    int64_t const first = begin / Size;
    auto const skipped = static_cast<int32_t>(Whole ? 0 : begin - first * Size);
    int64_t const chunks = Whole ? columns / Size : (skipped + columns + Size - 1) / Size;
    return {row, columns, Whole ? row * chunks : first, row < rows ? chunks : 0, skipped};
}

//! A thread's row.
template <int32_t Size, bool Whole, typename Group>
struct Place : RowPlace<Size, Whole>
{
    Group group;
};

template <int32_t Size, bool Whole, typename Group>
__device__ Place<Size, Whole, Group> placeOf(Group const& group, int64_t rows, int64_t columns)
{
    return {placeOfRow<Size, Whole>(group.row(), rows, columns), group};
}

//! How many matrices are among inputs: those are kept in registers, where rows are.
template <typename T>
constexpr int32_t kIsMatrix = 0;

template <typename T>
constexpr int32_t kIsMatrix<Input<T>> = 1;

//! Whether an input is a row that all rows share, of elements of four bytes or more.
template <typename T>
constexpr int32_t kIsWideRow = 0;

template <typename T>
constexpr int32_t kIsWideRow<kernels::Row<T>> = sizeof(T) >= 4 ? 1 : 0;

//! What is loaded of an input before it is converted: of a matrix its elements, of another nothing.
template <int32_t Size, typename In>
struct HeldElements
{
};

//! A chunk of a matrix as it is in memory. All of a thread's chunks are loaded before the first is converted: so many
//! loads are under way at once.
template <int32_t Size, typename T>
struct Elements
{
    static constexpr int32_t kPacks = kPacksOf<Size, T>;

    Pack<T> packs[kPacks];

    template <bool Whole>
    __device__ void load(Input<T> const& in, Chunk<Size, Whole> const& chunk)
    {
        if (chunk.full())
        {
            loadPacks<Size>(in.data, chunk.index, packs);
            return;
        }
        T elements[kPacks * Pack<T>::kSize] = {};
#pragma unroll
        for (int32_t j = 0; j < Size; ++j)
        {
            elements[j] = chunk.has(j) ? in.data[chunk.index * Size + j] : T{};
        }
        memcpy(&packs, &elements, sizeof packs);
    }

    __device__ void unpack(float scale, float* numbers) const
    {
        unpackNumbers<Size>(packs, scale, numbers);
    }
};

template <typename T>
struct Elements<1, T>
{
    T element;

    template <bool Whole>
    __device__ void load(Input<T> const& in, Chunk<1, Whole> const& chunk)
    {
        if (chunk.full())
        {
            element = in.data[chunk.index];
        }
    }

    __device__ void unpack(float scale, float* numbers) const
    {
        numbers[0] = toNumber(element, scale);
    }
};

template <int32_t Size, typename T>
struct HeldElements<Size, Input<T>> : Elements<Size, T>
{
};

template <int32_t Size, bool Whole, typename T>
__device__ void loadOne(Input<T> const& in, Chunk<Size, Whole> const& chunk, float* numbers)
{
    Elements<Size, T> elements;
    elements.load(in, chunk);
    elements.unpack(in.scale, numbers);
}

template <int32_t Size, bool Whole, typename T>
__device__ void loadOne(kernels::Row<T> const& in, Chunk<Size, Whole> const& chunk, float* numbers)
{
    if constexpr (Whole)
    {
        loadNumbers<Size>(in.data, chunk.column / Size, in.scale, numbers);
    }
    else if (chunk.full() && canLoadShifted<T>(chunk.column + Size - Pack<T>::kSize, chunk.columns))
    {
#pragma unroll
        for (int32_t j = 0; j < Size; j += Pack<T>::kSize)
        {
            Conversion<T>::unpack(loadShifted(in.data, chunk.column + j), in.scale, numbers + j);
        }
    }
    else
    {
#pragma unroll
        for (int32_t j = 0; j < Size; ++j)
        {
            numbers[j] = chunk.has(j) ? toNumber(in.data[chunk.column + j], in.scale) : 0.0F;
        }
    }
}

template <int32_t Size, bool Whole, typename T>
__device__ void loadOne(Scalar<T> const& in, Chunk<Size, Whole> const& /*chunk*/, float* numbers)
{
    in.template load<Size>(0, numbers);
}

//! A chunk's results; elements that are of other rows stay as they are.
template <int32_t Size, bool Whole, typename T>
__device__ void storeOne(Output<T> const& out, Chunk<Size, Whole> const& chunk, float const* numbers)
{
    if (chunk.full())
    {
        out.template store<Size>(chunk.index, numbers);
        return;
    }
#pragma unroll
    for (int32_t j = 0; j < Size; ++j)
    {
        if (chunk.has(j))
        {
            out.set(chunk.index * Size + j, numbers[j]);
        }
    }
}

//! Results of a chunk's elements, folded into one number.
template <int32_t Size, bool Whole, typename Operation>
__device__ float foldChunk(float result, Operation operation, Chunk<Size, Whole> const& chunk, float const* numbers)
{
    if (chunk.full())
    {
#pragma unroll
        for (int32_t j = 0; j < Size; ++j)
        {
            result = operation(result, numbers[j]);
        }
        return result;
    }
#pragma unroll
    for (int32_t j = 0; j < Size; ++j)
    {
        result = chunk.has(j) ? operation(result, numbers[j]) : result;
    }
    return result;
}

//! The inputs themselves: a matrix at its chunk, a shared row at its column. Nothing behind the last.
template <typename... In>
struct Inputs
{
    static constexpr int32_t kCount = 0;
    static constexpr int32_t kMatrices = 0;

    template <int32_t Size, bool Whole>
    __device__ void loadAt(Chunk<Size, Whole> const& /*chunk*/, float (* /*numbers*/)[Size]) const
    {
    }

    template <int32_t Size>
    struct Raw
    {
    };

    template <int32_t Size, bool Whole>
    __device__ void load(Chunk<Size, Whole> const& /*chunk*/, Raw<Size>& /*raw*/) const
    {
    }

    template <int32_t Size>
    __device__ void unpack(Raw<Size> const& /*raw*/, float (* /*held*/)[Size]) const
    {
    }

    template <int32_t Size, bool Whole>
    __device__ void recall(float const (* /*held*/)[Size], Chunk<Size, Whole> const& /*chunk*/, bool /*has*/,
                           float (* /*numbers*/)[Size]) const
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

    template <int32_t Size, bool Whole>
    __device__ void loadAt(Chunk<Size, Whole> const& chunk, float (*numbers)[Size]) const
    {
        loadOne(first, chunk, numbers[0]);
        rest.loadAt(chunk, numbers + 1);
    }

    //! A chunk of each matrix, as it is in memory.
    template <int32_t Size>
    struct Raw
    {
        HeldElements<Size, First> first;
        typename Inputs<Rest...>::template Raw<Size> rest;
    };

    template <int32_t Size, bool Whole>
    __device__ void load(Chunk<Size, Whole> const& chunk, Raw<Size>& raw) const
    {
        if constexpr (kIsMatrix<First> == 1)
        {
            raw.first.load(first, chunk);
        }
        rest.load(chunk, raw.rest);
    }

    template <int32_t Size>
    __device__ void unpack(Raw<Size> const& raw, float (*held)[Size]) const
    {
        if constexpr (kIsMatrix<First> == 1)
        {
            raw.first.unpack(first.scale, held[0]);
        }
        rest.unpack(raw.rest, held + kIsMatrix<First>);
    }

    //! All inputs' numbers: matrices' as they are held, the others' loaded, where there is such a chunk. What a
    //! function doesn't use of them costs nothing: the compiler leaves out the load.
    template <int32_t Size, bool Whole>
    __device__ void recall(float const (*held)[Size], Chunk<Size, Whole> const& chunk, bool has,
                           float (*numbers)[Size]) const
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
#pragma unroll
            for (int32_t j = 0; j < Size; ++j)
            {
                numbers[0][j] = 0.0F;
            }
            if (has)
            {
                loadOne(first, chunk, numbers[0]);
            }
        }
        rest.recall(held + kIsMatrix<First>, chunk, has, numbers + 1);
    }
};

//! Of a mapped row, which has no inputs of its own.
struct Mapped
{
    static constexpr int32_t kCount = 1;
    static constexpr int32_t kMatrices = 1;

    template <int32_t Size, bool Whole>
    __device__ void recall(float const (*held)[Size], Chunk<Size, Whole> const& /*chunk*/, bool /*has*/,
                           float (*numbers)[Size]) const
    {
#pragma unroll
        for (int32_t j = 0; j < Size; ++j)
        {
            numbers[0][j] = held[0][j];
        }
    }
};

//! What a mapped row's numbers are made of, where they don't fit into registers: of the inputs, each time anew.
template <typename Source, typename Function>
struct MappedLoad
{
    static constexpr int32_t kCount = 1;

    Source source;
    Function function;

    template <int32_t Size, bool Whole>
    __device__ void loadAt(Chunk<Size, Whole> const& chunk, float (*numbers)[Size]) const
    {
        float inputs[Source::kCount][Size];
        source.loadAt(chunk, inputs);
#pragma unroll
        for (int32_t j = 0; j < Size; ++j)
        {
            numbers[0][j] = applied(function, inputs, j, std::make_index_sequence<Source::kCount>{});
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

} // namespace pluginkit::kernels::detail
