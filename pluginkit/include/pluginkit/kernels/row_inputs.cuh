//! Chunks of a matrix's rows, and what a function of rows reads of them; for normalize.cuh and select.cuh.
#pragma once

#include <pluginkit/kernels/tensors.cuh>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

namespace pluginkit::kernels::detail
{

//! Size neighbouring elements of a matrix. Whole: rows are made of chunks. If they aren't, a row's first and last chunk
//! are its neighbours', too.
template <int32_t Size, bool Whole>
struct Chunk
{
    int64_t index;    //!< in the matrix, counted in chunks
    int64_t column;   //!< of its first element; below 0, where that is of the row before
    int64_t columns;  //!< of a row
    bool last = true; //!< whether no row follows this one

    //! Whether all its elements are the row's.
    __device__ bool full() const
    {
        return Whole || (column >= 0 && column + Size <= columns);
    }

    __device__ bool has(int32_t j) const
    {
        return Whole || (column + j >= 0 && column + j < columns);
    }

    //! Whether all its elements are the tensor's.
    __device__ bool within() const
    {
        return Whole || !last || column + Size <= columns;
    }

    //! A bit for each element that is the row's: tested one by one, in far fewer instructions than columns compared.
    __device__ uint32_t present() const
    {
        constexpr uint32_t kAll = (uint32_t{1} << static_cast<uint32_t>(Size)) - 1;
        auto const before = static_cast<uint32_t>(Whole || column >= 0 ? 0 : -column);
        int64_t const over = Whole ? 0 : column + Size - columns;
        auto const behind = static_cast<uint32_t>(over <= 0 ? 0 : over < Size ? over : Size);
        return kAll << before & kAll >> behind;
    }
};

//! Whether a chunk's element j is among those whose bits are set.
inline __device__ bool isPresent(uint32_t present, int32_t j)
{
    return (present >> static_cast<uint32_t>(j) & 1U) != 0;
}

//! The most chunks that a row of so many elements has: one that isn't made of them may begin within a chunk, and end
//! within another.
template <int32_t Size, bool Whole>
__host__ __device__ constexpr int64_t chunksOf(int64_t columns)
{
    return Whole ? columns / Size : (columns + Size - 2) / Size + 1;
}

//! A row of a matrix.
template <int32_t Size, bool Whole>
struct RowPlace
{
    int64_t row;     //!< its number
    int64_t columns; //!< its elements
    int64_t first;   //!< its first chunk
    int64_t chunks;  //!< 0 where there is no such row: then a thread only takes part in exchanges
    int32_t skipped; //!< elements of the first chunk before the row
    bool last;       //!< of the matrix

    __device__ Chunk<Size, Whole> at(int64_t chunk) const
    {
        return {first + chunk, chunk * Size - skipped, columns, last};
    }
};

template <int32_t Size, bool Whole>
__device__ RowPlace<Size, Whole> placeOfRow(int64_t row, int64_t rows, int64_t columns)
{
    int64_t const begin = row * columns;
    int64_t const first = begin / Size;
    auto const skipped = static_cast<int32_t>(Whole ? 0 : begin - first * Size);
    int64_t const chunks = Whole ? columns / Size : (skipped + columns + Size - 1) / Size;
    return {row, columns, Whole ? row * chunks : first, row < rows ? chunks : 0, skipped, row + 1 >= rows};
}

//! A thread's row.
template <int32_t Size, bool Whole, typename Group>
struct Place : RowPlace<Size, Whole>
{
    Group group;
};

template <int32_t Size, bool Whole, typename Group>
__device__ Place<Size, Whole, Group> placeOf(Group const& group, int64_t row, int64_t rows, int64_t columns)
{
    return {placeOfRow<Size, Whole>(row, rows, columns), group};
}

//! A chunk of a row that isn't made of chunks: it begins at any column.
template <int32_t Size>
struct OddChunk : Chunk<Size, true>
{
};

//! A thread's row that isn't made of chunks: those that are the row's alone, and up to Size - 1 elements before and
//! behind them, of which some threads have one each.
template <int32_t Size, typename Group>
struct OddPlace
{
    int64_t row;
    int64_t columns;
    int64_t begin;  //!< of the row, in the matrix
    int64_t first;  //!< its first chunk, in the matrix
    int64_t chunks; //!< of the group; 0 where there is no such row
    bool present;   //!< whether there is such a row
    bool edges;     //!< whether the group has what is before and behind the chunks
    Group group;

