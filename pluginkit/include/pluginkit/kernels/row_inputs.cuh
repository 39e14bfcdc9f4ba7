//! Chunks of a matrix's rows, and what a function of rows reads of them; for normalize.cuh.
#pragma once

#include <pluginkit/kernels/tensors.cuh>

#include <cstddef>
#include <cstdint>
#include <utility>

namespace pluginkit::kernels::detail
{

//! Size neighbouring elements of a matrix, all of one row. Whole: rows are made of chunks. If they aren't, one begins
//! at any column.
template <int32_t Size, bool Whole>
struct Chunk
{
    int64_t index;   //!< in the matrix, counted in chunks
    int64_t column;  //!< of its first element
    int64_t columns; //!< of the row
};

//! A group's row, or what a block of a cluster has of it: chunks, and up to Size - 1 elements before and behind those,
//! of which some threads have one each.
template <int32_t Size, bool Whole, typename Group>
struct Place
{
    int64_t row;
    int64_t columns;
    int64_t begin;  //!< of the row, in the matrix
    int64_t first;  //!< its first chunk, in the matrix
    int64_t chunks; //!< of the group; 0 where there is no such row
    bool present;   //!< whether there is such a row; if not, it is another one, and nothing is written
    bool edges;     //!< whether the group has what is before and behind the chunks
    Group group;

    __device__ Chunk<Size, Whole> at(int64_t chunk) const
    {
        return {first + chunk, (first + chunk) * Size - begin, columns};
    }

    //! The column of the thread's single element; -1 where it has none.
    __device__ int64_t edge() const
    {
        constexpr int64_t kSize = Size;
        auto const thread = static_cast<int64_t>(group.thread());
        int64_t const start = (begin + kSize - 1) / kSize * kSize - begin; // of the chunks
        int64_t const end = (begin + columns) / kSize * kSize - begin;
        int64_t const column = thread < kSize ? thread : end + thread - kSize;
        bool const has = thread < kSize ? column < start && column < columns
                                        : thread < 2 * kSize && column < columns && end >= start;
        return edges && has ? column : -1;
    }

