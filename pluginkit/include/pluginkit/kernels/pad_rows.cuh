//! Tensors with a rim whose rows aren't long, by tiles of whole rows: where each row's words come from is worked out
//! once a row, so that a word takes few instructions; for pad.cuh.
#pragma once

#include <pluginkit/kernels/launch.cuh>
#include <pluginkit/kernels/pack.cuh>
#include <pluginkit/kernels/pad_shape.cuh>
#include <pluginkit/kernels/tensors.cuh>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace pluginkit::kernels::detail
{

constexpr int32_t kPadLanes = 32;

//! How a launch's threads have words of rows. What was fastest on an H100: tensors of 2 MiB have the small blocks'
//! words on more multiprocessors, larger ones fewer and longer ways to the end of a block.
template <int32_t Threads_, int32_t Turns_, int32_t Blocks_>
struct PadBlock
{
    static constexpr int32_t kThreads = Threads_;
    static constexpr int32_t kTurns = Turns_;   //!< words of a thread
    static constexpr int32_t kBlocks = Blocks_; //!< of a multiprocessor
};

//! Threads of a multiprocessor for which there are registers, if each has so many packs.
constexpr int32_t padThreads(int32_t packs) noexcept
{
    return packs == 1 ? 1792 : 3072 / packs;
}

template <typename Values>
using PadBlockOf = PadBlock<Values::kThreads, 4 * Values::kPacks, padThreads(Values::kPacks) / Values::kThreads>;
template <typename Values>
using SmallPadBlock = PadBlockOf<PadValues<Values, 256, 1>>;
template <typename Values>
using LargePadBlock = PadBlockOf<PadValues<Values, 128, 2>>;

//! Slots: words that a row has at most, a power of two.
template <typename Block, int32_t Slots>
struct PadTile
{
    static constexpr int32_t kLanes = Slots < kPadLanes ? Slots : kPadLanes; //!< threads that have neighbouring words
    static constexpr int32_t kGroups = Block::kThreads / kLanes;
    static constexpr int32_t kSegments = Slots / kLanes; //!< of a row, one after another by the same threads
    static constexpr int32_t kRows = Block::kTurns / kSegments * kGroups;
    static_assert(kSegments <= Block::kTurns, "a thread has a whole row's words, a segment after another");
};

//! What a launch's blocks have in common: `row.gap` is of words.
struct PadRows
{
    PadRow row;
    int32_t rows;
    int32_t inBlock;
};

//! What a block knows of a row of its tile.
struct alignas(16) PadSource
{
    int32_t low;    //!< the word of x that has the first element of the row's first word; below 0: it is the constant
    int32_t high;   //!< the one that has its last
    int32_t place;  //!< where in the tile that word is, in bytes
    uint32_t words; //!< 32 for each of the row's words, and by how many bits they are shifted
};

//! Whether a reflection turns back once at most in each dimension: then nothing has to be divided.
inline bool turnsOnce(PadDim const& dim) noexcept
{
    int64_t const behind = int64_t{dim.out.divisor} - dim.before - dim.size;
    return dim.before < dim.size && behind < dim.size;
}

//! Where in x the element is that belongs `from` elements behind x's first one; -1: nowhere. The dimension `turnsOnce`.
template <PadMode Mode>
__device__ int32_t nearSource(PadDim const& dim, int32_t from)
{
    if (Mode == PadMode::kConstant)
    {
        return static_cast<uint32_t>(from) < static_cast<uint32_t>(dim.size) ? from : -1;
    }
    if (Mode == PadMode::kEdge)
    {
        return min(max(from, 0), dim.size - 1);
    }
    int32_t const distance = abs(from);
    return min(distance, 2 * (dim.size - 1) - distance);
}

//! Where the row of x begins that belongs into row `row` of y; -1: it is of the rim alone.
template <PadMode Mode>
__device__ int32_t nearRow(UsualPad const& shape, int32_t row)
{
    int32_t begin = 0;
    bool missing = false;
#pragma unroll
    for (int32_t d = kUsualPadDims - 1; d >= 0; --d)
    {
        if (d < shape.count)
        {
            PadDim const& dim = shape.dims[d];
            int32_t const next = d > 0 ? dim.out.quotient(row) : 0;
            int32_t const place = row - next * static_cast<int32_t>(dim.out.divisor);
            int32_t const source = nearSource<Mode>(dim, place - dim.before);
            missing = missing || source < 0;
            begin += source * dim.stride;
            row = next;
        }
    }
    return missing ? -1 : begin;
}

template <typename T>
__device__ PadWord<T> repeated(T element)
{
    T elements[kPadWord<T>];
#pragma unroll
    for (T& one : elements)
    {
        one = element;
    }
    PadWord<T> word;
    memcpy(&word, &elements, sizeof word);
    return word;
}

//! A word of a tile that has elements of the rim, or of two rows, or a part of a row that is not a word of it.
template <PadMode Mode, typename T>
struct PadEdge
{
    static constexpr int32_t kIn = kPadWord<T>;

    T parts[kIn];
    int32_t at; //!< in the tile, in words; below 0: there is none

    //! Word `i` of those of a tile of `rows` rows, of which the first begins at element `skipped`. Elements that are
    //! another tile's are anything.
    __device__ void load(PadDim const& last, PadRows const& of, int32_t const* sources, int32_t skipped, int32_t rows,
                         int32_t i, T constant, T const* x)
    {
        auto const columns = static_cast<int32_t>(last.out.divisor);
        int32_t const edge = of.row.gap.quotient(i); // before row `edge`
        int32_t const next = skipped + edge * columns;
        int32_t const above = next - columns;
        int32_t const from = edge > 0 ? above + of.row.end : skipped;
        int32_t const first = (from & -kIn) + (i - edge * static_cast<int32_t>(of.row.gap.divisor)) * kIn;
        bool const there = edge <= rows && first < (edge < rows ? next + of.row.begin : next);
        at = there ? first / kIn : -1;
        int32_t const ofAbove = sources[max(min(edge, rows) - 1, 0)];
        int32_t const ofNext = sources[min(edge, rows - 1)];
#pragma unroll
        for (int32_t j = 0; j < kIn; ++j)
        {
            int32_t const place = first + j - next;
            bool const before = place < 0;
            int32_t const source = nearSource<Mode>(last, place + (before ? columns - last.before : -last.before));
            int32_t const start = before ? ofAbove : ofNext;
            parts[j] = constant;
            if (there && (Mode != PadMode::kConstant || (source >= 0 && start >= 0)))
            {
                parts[j] = x[static_cast<uint32_t>(start + source)];
            }
        }
    }

    __device__ void store(PadWord<T>* words) const
    {
        if (at >= 0)
        {
            memcpy(&words[at], &parts, sizeof parts);
        }
    }
};

//! A block makes some rows of y in shared memory, and writes them in packs. A row's words are two loads and a shift,
//! all of a thread's under way at once; what is between the words of two rows is made element by element.
template <typename Block, int32_t Slots, PadMode Mode, typename T>
__global__ void __launch_bounds__(Block::kThreads, heldBlocks(Block::kThreads, Block::kBlocks))
    padRowsKernel(bool early, UsualPad const shape, PadRows const of, float value, Output<T> y, T const* x)
{
    using Tile = PadTile<Block, Slots>;
    constexpr int32_t kIn = kPadWord<T>;
    constexpr int32_t kSize = Pack<T>::kSize;
    constexpr int32_t kBytes = static_cast<int32_t>(sizeof(PadWord<T>));
    constexpr uint32_t kElementBits = 8U * sizeof(PadWord<T>) / kIn;
    constexpr uint32_t kWord = 32; // of PadSource::words
    __shared__ PadSource table[Tile::kRows];
    __shared__ int32_t sources[Tile::kRows];
    extern __shared__ uint4 pluginkitPadTile[];
    auto* const words = reinterpret_cast<PadWord<T>*>(pluginkitPadTile);
    auto const thread = static_cast<int32_t>(threadIdx.x);
    auto const columns = static_cast<int32_t>(shape.last.out.divisor);
    int32_t const firstRow = static_cast<int32_t>(blockIdx.x) * of.inBlock;
    int32_t const rows = min(of.inBlock, of.rows - firstRow);
    int32_t const first = firstRow * columns;
    int32_t const skipped = first & (kSize - 1); // elements of the tile's first pack that another tile has
    for (int32_t i = thread; i < Tile::kRows; i += Block::kThreads)
    {
        PadSource entry{-1, -1, 0, 0};
        if (i < rows)
        {
            int32_t const source = nearRow<Mode>(shape, firstRow + i);
            sources[i] = source;
            int32_t const begin = skipped + i * columns + of.row.begin;
            int32_t const place = (begin + kIn - 1) & -kIn;
            auto const inside = static_cast<uint32_t>(max(skipped + i * columns + of.row.end - place, 0)) / kIn;
            entry.place = place / kIn * kBytes;
            entry.words = kWord * inside;
            if (Mode != PadMode::kConstant || source >= 0)
            {
                auto const from = static_cast<uint32_t>(source + of.row.lead + place - begin);
                entry.low = static_cast<int32_t>(from / kIn);
                entry.high = static_cast<int32_t>((from + kIn - 1) / kIn); // maybe the same: nothing behind it is read
                entry.words += from % kIn * kElementBits;
            }
        }
        table[i] = entry;
    }
    T constant;
    toElement(constant, value, y.inverse);
    PadWord<T> const constants = repeated(constant);
    __syncthreads();
    waitForStream(early); // what is before it needs no memory, and is done while the kernel before ends

    auto const lane = static_cast<uint32_t>(thread) % Tile::kLanes;
    PadSource const* const mine = table + thread / Tile::kLanes;
    auto const* const source = reinterpret_cast<PadWord<T> const*>(x);
    PadWord<T> low[Block::kTurns];
    PadWord<T> high[Block::kTurns];
#pragma unroll
    for (int32_t k = 0; k < Block::kTurns; ++k)
    {
        PadSource const entry = mine[k / Tile::kSegments * Tile::kGroups];
        uint32_t const word = lane + static_cast<uint32_t>(k % Tile::kSegments * kPadLanes);
        if (kWord * word + kWord - 1 < entry.words && (Mode != PadMode::kConstant || entry.low >= 0))
        {
            low[k] = source[static_cast<uint32_t>(entry.low) + word];
            if constexpr (kIn > 1)
            {
                high[k] = source[static_cast<uint32_t>(entry.high) + word];
            }
        }
    }
    // Loaded behind the words, which otherwise would wait for it.
    int32_t const edges = (rows + 1) * static_cast<int32_t>(of.row.gap.divisor);
    PadEdge<Mode, T> edge;
    edge.at = -1;
    if (thread / kPadLanes * kPadLanes < edges)
    {
        edge.load(shape.last, of, sources, skipped, rows, thread, constant, x);
    }
    __syncwarp(); // else nvcc has some loads wait until others' words are stored
#pragma unroll
    for (int32_t k = 0; k < Block::kTurns; ++k)
    {
        PadSource const entry = mine[k / Tile::kSegments * Tile::kGroups];
        uint32_t const word = lane + static_cast<uint32_t>(k % Tile::kSegments * kPadLanes);
        if (kWord * word + kWord - 1 < entry.words)
        {
            PadWord<T> made = low[k];
            if constexpr (kIn > 1)
            {
                made = __funnelshift_r(low[k], high[k], entry.words); // by bits modulo 32
            }
            made = Mode == PadMode::kConstant && entry.low < 0 ? constants : made;
            words[entry.place / kBytes + static_cast<int32_t>(word)] = made;
        }
    }
    edge.store(words);
#pragma unroll 1
    for (int32_t i = thread + Block::kThreads; i < edges; i += Block::kThreads)
    {
        edge.load(shape.last, of, sources, skipped, rows, i, constant, x);
        edge.store(words);
    }
    __syncthreads();

    int32_t const behind = skipped + rows * columns;
    int32_t const whole = behind / kSize; // packs
    T* const tile = y.data + (first - skipped);
#pragma unroll 2
    for (int32_t pack = (skipped > 0 ? 1 : 0) + thread; pack < whole; pack += Block::kThreads)
    {
        reinterpret_cast<uint4*>(tile)[pack] = pluginkitPadTile[pack];
    }
    // A thread an element of the first pack and of the one behind the whole ones, which other tiles have a part of.
    if (thread < 2 * kSize)
    {
        bool const last = thread >= kSize;
        int32_t const at = last ? whole * kSize + thread - kSize : thread;
        bool const partial = last ? whole > 0 || skipped == 0 : skipped > 0;
        if (partial && at >= skipped && at < behind)
        {
            tile[at] = reinterpret_cast<T const*>(pluginkitPadTile)[at];
        }
    }
}

template <typename Block, int32_t Slots, PadMode Mode, typename T>
bool launchPadRowsOf(cudaStream_t stream, UsualPad const& shape, PadRow const& row, int64_t count, float value,
                     Output<T> y, Input<T> x) noexcept
{
    using Tile = PadTile<Block, Slots>;
    constexpr int64_t kMostBytes = int64_t{24} << 10U; // of a tile: several blocks fit a multiprocessor
    int64_t const columns = shape.last.out.divisor;
    int64_t const bytes = columns * static_cast<int64_t>(sizeof(T));
    // Words between rows that are a few more than there are threads would take each block's time twice.
    int64_t const fit = Block::kThreads / int64_t{row.gap.divisor} - 1;
    int64_t const inBlock = fit < Tile::kRows && fit >= Tile::kRows / 8 * 7 ? fit : Tile::kRows;
    if (inBlock * bytes > kMostBytes)
    {
        return false;
    }
    int64_t const rows = count / columns;
    PadRows const of{row, static_cast<int32_t>(rows), static_cast<int32_t>(inBlock)};
    auto const blocks = static_cast<uint32_t>((rows + inBlock - 1) / inBlock);
    auto const shared = static_cast<size_t>((inBlock * bytes + 2 * kPackBytes) / kPackBytes * kPackBytes);
    launchEarlyIfFew(padRowsKernel<Block, Slots, Mode, T>, blocks, {Block::kThreads, shared}, stream, shape, of, value,
                     y, x.data);
    return true;
}

//! False where rows are of very few or of many words, where more than two dimensions have a rim and aren't neighbours,
//! where a reflection turns back more than once, and where tensors can't be loaded by words.
template <typename Block, PadMode Mode, typename T>
bool launchPadRows(cudaStream_t stream, AnyPad const& shape, int64_t count, int64_t xCount, float value, Output<T> y,
                   Input<T> x) noexcept
{
    constexpr int64_t kIn = kPadWord<T>;
    if (!canPack(y.data, x.data) || shape.count > kUsualPadDims || xCount == 0)
    {
        return false;
    }
    bool near = Mode != PadMode::kReflect || turnsOnce(shape.last);
    for (int32_t d = 0; d < shape.count; ++d)
    {
        near = near && (Mode != PadMode::kReflect || turnsOnce(shape.dims[d]));
    }
    int64_t const columns = shape.last.out.divisor;
    PadRow const row = padRow(shape.last, xCount, kIn, kIn, columns + kIn);
    int64_t const words = (row.end - row.begin) / kIn;
    if (!near || words < 2)
    {
        return false;
    }
    UsualPad usual{shape.count, {}, shape.last};
    std::copy_n(shape.dims, kUsualPadDims, usual.dims);
    return words <= 16    ? launchPadRowsOf<Block, 16, Mode>(stream, usual, row, count, value, y, x)
           : words <= 32  ? launchPadRowsOf<Block, 32, Mode>(stream, usual, row, count, value, y, x)
           : words <= 64  ? launchPadRowsOf<Block, 64, Mode>(stream, usual, row, count, value, y, x)
           : words <= 128 ? launchPadRowsOf<Block, 128, Mode>(stream, usual, row, count, value, y, x)
                          : false;
}

} // namespace pluginkit::kernels::detail