    __device__ OddChunk<Size> at(int64_t chunk) const
    {
        return {{first + chunk, (first + chunk) * Size - begin, columns}};
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

template <int32_t Size, bool Whole, typename Group>
using PlaceOf = std::conditional_t<Whole, Place<Size, true, Group>, OddPlace<Size, Group>>;

//! Where a group's row is; if there is no such row it is the last one, of which nothing is written.
template <int32_t Size, bool Whole, typename Group>
__device__ PlaceOf<Size, Whole, Group> placeFor(Group const& group, int64_t row, int64_t rows, int64_t columns)
{
    bool const present = row < rows;
    row = present ? row : rows - 1;
    if constexpr (Whole)
    {
        Place<Size, true, Group> place{placeOfRow<Size, true>(row, rows, columns), group};
        place.chunks = present ? place.chunks : 0;
        return place;
    }
    else
    {
        int64_t const begin = row * columns;
        int64_t const first = (begin + Size - 1) / Size;
        int64_t const chunks = (begin + columns) / Size - first;
        return {row, columns, begin, first, present && chunks > 0 ? chunks : 0, present, present, group};
    }
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

    template <typename Chunk>
    __device__ void load(Input<T> const& in, Chunk const& chunk)
    {
        if (chunk.within())
        {
            loadPacks<Size>(in.data, chunk.index, packs); // what is of other rows in it counts for nothing
            return;
        }
        uint32_t const present = chunk.present();
        T elements[kPacks * Pack<T>::kSize] = {};
#pragma unroll
        for (int32_t j = 0; j < Size; ++j)
        {
            elements[j] = isPresent(present, j) ? in.data[chunk.index * Size + j] : T{};
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

//! The pack from element `first` on, of a tensor of `count` that begins at a multiple of 16 bytes, and reads nothing
//! behind it if `canLoadShifted`: of words, of which each two neighbours have four bytes of it.
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

template <typename T>
__device__ bool canLoadShifted(int64_t first, int64_t count)
{
    return first + Pack<T>::kSize + static_cast<int64_t>(sizeof(uint32_t) / sizeof(T)) <= count;
}

template <int32_t Size, bool Whole, typename T>
__device__ void loadOne(kernels::Row<T> const& in, Chunk<Size, Whole> const& chunk, float* numbers)
{
    if constexpr (Whole)
    {
        loadNumbers<Size>(in.data, chunk.column / Size, in.scale, numbers);
        return;
    }
    if constexpr (Size % Pack<T>::kSize == 0)
    {
        if (chunk.full() && canLoadShifted<T>(chunk.column + Size - Pack<T>::kSize, chunk.columns))
        {
#pragma unroll
            for (int32_t j = 0; j < Size; j += Pack<T>::kSize)
            {
                Conversion<T>::unpack(loadShifted(in.data, chunk.column + j), in.scale, numbers + j);
            }
            return;
        }
    }
    uint32_t const present = chunk.present();
#pragma unroll
    for (int32_t j = 0; j < Size; ++j)
    {
        numbers[j] = isPresent(present, j) ? toNumber(in.data[chunk.column + j], in.scale) : 0.0F;
    }
}

template <int32_t Size, typename T>
__device__ void loadOne(kernels::Row<T> const& in, OddChunk<Size> const& chunk, float* numbers)
{
    if constexpr (Size % Pack<T>::kSize == 0)
    {
        if (canLoadShifted<T>(chunk.column + Size - Pack<T>::kSize, chunk.columns))
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

template <int32_t Size, bool Whole, typename T>
__device__ void loadOne(Scalar<T> const& in, Chunk<Size, Whole> const& /*chunk*/, float* numbers)
{
    in.template load<Size>(0, numbers);
}

//! Some elements of a pack: those whose bits are set.
template <typename T>
__device__ void storeSome(T* tensor, int64_t index, Pack<T> const& pack, uint32_t present)
{
    T elements[Pack<T>::kSize];
    memcpy(&elements, &pack, sizeof elements);
    constexpr int32_t kInWord = static_cast<int32_t>(sizeof(uint32_t) / sizeof(T));
    constexpr uint32_t kAll = (uint32_t{1} << static_cast<uint32_t>(kInWord)) - 1;
#pragma unroll
    for (int32_t w = 0; w < kPackWords; ++w)
    {
        uint32_t const here = present >> static_cast<uint32_t>(w * kInWord) & kAll;
        if (here == kAll)
        {
            reinterpret_cast<uint32_t*>(tensor)[index * kPackWords + w] = pack.words[w];
        }
        else if (here != 0)
        {
#pragma unroll
            for (int32_t j = 0; j < kInWord; ++j)
            {
                if ((here >> static_cast<uint32_t>(j) & 1U) != 0)
                {
                    tensor[index * Pack<T>::kSize + w * kInWord + j] = elements[w * kInWord + j];
                }
            }
        }
    }
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
    uint32_t const present = chunk.present();
    if constexpr (Size % Pack<T>::kSize == 0 && sizeof(T) <= sizeof(uint32_t))
    {
        constexpr int32_t kSize = Pack<T>::kSize;
#pragma unroll
        for (int32_t j = 0; j < Size; j += kSize)
        {
            Pack<T> pack;
            Conversion<T>::pack(pack, numbers + j, out.inverse);
            storeSome(out.data, (chunk.index * Size + j) / kSize, pack, present >> static_cast<uint32_t>(j));
        }
    }
    else
    {
#pragma unroll
        for (int32_t j = 0; j < Size; ++j)
        {
            if (isPresent(present, j))
            {
                out.set(chunk.index * Size + j, numbers[j]);
            }
        }
    }
}

//! Results of a chunk's elements, folded into one number: each chunk by itself, so that no operation waits for those of
//! all chunks before.
template <int32_t Size, bool Whole, typename Operation>
__device__ float foldChunk(float result, Operation operation, Chunk<Size, Whole> const& chunk, float const* numbers)
{
    uint32_t const present = chunk.full() ? 0U : chunk.present();
    float folded = chunk.full() || isPresent(present, 0) ? numbers[0] : Operation::kIdentity;
    if (chunk.full())
    {
#pragma unroll
        for (int32_t j = 1; j < Size; ++j)
        {
            folded = operation(folded, numbers[j]);
        }
    }
    else
    {
#pragma unroll
        for (int32_t j = 1; j < Size; ++j)
        {
            folded = isPresent(present, j) ? operation(folded, numbers[j]) : folded;
        }
    }
    return operation(result, folded);
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
    __device__ void recall(float const (* /*held*/)[Size], Chunk const& /*chunk*/, bool /*has*/,
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

    //! All inputs' numbers: matrices' as they are held, the others' loaded, where there is such a chunk. What a
    //! function doesn't use of them costs nothing: the compiler leaves out the load.
    template <int32_t Size, typename Chunk>
    __device__ void recall(float const (*held)[Size], Chunk const& chunk, bool has, float (*numbers)[Size]) const
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

    template <int32_t Size, typename Chunk>
    __device__ void recall(float const (*held)[Size], Chunk const& /*chunk*/, bool /*has*/,
                           float (*numbers)[Size]) const
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