    __device__ Chunk<1, true> single(int64_t column) const
    {
        return {begin + column, column, columns};
    }
};

//! Where a group's row is.
template <int32_t Size, bool Whole, typename Group>
__device__ Place<Size, Whole, Group> placeFor(Group const& group, int64_t row, int64_t rows, int64_t columns)
{
    bool const present = row < rows;
    int64_t const begin = (present ? row : rows - 1) * columns;
    int64_t const first = Whole ? begin / Size : (begin + Size - 1) / Size;
    int64_t const chunks = Whole ? columns / Size : (begin + columns) / Size - first;
    return {row, columns, begin, first, present && chunks > 0 ? chunks : 0, present, present, group};
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

//! What is loaded of an input before it is converted: of a matrix its elements, of another nothing. All of a thread's
//! chunks are loaded before the first is converted: so many loads are under way at once.
template <int32_t Size, typename In>
struct HeldElements
{
};

template <int32_t Size, typename T>
struct HeldElements<Size, Input<T>>
{
    Pack<T> packs[kPacksOf<Size, T>];

    template <typename Chunk>
    __device__ void load(Input<T> const& in, Chunk const& chunk)
    {
        loadPacks<Size>(in.data, chunk.index, packs);
    }

    __device__ void unpack(float scale, float* numbers) const
    {
        unpackNumbers<Size>(packs, scale, numbers);
    }
};

template <typename T>
struct HeldElements<1, Input<T>>
{
    T element;

    template <typename Chunk>
    __device__ void load(Input<T> const& in, Chunk const& chunk)
    {
        element = in.data[chunk.index];
    }

    __device__ void unpack(float scale, float* numbers) const
    {
        numbers[0] = toNumber(element, scale);
    }
};

template <int32_t Size, bool Whole, typename T>
__device__ void loadOne(Input<T> const& in, Chunk<Size, Whole> const& chunk, float* numbers)
{
    loadNumbers<Size>(in.data, chunk.index, in.scale, numbers);
}

//! The pack from element `first` on, of a tensor that begins at a multiple of 16 bytes, and a word behind it: of words,
//! of which each two neighbours have four bytes of it.
template <typename T>
__device__ Pack<T> loadShifted(T const* tensor, int64_t first)
{
    int64_t const begin = first * static_cast<int64_t>(sizeof(T));
    auto const* const words = reinterpret_cast<uint32_t const*>(tensor) + begin / 4;
    auto const shift = 8 * static_cast<uint32_t>(begin % 4);
    Pack<T> result;
#pragma unroll
    for (int32_t w = 0; w < kPackWords; ++w)
    {
        result.words[w] = sizeof(T) >= sizeof(uint32_t) ? words[w] : __funnelshift_r(words[w], words[w + 1], shift);
    }
    return result;
}

template <int32_t Size, bool Whole, typename T>
__device__ void loadOne(kernels::Row<T> const& in, Chunk<Size, Whole> const& chunk, float* numbers)
{
    if constexpr (Whole)
    {
        loadNumbers<Size>(in.data, chunk.column / Size, in.scale, numbers);
    }
    else
    {
        if constexpr (Size % Pack<T>::kSize == 0)
        {
            // Nothing is read behind the row.
            if (chunk.column + Size + static_cast<int64_t>(sizeof(uint32_t) / sizeof(T)) <= chunk.columns)
            {
#pragma unroll
                for (int32_t j = 0; j < Size; j += Pack<T>::kSize)
                {
                    Conversion<T>::unpack(loadShifted(in.data, chunk.column + j), in.scale, numbers + j);
                }
                return;
            }
        }
#pragma unroll
        for (int32_t j = 0; j < Size; ++j)
        {
            numbers[j] = toNumber(in.data[chunk.column + j], in.scale);
        }
    }
}

template <int32_t Size, bool Whole, typename T>
__device__ void loadOne(Scalar<T> const& in, Chunk<Size, Whole> const& /*chunk*/, float* numbers)
{
    in.template load<Size>(0, numbers);
}

//! The inputs themselves: a matrix at its chunk, a shared row at its column. Nothing behind the last.
template <typename... In>
struct Inputs
{
    static constexpr int32_t kCount = 0;
    static constexpr int32_t kMatrices = 0;

    template <int32_t Size, typename Chunk>
    __device__ void loadAt(Chunk const& /*chunk*/, float (* /*numbers*/)[Size]) const
    {
    }

    template <int32_t Size>
    struct Raw
    {
    };

    template <int32_t Size, typename Chunk>
    __device__ void load(Chunk const& /*chunk*/, Raw<Size>& /*raw*/) const
    {
    }

    template <int32_t Size>
    __device__ void unpack(Raw<Size> const& /*raw*/, float (* /*held*/)[Size]) const
    {
    }

    template <int32_t Size, typename Chunk>
    __device__ void recall(float const (* /*held*/)[Size], Chunk const& /*chunk*/, float (* /*numbers*/)[Size]) const
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

    template <int32_t Size, typename Chunk>
    __device__ void loadAt(Chunk const& chunk, float (*numbers)[Size]) const
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

    template <int32_t Size, typename Chunk>
    __device__ void load(Chunk const& chunk, Raw<Size>& raw) const
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

    //! All inputs' numbers: matrices' as they are held, the others' loaded. What a function doesn't use of them costs
    //! nothing: the compiler leaves out the load.
    template <int32_t Size, typename Chunk>
    __device__ void recall(float const (*held)[Size], Chunk const& chunk, float (*numbers)[Size]) const
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
            loadOne(first, chunk, numbers[0]);
        }
        rest.recall(held + kIsMatrix<First>, chunk, numbers + 1);
    }
};

//! Of a mapped row, which has no inputs of its own.
struct Mapped
{
    static constexpr int32_t kCount = 1;
    static constexpr int32_t kMatrices = 1;

    template <int32_t Size, typename Chunk>
    __device__ void recall(float const (*held)[Size], Chunk const& /*chunk*/, float (*numbers)[Size]) const
    {
#pragma unroll
        for (int32_t j = 0; j < Size; ++j)
        {
            numbers[0][j] = held[0][j];
        }
    }
};

//! What a mapped row's numbers are made of, where they don't fit into registers: of the inputs, each time again.
template <typename Source, typename Function>
struct MappedLoad
{
    static constexpr int32_t kCount = 1;

    Source source;
    Function function;

    template <int32_t Size, typename Chunk>
    __device__ void loadAt(Chunk const& chunk, float (*numbers)[Size]) const
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
