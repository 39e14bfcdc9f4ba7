//! A tile of neighbouring rows of one-byte elements in a warp's shared memory: which thread has which words of a row,
//! and what inputs and outputs are to it; for tile_rows.cuh.
#pragma once

#include <pluginkit/kernels/row_kernels.cuh>
#include <pluginkit/kernels/staged_rows.cuh>
#include <pluginkit/kernels/warp_copies.cuh>

#include <cstddef>
#include <cstdint>

namespace pluginkit::kernels::detail
{

//! Four elements of memory, of which a row has some: all of them, but for the first and the last word of it.
struct TileWord
{
    int32_t index; //!< from the row's first word on
    uint32_t bits; //!< a bit for each element that is the row's
};

//! A row of a matrix in shared memory, from its first word on.
template <typename T>
struct TileInput
{
    T const* data;
    float scale;
};

template <typename T>
constexpr int32_t kIsMatrix<TileInput<T>> = 1;

template <typename T>
struct HeldElements<4, TileInput<T>>
{
    Pack<T> packs[1];

    __device__ void load(TileInput<T> const& in, TileWord const& word)
    {
        loadPacks<4>(in.data, word.index, packs);
    }

    __device__ void unpack(float scale, float* numbers) const
    {
        unpackNumbers<4>(packs, scale, numbers);
    }
};

//! A row that all rows share, as numbers in shared memory.
struct TileWeights
{
    float const* numbers;
};

inline __device__ void loadOne(TileWeights const& in, TileWord const& word, float* numbers)
{
    loadNumbers<4>(in.numbers, word.index, 1.0F, numbers);
}

template <typename T>
__device__ void loadOne(Scalar<T> const& in, TileWord const& /*word*/, float* numbers)
{
    in.template load<4>(0, numbers);
}

//! Who has which words of a row: threads have as many as one another, or one more.
struct TileShares
{
    int32_t words;
    int32_t each;
    int32_t more; //!< threads that have one more

    __device__ TileShares(int32_t words_, uint32_t laneBits)
        : words(words_), each(words_ >> laneBits), more(words_ - (each << laneBits))
    {
    }

    __device__ int32_t first(int32_t lane) const
    {
        return lane * each + min(lane, more);
    }

    __device__ int32_t laneOf(int32_t word) const
    {
        int32_t const inLonger = more * (each + 1);
        return word < inLonger ? word / (each + 1) : more + (word - inLonger) / each;
    }
};

//! How a shared row lies in shared memory: each thread's words apart from the next one's by an odd number of 16 bytes,
//! so that neighbouring threads read from other banks. Where rows aren't made of words there is a copy for each place
//! of a word at which a row can begin.
template <bool Whole>
struct TileSharing
{
    int32_t columns;
    uint32_t laneBits; //!< of as many threads, binary logarithm

    static constexpr int32_t kCopies = Whole ? 1 : 4;

    //! Of a thread's words, in words of four numbers.
    __host__ __device__ static int32_t apart(int32_t columns, uint32_t laneBits)
    {
        return (((columns + 6) / 4 >> laneBits) + 1) | 1;
    }

    //! Numbers of a row, with its copies.
    __host__ __device__ static int32_t numbers(int32_t columns, uint32_t laneBits)
    {
        return 4 * kCopies * (apart(columns, laneBits) << laneBits);
    }

    __device__ int32_t wordsOf(int32_t skipped) const
    {
        return (skipped + columns + 3) / 4;
    }

    //! From which the thread's words are found by their index.
    __device__ float const* from(float const* memory, int32_t skipped, int32_t lane, int32_t first) const
    {
        int32_t const before = Whole ? 0 : skipped << laneBits; // threads of the copies before
        return memory + 4 * ((before + lane) * apart(columns, laneBits) - first);
    }

