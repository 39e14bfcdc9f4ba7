//! Matrices with rows and columns exchanged, at nearly the speed of the memory; so NCHW becomes NHWC, and back.
//! Elements of 1, 2 or 4 bytes are moved as they are, whatever they stand for; quantized ones are converted, where the
//! tensors' scales differ.
//!
//!     kernels::launchTranspose<__half>(stream, images, channels, height * width, x, y);   // NCHW to NHWC
//!     kernels::launchTranspose(stream, images, channels, height * width, kernels::output<int8_t>(y, yScale),
//!                              kernels::input<int8_t>(x, xScale));
#pragma once

#include <pluginkit/kernels/launch.cuh>
#include <pluginkit/kernels/tensors.cuh>
#include <pluginkit/kernels/tuning.cuh>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace pluginkit::kernels
{

namespace detail
{

constexpr int32_t kTransposeThreads = 256; //!< of a block
constexpr int32_t kTileWords = 32;         //!< a tile's rows and columns, in words of 4 bytes

//! Exchanges rows and columns of a square of elements: `rows[r].words[w]` are elements of row r, and word r' of the
//! result's column c are those of column c.
template <int32_t Bytes>
__device__ void transposeSquare(uint32_t (&words)[4 / Bytes])
{
    if constexpr (Bytes == 2)
    {
        uint32_t const a = words[0];
        uint32_t const b = words[1];
        words[0] = __byte_perm(a, b, 0x5410U);
        words[1] = __byte_perm(a, b, 0x7632U);
    }
    else if constexpr (Bytes == 1)
    {
        uint32_t const ab = __byte_perm(words[0], words[1], 0x5140U); // a0 b0 a1 b1
        uint32_t const cd = __byte_perm(words[2], words[3], 0x5140U);
        uint32_t const abHigh = __byte_perm(words[0], words[1], 0x7362U);
        uint32_t const cdHigh = __byte_perm(words[2], words[3], 0x7362U);
        words[0] = __byte_perm(ab, cd, 0x5410U);
        words[1] = __byte_perm(ab, cd, 0x7632U);
        words[2] = __byte_perm(abHigh, cdHigh, 0x5410U);
        words[3] = __byte_perm(abHigh, cdHigh, 0x7632U);
    }
}

//! Where word `w` of a tile's column lies in shared memory: so placed that the 32 threads of a warp write to, and read
//! from, 32 different banks.
__device__ inline int32_t tilePlace(int32_t column, int32_t word, int32_t perPack)
{
    return column * kTileWords + (word ^ (4 * (column / perPack % 8)));
}

//! The matrices' tiles, as blocks have them: one of a row behind another.
struct Tiles
{
    int64_t rows;
    int64_t columns;
    Divisor wide; //!< tiles of a row of them
    Divisor high; //!< rows of tiles of a matrix
};

//! A block's tile: where its matrix begins, and which rows and columns of that it has.
struct TileOfBlock
{
    int64_t plane;
    int64_t row;
    int64_t column;

    __device__ TileOfBlock(Tiles const& tiles, int32_t size)
    {
        auto const block = static_cast<int32_t>(blockIdx.x);
        int32_t const line = tiles.wide.quotient(block);
        int32_t const matrix = tiles.high.quotient(line);
        plane = matrix * tiles.rows * tiles.columns;
        row = (line - matrix * static_cast<int64_t>(tiles.high.divisor)) * size;
        column = (block - line * static_cast<int64_t>(tiles.wide.divisor)) * size;
    }
};

//! A tile is 128 bytes in both directions. A thread loads a pack of as many rows as a word has elements, so that it can
//! write whole words of the transposed tile, and then stores as many packs. Fewer threads do that several times each,
//! with all loads under way at once.
template <int32_t Threads, typename T, typename Change>
__global__ void __launch_bounds__(Threads)
    transposePacksKernel(bool early, Tiles tiles, Change change, T const* x, T* y)
{
    constexpr int32_t kBytes = static_cast<int32_t>(sizeof(T));
    constexpr int32_t kInWord = 4 / kBytes;
    constexpr int32_t kInPack = Pack<T>::kSize;
    constexpr int32_t kTile = kTileWords * kInWord;
    constexpr int32_t kGroups = Threads / 8;         // of threads that have a tile's width
    constexpr int32_t kTurns = kTileWords / kGroups; // of each, for words of the transposed tile
    static_assert(kTurns * kGroups == kTileWords, "a tile's words are shared out");
    __shared__ __align__(16) uint32_t tile[kTile * kTileWords];
    int64_t const rows = tiles.rows;
    int64_t const columns = tiles.columns;
    TileOfBlock const mine{tiles, kTile};
    auto const thread = static_cast<int32_t>(threadIdx.x);
    int32_t const pack = thread % 8;
    int32_t const group = thread / 8;

    Pack<T> loaded[kTurns * kInWord];
    waitForStream(early);
#pragma unroll
    for (int32_t l = 0; l < kTurns * kInWord; ++l)
    {
        int64_t const row = mine.row + group * kInWord + l % kInWord + l / kInWord * (kGroups * kInWord);
        int64_t const column = mine.column + pack * kInPack;
        loaded[l] = row < rows && column < columns ? loadPack(x, (mine.plane + row * columns + column) / kInPack)
                                                   : Pack<T>{{0, 0, 0, 0}};
        change(loaded[l]);
    }
#pragma unroll
    for (int32_t turn = 0; turn < kTurns; ++turn)
    {
#pragma unroll
        for (int32_t w = 0; w < kPackWords; ++w)
        {
            uint32_t words[kInWord];
#pragma unroll
            for (int32_t e = 0; e < kInWord; ++e)
            {
                words[e] = loaded[turn * kInWord + e].words[w];
            }
            transposeSquare<kBytes>(words);
#pragma unroll
            for (int32_t e = 0; e < kInWord; ++e)
            {
                tile[tilePlace(pack * kInPack + w * kInWord + e, group + turn * kGroups, kInPack)] = words[e];
            }
        }
    }
    __syncthreads();
#pragma unroll
    for (int32_t e = 0; e < kTurns * kInWord; ++e)
    {
        int32_t const inTile = group + e * kGroups; // the tile's column, which is a row of the result
        int64_t const column = mine.column + inTile;
        int64_t const row = mine.row + pack * kInPack;
        if (column < columns && row < rows)
        {
            Pack<T> stored;
            memcpy(&stored, &tile[tilePlace(inTile, pack * kPackWords, kInPack)], sizeof stored);
            storePack(y, (mine.plane + column * rows + row) / kInPack, stored);
        }
    }
}

constexpr int32_t kSmallTile = 32;

//! Element by element, for matrices whose rows or columns don't begin at multiples of 16 bytes.
template <int32_t Threads, typename T, typename Change>
__global__ void __launch_bounds__(Threads) transposeKernel(bool early, Tiles tiles, Change change, T const* x, T* y)
{
    __shared__ T tile[kSmallTile][kSmallTile + 1];
    auto const lane = static_cast<int32_t>(threadIdx.x) % kSmallTile;
    auto const line = static_cast<int32_t>(threadIdx.x) / kSmallTile;
    constexpr int32_t kLines = Threads / kSmallTile;
    int64_t const rows = tiles.rows;
    int64_t const columns = tiles.columns;
    TileOfBlock const mine{tiles, kSmallTile};
    waitForStream(early);
    for (int32_t l = line; l < kSmallTile; l += kLines)
    {
        if (mine.row + l < rows && mine.column + lane < columns)
        {
            T element = x[mine.plane + (mine.row + l) * columns + mine.column + lane];
            change(element);
            tile[l][lane] = element;
        }
    }
    __syncthreads();
    for (int32_t l = line; l < kSmallTile; l += kLines)
    {
        if (mine.column + l < columns && mine.row + lane < rows)
        {
            y[mine.plane + (mine.column + l) * rows + mine.row + lane] = tile[lane][l];
        }
    }
}

//! Small tensors, which the caches hold: a thread writes an element. Tiles would take longer to begin and to end.
template <int32_t Threads, typename T, typename Change>
__global__ void __launch_bounds__(Threads)
    transposeElementsKernel(bool early, Divisor rows, Divisor inMatrix, int32_t columns, int32_t count, Change change,
                            T const* x, T* y)
{
    int32_t const i = static_cast<int32_t>(blockIdx.x * Threads + threadIdx.x);
    waitForStream(early);
    if (i < count)
    {
        int32_t const matrix = inMatrix.quotient(i) * static_cast<int32_t>(inMatrix.divisor);
        int32_t const column = rows.quotient(i - matrix);
        int32_t const row = i - matrix - column * static_cast<int32_t>(rows.divisor);
        T element = x[matrix + row * columns + column];
        change(element);
        y[i] = element;
    }
}

//! An unsigned integer of T's size.
template <typename T>
using BitsOf = std::conditional_t<sizeof(T) == 1, uint8_t, std::conditional_t<sizeof(T) == 2, uint16_t, uint32_t>>;

constexpr int64_t kMostTiles = 0x7FFFFFFF; //!< of a launch

//! `Element` has T's size; `change` takes it, and packs of it.
template <typename Values, typename Element, typename Change>
cudaError_t transpose(cudaStream_t stream, int64_t count, int64_t rows, int64_t columns, Change change,
                      Element const* x, Element* y) noexcept
{
    constexpr int64_t kInPack = Pack<Element>::kSize;
    constexpr int32_t kThreads = Values::kThreads > 0 ? Values::kThreads : kTransposeThreads;
    // A tile has no more words for threads.
    constexpr int32_t kOfTile = std::min(powerOfTwo(kThreads), kTransposeThreads);
    if (count < 0 || rows < 0 || columns < 0)
    {
        return cudaErrorInvalidValue;
    }
    if (count == 0 || rows == 0 || columns == 0)
    {
        return cudaSuccess; // a launch of no blocks is an error
    }
    constexpr int64_t kSmall = int64_t{1} << 17U; // bytes
    if (count <= kSmall && rows <= kSmall && columns <= kSmall &&
        count * rows * columns <= kSmall / static_cast<int64_t>(sizeof(Element)))
    {
        auto const elements = static_cast<int32_t>(count * rows * columns);
        auto const blocks = static_cast<uint32_t>((elements + kThreads - 1) / kThreads);
        launchEarlyIfFew(transposeElementsKernel<kThreads, Element, Change>, blocks, kThreads, stream, divisorOf(rows),
                         divisorOf(rows * columns), static_cast<int32_t>(columns), elements, change, x, y);
        return cudaGetLastError();
    }
    bool const packed = rows % kInPack == 0 && columns % kInPack == 0 && canPack(x, y);
    int64_t const tile = packed ? kTileWords * static_cast<int64_t>(4 / sizeof(Element)) : int64_t{kSmallTile};
    int64_t const high = (rows + tile - 1) / tile;
    int64_t const wide = (columns + tile - 1) / tile;
    int64_t const ofMatrix = high * wide;
    if (ofMatrix > kMostTiles)
    {
        return cudaErrorInvalidValue; // more than 2^41 elements
    }
    Tiles const tiles{rows, columns, divisorOf(wide), divisorOf(high)};
    for (int64_t done = 0; done < count; done += kMostTiles / ofMatrix)
    {
        auto const blocks = static_cast<uint32_t>(std::min(count - done, kMostTiles / ofMatrix) * ofMatrix);
        int64_t const before = done * rows * columns;
        if (packed)
        {
            launchEarlyIfFew(transposePacksKernel<kOfTile, Element, Change>, blocks, kOfTile, stream, tiles, change,
                             x + before, y + before);
        }
        else
        {
            launchEarlyIfFew(transposeKernel<kThreads, Element, Change>, blocks, kThreads, stream, tiles, change,
                             x + before, y + before);
        }
    }
    return cudaGetLastError();
}

} // namespace detail

//! Starts the kernel on a stream, which may be `tuned` (tuning.cuh), and returns at once; without elements it starts
//! nothing.
//!
//! `count` matrices of `rows` times `columns` elements, one after another, become as many of `columns` times `rows`. y
//! is other memory than x.
template <typename T, typename Stream>
cudaError_t launchTranspose(Stream const& stream, int64_t count, int64_t rows, int64_t columns, void const* x,
                            void* y) noexcept
{
    static_assert(sizeof(T) <= sizeof(uint32_t), "elements of 1, 2 or 4 bytes");
    using Element = detail::BitsOf<T>;
    return launchWith(stream,
                      [&](cudaStream_t on, auto values)
                      {
                          return detail::transpose<decltype(values)>(on, count, rows, columns, detail::Moved{},
                                                                     static_cast<Element const*>(x),
                                                                     static_cast<Element*>(y));
                      });
}

//! The same of numbers: quantized elements are converted where the scales differ.
template <typename T, typename Stream>
cudaError_t launchTranspose(Stream const& stream, int64_t count, int64_t rows, int64_t columns, Output<T> y,
                            Input<T> x) noexcept
{
    if constexpr (kScaled<T>)
    {
        if (!detail::sameScale(y, x))
        {
            return launchWith(stream,
                              [&](cudaStream_t on, auto values)
                              {
                                  return detail::transpose<decltype(values)>(on, count, rows, columns,
                                                                             detail::Rescaled<T>{x.scale, y.inverse},
                                                                             x.data, y.data);
                              });
        }
    }
    return launchTranspose<T>(stream, count, rows, columns, static_cast<void const*>(x.data), y.data);
}

} // namespace pluginkit::kernels