    //! By all threads of a block.
    template <typename T>
    __device__ void copy(kernels::Row<T> const& in, float* memory) const
    {
        for (int32_t skipped = 0; skipped < kCopies; ++skipped)
        {
            TileShares const shares{wordsOf(skipped), laneBits};
            int32_t const numbers = 4 * shares.words; // some before the row and behind it, which are loaded in vain
            for (auto i = static_cast<int32_t>(threadIdx.x); i < numbers; i += static_cast<int32_t>(blockDim.x))
            {
                int32_t const column = i - skipped;
                int32_t const lane = shares.laneOf(i / 4);
                int32_t const place = ((skipped << laneBits) + lane) * apart(columns, laneBits);
                memory[4 * (place - shares.first(lane)) + i] =
                    column >= 0 && column < columns ? toNumber(in.data[column], in.scale) : 0.0F;
            }
        }
    }
};

//! What tensors are to a warp that has rows of them in shared memory.
template <typename Tensor>
struct TileType
{
    using Type = Tensor;
    static constexpr int32_t kShared = 0; //!< rows that all rows share

    __device__ static Type of(Tensor const& tensor, char const* /*row*/, float const* /*shared*/)
    {
        return tensor;
    }

    template <typename Sharing>
    __device__ static void share(Tensor const& /*tensor*/, Sharing const& /*sharing*/, float* /*shared*/)
    {
    }
};

template <typename T>
struct TileType<Input<T>>
{
    using Type = TileInput<T>;
    static constexpr int32_t kShared = 0;

    __device__ static Type of(Input<T> const& in, char const* row, float const* /*shared*/)
    {
        return {reinterpret_cast<T const*>(row), in.scale};
    }

    template <typename Sharing>
    __device__ static void share(Input<T> const& /*in*/, Sharing const& /*sharing*/, float* /*shared*/)
    {
    }
};

template <typename T>
struct TileType<kernels::Row<T>>
{
    using Type = TileWeights;
    static constexpr int32_t kShared = 1;

    __device__ static Type of(kernels::Row<T> const& /*in*/, char const* /*row*/, float const* shared)
    {
        return {shared};
    }

    template <typename Sharing>
    __device__ static void share(kernels::Row<T> const& in, Sharing const& sharing, float* shared)
    {
        sharing.copy(in, shared);
    }
};

//! `row` is where the thread's row of the matrix is, `shared` where its words of the first shared row are, and `apart`
//! how far from them those of the next one.
inline __device__ Inputs<> inTile(Inputs<> const& /*in*/, char const* /*row*/, float const* /*shared*/,
                                  int32_t /*apart*/)
{
    return {};
}

template <typename First, typename... Rest>
__device__ auto inTile(Inputs<First, Rest...> const& in, char const* row, float const* shared, int32_t apart)
    -> Inputs<typename TileType<First>::Type, typename TileType<Rest>::Type...>
{
    return {TileType<First>::of(in.first, row, shared),
            inTile(in.rest, row, shared + TileType<First>::kShared * apart, apart)};
}

//! Converts the rows that all rows share, by all threads of a block.
template <typename Sharing>
__device__ void shareRows(Inputs<> const& /*in*/, Sharing const& /*sharing*/, float* /*shared*/, int32_t /*apart*/)
{
}

template <typename Sharing, typename First, typename... Rest>
__device__ void shareRows(Inputs<First, Rest...> const& in, Sharing const& sharing, float* shared, int32_t apart)
{
    TileType<First>::share(in.first, sharing, shared);
    shareRows(in.rest, sharing, shared + TileType<First>::kShared * apart, apart);
}

template <typename... In>
__host__ __device__ constexpr int32_t sharedByTiles(Inputs<In...> const* /*in*/)
{
    return (0 + ... + TileType<In>::kShared);
}

inline __device__ void loadTile(Inputs<> const& /*in*/, WarpPart const& /*part*/, char* /*memory*/) {}

template <typename First, typename... Rest>
__device__ void loadTile(Inputs<First, Rest...> const& in, WarpPart const& part, char* memory)
{
    if constexpr (Staging<First>::kStaged)
    {
        part.load(reinterpret_cast<char const*>(in.first.data), memory);
    }
    loadTile(in.rest, part, memory);
}

template <typename First, typename... Rest>
__device__ void storeTile(Outputs<First, Rest...> const& outs, WarpPart const& part, char const* memory, size_t stride)
{
    if constexpr (Staging<First>::kStaged)
    {
        part.store(reinterpret_cast<char*>(outs.first.data), memory);
    }
    if constexpr (sizeof...(Rest) > 0)
    {
        storeTile(outs.rest, part, Staging<First>::kStaged ? memory + stride : memory, stride);
    }
}

} // namespace pluginkit::kernels::detail
