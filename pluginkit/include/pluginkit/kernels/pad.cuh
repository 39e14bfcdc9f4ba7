//! Padded tensors: with a constant, the edge's elements, or the tensor reflected at its edge. Elements are moved
//! unchanged; quantized ones are converted, where the tensors' scales differ.
//!
//!     kernels::Padding const padding{kernels::PadMode::kReflect, 0.0F};
//!     kernels::launchPad(stream, rank, xDims, before, yDims, padding, kernels::output<__half>(y),
//!                        kernels::input<__half>(x));
//!
//! A block makes whole rows, or a part of a long one, in shared memory, of words that are shifted, and stores packs.
#pragma once

#include <pluginkit/kernels/launch.cuh>
#include <pluginkit/kernels/tensors.cuh>
#include <pluginkit/kernels/tuning.cuh>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace pluginkit::kernels
{

//! What stands beyond a tensor's edge.
enum class PadMode : int32_t
{
    kConstant,
    kEdge,    //!< the nearest element
    kReflect, //!< the elements inside, from the one beside the edge on; from the other edge on back again
};

struct Padding
{
    PadMode mode;
    float value; //!< of kConstant, and where there is no element that could be repeated
};

namespace detail
{

constexpr int32_t kMostPadDims = 8; //!< as TensorRT's tensors have

//! A dimension of both tensors.
struct PadDim
{
    int32_t size;   //!< of x
    int32_t before; //!< how much of the padding is before x; may be below 0, which cuts
    int32_t stride; //!< of x
    Divisor out;    //!< the size of y
    Divisor period; //!< after which a reflection is the same again
};

//! All dimensions but the last, and the last; neighbours that have no padding count as one.
struct PadShape
{
    PadMode mode;
    int32_t count;
    PadDim dims[kMostPadDims - 1];
    PadDim last;
};

//! Elements that are moved at once: a word of four bytes, or one element.
template <typename T>
constexpr int32_t kPadWord = sizeof(T) < sizeof(uint32_t) ? static_cast<int32_t>(sizeof(uint32_t) / sizeof(T)) : 1;

template <typename T>
using PadWord = std::conditional_t<sizeof(T) < sizeof(uint32_t), uint32_t, T>;

//! Where in x the element is that belongs `from` elements behind x's first one; -1: nowhere. Near: a reflection turns
//! back once at most, so that nothing has to be divided.
template <bool Near>
__device__ int32_t padSource(PadMode mode, PadDim const& dim, int32_t from)
{
    if (mode == PadMode::kConstant || dim.size == 0)
    {
        return static_cast<uint32_t>(from) < static_cast<uint32_t>(dim.size) ? from : -1;
    }
    if (mode == PadMode::kEdge)
    {
        return min(max(from, 0), dim.size - 1);
    }
    auto distance = static_cast<uint32_t>(abs(from));
    if constexpr (!Near)
    {
        distance -= static_cast<uint32_t>(dim.period.quotient(abs(from))) * dim.period.divisor;
    }
    uint32_t const back = 2U * (static_cast<uint32_t>(dim.size) - 1U) - distance; // below 2^32
    return static_cast<int32_t>(min(distance, back));
}

//! Where the row of x begins that belongs into row `row` of y; -1: it is of the padding alone.
template <bool Near>
__device__ int32_t padRow(PadShape const& shape, int32_t row)
{
    int32_t begin = 0;
#pragma unroll 1
    for (int32_t d = shape.count - 1; d >= 0; --d)
    {
        PadDim const& dim = shape.dims[d];
        int32_t const next = d > 0 ? dim.out.quotient(row) : 0;
        int32_t const place = row - next * static_cast<int32_t>(dim.out.divisor);
        int32_t const source = padSource<Near>(shape.mode, dim, place - dim.before);
        if (source < 0)
        {
            return -1;
        }
        begin += source * dim.stride;
        row = next;
    }
    return begin;
}

//! Small tensors, and those that `padTilesKernel` doesn't take: a thread writes an element.
template <int32_t Threads, typename T, typename Change>
__global__ void __launch_bounds__(Threads) padElementsKernel(bool early, PadShape const shape, int32_t count,
                                                             Change change, float value, Output<T> y, T const* x)
{
    int64_t const i = static_cast<int64_t>(blockIdx.x) * Threads + threadIdx.x;
    auto const place = static_cast<int32_t>(min(i, int64_t{count} - 1));
    int32_t const row = shape.last.out.quotient(place);
    int32_t const column = place - row * static_cast<int32_t>(shape.last.out.divisor);
    int32_t const from = padRow<false>(shape, row);
    int32_t const source = padSource<false>(shape.mode, shape.last, column - shape.last.before);
    T element;
    toElement(element, value, y.inverse);
    waitForStream(early); // what is before it needs no memory, and is done while the kernel before ends
    if (i >= count)
    {
        return;
    }
    if (from >= 0 && source >= 0)
    {
        element = x[from + source];
        change(element);
    }
    y.data[i] = element;
}

//! How the rows of y are tiles: `inTile` whole ones, or one of `parts` parts of `width` columns of a row.
struct PadTiles
{
    int32_t rows; //!< of y
    int32_t inTile;
    Divisor parts;
    int32_t width;
    int32_t begin; //!< of a row, the columns that may be made of words of x: from this one
    int32_t end;   //!< to before this one
    Divisor words; //!< of x, that a row of the tile has at most
    Divisor gap;   //!< words between one row's last word of x and the next row's first one, at most
};

//! What a block knows of a row of its tile.
struct alignas(16) PadSource
{
    int32_t low;    //!< the word of x that has the first element of the row's first word; below 0: it is the constant
    int32_t high;   //!< the one that has its last
    int32_t place;  //!< where in the tile that word is, in words
    uint32_t words; //!< 32 for each of the row's words, and by how many bits they are shifted
};

//! A row of the tile, as its columns are: those of a part begin at column `first` of y.
struct PadColumns
{
    int32_t first;
    int32_t count;
    int32_t begin; //!< what may be made of words, in the tile's row
    int32_t end;
};

//! A word of a tile that has elements of the padding, or of two rows, or a part of a row that is not a word of it.
template <typename T>
struct PadEdge
{
    static constexpr int32_t kIn = kPadWord<T>;

    T parts[kIn];
    int32_t at; //!< in the tile, in words; below 0: there is none

    //! Word `i` of those of a tile of `rows` rows, of which the first begins at element `skipped`. Elements that are
    //! another tile's are anything.
    template <PadMode Mode, typename Change>
    __device__ void load(PadDim const& last, PadColumns const& of, Divisor const& gap, int32_t const* sources,
                         int32_t skipped, int32_t rows, int32_t i, T constant, Change const& change, T const* x)
    {
        int32_t const edge = gap.quotient(i); // before row `edge`
        int32_t const next = skipped + edge * of.count;
        int32_t const from = edge > 0 ? next - of.count + of.end : skipped;
        int32_t const first = (from & -kIn) + (i - edge * static_cast<int32_t>(gap.divisor)) * kIn;
        bool const there = edge <= rows && first < (edge < rows ? next + of.begin : next);
        at = there ? first / kIn : -1;
        int32_t const ofAbove = sources[max(min(edge, rows) - 1, 0)];
        int32_t const ofNext = sources[min(edge, rows - 1)];
#pragma unroll
        for (int32_t j = 0; j < kIn; ++j)
        {
            int32_t const place = first + j - next;
            bool const above = place < 0;
            int32_t const column = of.first + (above ? place + of.count : place);
            int32_t const source = padSource<true>(Mode, last, column - last.before);
            int32_t const start = above ? ofAbove : ofNext;
            parts[j] = constant;
            if (there && (Mode != PadMode::kConstant || (source >= 0 && start >= 0)))
            {
                parts[j] = x[static_cast<uint32_t>(start + source)];
                change(parts[j]);
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

//! A word of x, from bit `bits` modulo 32 of `low` on.
template <typename T, typename Change>
__device__ PadWord<T> padWord(PadWord<T> low, PadWord<T> high, uint32_t bits, Change const& change)
{
    if constexpr (kPadWord<T> == 1)
    {
        change(low);
        return low;
    }
    else
    {
        Pack<T> pack{{__funnelshift_r(low, high, bits), 0, 0, 0}};
        change(pack); // three words of it cost nothing
        return pack.words[0];
    }
}

constexpr int32_t kPadRows = 256;    //!< of a tile, at most
constexpr int32_t kPadBytes = 24576; //!< of a tile, at most: several blocks fit a multiprocessor

//! Threads of a block, and packs of x of each: those of a set of values, or what was fastest on an H100.
template <typename Values>
struct PadValues
{
    static constexpr int32_t kMost = 8192 / static_cast<int32_t>(kPackBytes);
    static constexpr int32_t kThreads = std::min(Values::kThreads > 0 ? Values::kThreads : 128, kMost);
    static constexpr int32_t kPacks = std::min(Values::kPacks > 0 ? Values::kPacks : 2, kMost / kThreads);
    static constexpr int32_t kTurns = kPackWords * kPacks;                              //!< words of a thread
    static constexpr int32_t kWords = kThreads * kTurns;                                //!< of a tile
    static constexpr int32_t kBlocks = (kPacks == 1 ? 1792 : 3072 / kPacks) / kThreads; //!< for which are registers
};

//! A block makes a tile of y in shared memory, and writes it in packs. A row's words are two loads and a shift, all of
//! a thread's under way at once; what is between the words of two rows is made element by element.
template <typename Values, typename T, typename Change>
__global__ void __launch_bounds__(Values::kThreads, heldBlocks(Values::kThreads, Values::kBlocks))
    padTilesKernel(bool early, PadShape const shape, PadTiles const tiles, Change change, float value, Output<T> y,
                   T const* x)
{
    constexpr int32_t kThreads = Values::kThreads;
    constexpr int32_t kTurns = Values::kTurns;
    constexpr int32_t kIn = kPadWord<T>;
    constexpr int32_t kSize = Pack<T>::kSize;
    constexpr uint32_t kElementBits = 8U * sizeof(PadWord<T>) / kIn;
    constexpr uint32_t kWord = 32; // of PadSource::words
    __shared__ PadSource table[kPadRows];
    __shared__ int32_t sources[kPadRows];
    extern __shared__ uint4 pluginkitPadTile[];
    auto* const words = reinterpret_cast<PadWord<T>*>(pluginkitPadTile);
    auto const thread = static_cast<int32_t>(threadIdx.x);
    bool const constants = shape.mode == PadMode::kConstant;
    auto const tile = static_cast<int32_t>(blockIdx.x);
    int32_t const group = tiles.parts.quotient(tile);
    int32_t const firstColumn = (tile - group * static_cast<int32_t>(tiles.parts.divisor)) * tiles.width;
    auto const columns = static_cast<int32_t>(shape.last.out.divisor);
    int32_t const width = min(tiles.width, columns - firstColumn);
    PadColumns const of{firstColumn, width, min(max(tiles.begin - firstColumn, 0), width),
                        min(max(tiles.end - firstColumn, 0), width)};
    int32_t const firstRow = group * tiles.inTile;
    int32_t const rows = min(tiles.inTile, tiles.rows - firstRow);
    int32_t const first = firstRow * columns + firstColumn;
    int32_t const skipped = first & (kSize - 1); // elements of the tile's first pack that another tile has
    for (int32_t i = thread; i < tiles.inTile; i += kThreads)
    {
        PadSource entry{-1, -1, 0, 0};
        if (i < rows)
        {
            int32_t const source = padRow<true>(shape, firstRow + i);
            sources[i] = source;
            int32_t const begin = skipped + i * width + of.begin;
            int32_t const place = (begin + kIn - 1) & -kIn;
            auto const inside = static_cast<uint32_t>(max(skipped + i * width + of.end - place, 0)) / kIn;
            entry.place = place / kIn;
            entry.words = kWord * inside;
            if (!constants || source >= 0)
            {
                auto const from =
                    static_cast<uint32_t>(source + firstColumn + of.begin - shape.last.before + place - begin);
                entry.low = static_cast<int32_t>(from / kIn);
                entry.high = static_cast<int32_t>((from + kIn - 1) / kIn); // maybe the same: nothing behind it is read
                entry.words += from % kIn * kElementBits;
            }
        }
        table[i] = entry;
    }
    T constant;
    toElement(constant, value, y.inverse);
    T repeated[kIn];
#pragma unroll
    for (T& one : repeated)
    {
        one = constant;
    }
    PadWord<T> ofConstants;
    memcpy(&ofConstants, &repeated, sizeof ofConstants);
    __syncthreads();
    waitForStream(early); // what is before it needs no memory, and is done while the kernel before ends

    auto const* const source = reinterpret_cast<PadWord<T> const*>(x);
    PadWord<T> low[kTurns];
    PadWord<T> high[kTurns];
#pragma unroll
    for (int32_t k = 0; k < kTurns; ++k)
    {
        int32_t const row = tiles.words.quotient(k * kThreads + thread);
        auto const word = static_cast<uint32_t>(k * kThreads + thread) - row * tiles.words.divisor;
        PadSource const entry = row < tiles.inTile ? table[row] : PadSource{-1, -1, 0, 0};
        if (kWord * word + kWord - 1 < entry.words && entry.low >= 0)
        {
            low[k] = source[static_cast<uint32_t>(entry.low) + word];
            if constexpr (kIn > 1)
            {
                high[k] = source[static_cast<uint32_t>(entry.high) + word];
            }
        }
    }
    // Loaded behind the words, which otherwise would wait for it.
    int32_t const edges = (rows + 1) * static_cast<int32_t>(tiles.gap.divisor);
    PadEdge<T> edge;
    auto const load = [&](int32_t i)
    {
        shape.mode == PadMode::kConstant ? edge.template load<PadMode::kConstant>(shape.last, of, tiles.gap, sources,
                                                                                  skipped, rows, i, constant, change, x)
        : shape.mode == PadMode::kEdge ? edge.template load<PadMode::kEdge>(shape.last, of, tiles.gap, sources, skipped,
                                                                            rows, i, constant, change, x)
                                       : edge.template load<PadMode::kReflect>(shape.last, of, tiles.gap, sources,
                                                                               skipped, rows, i, constant, change, x);
    };
    edge.at = -1;
    if ((thread & -32) < edges) // by whole warps
    {
        load(thread);
    }
    __syncwarp(); // else nvcc has some loads wait until others' words are stored
#pragma unroll
    for (int32_t k = 0; k < kTurns; ++k)
    {
        int32_t const row = tiles.words.quotient(k * kThreads + thread);
        auto const word = static_cast<uint32_t>(k * kThreads + thread) - row * tiles.words.divisor;
        PadSource const entry = row < tiles.inTile ? table[row] : PadSource{-1, -1, 0, 0};
        if (kWord * word + kWord - 1 < entry.words)
        {
            PadWord<T> const made = padWord<T>(low[k], high[k], entry.words, change);
            words[static_cast<uint32_t>(entry.place) + word] = entry.low < 0 ? ofConstants : made;
        }
    }
    edge.store(words);
#pragma unroll 1
    for (int32_t i = thread + kThreads; i < edges; i += kThreads)
    {
        load(i);
        edge.store(words);
    }
    __syncthreads();

    int32_t const behind = skipped + (rows - 1) * width + width;
    int32_t const whole = behind / kSize; // packs
    T* const begin = y.data + (first - skipped);
#pragma unroll 2
    for (int32_t pack = (skipped > 0 ? 1 : 0) + thread; pack < whole; pack += kThreads)
    {
        reinterpret_cast<uint4*>(begin)[pack] = pluginkitPadTile[pack];
    }
    // A thread an element of the first pack and of the one behind the whole ones, which other tiles have a part of.
    for (int32_t i = thread; i < 2 * kSize; i += kThreads)
    {
        bool const last = i >= kSize;
        int32_t const at = last ? whole * kSize + i - kSize : i;
        bool const partial = last ? whole > 0 || skipped == 0 : skipped > 0;
        if (partial && at >= skipped && at < behind)
        {
            begin[at] = reinterpret_cast<T const*>(pluginkitPadTile)[at];
        }
    }
}

//! Whether a reflection turns back once at most.
inline bool turnsOnce(PadDim const& dim) noexcept
{
    int64_t const behind = int64_t{dim.out.divisor} - dim.before - dim.size;
    return dim.before < dim.size && behind < dim.size;
}

//! The tiles of kernels whose tiles have `tileWords` words of x, and `threads` threads; without rows where rows are of
//! less than two words, or a reflection turns back more than once: then it takes none.
template <typename T>
PadTiles padTiles(PadShape const& shape, int64_t count, int64_t xCount, int64_t tileWords, int64_t threads) noexcept
{
    constexpr int64_t kIn = kPadWord<T>;
    constexpr int64_t kSize = Pack<T>::kSize;
    PadDim const& last = shape.last;
    int64_t const columns = last.out.divisor;
    int64_t const before = last.before;
    // Where x isn't made of whole words, one that has a row's last elements may end behind x.
    int64_t const spared = xCount % kIn == 0 ? 0 : kIn - 1;
    int64_t const begin = std::min(std::max<int64_t>(before, 0), columns);
    int64_t const end = std::min(std::max(before + last.size - spared, begin), columns);
    bool near = turnsOnce(last);
    for (int32_t d = 0; d < shape.count; ++d)
    {
        near = near && turnsOnce(shape.dims[d]);
    }
    if (end - begin < 2 * kIn || (shape.mode == PadMode::kReflect && !near))
    {
        return {};
    }
    int64_t const most = (tileWords - 1) * kIn / kSize * kSize;
    int64_t const parts = (columns + most - 1) / most;
    int64_t const width = parts == 1 ? columns : ((columns + parts - 1) / parts + kSize - 1) / kSize * kSize;
    int64_t const words = std::min(end - begin, width) / kIn;
    int64_t const gap = std::min((columns - (end - begin) + 2 * (kIn - 1)) / kIn, width / kIn + 2);
    int64_t const bytes = width * static_cast<int64_t>(sizeof(T));
    int64_t inTile = 1;
    if (parts == 1)
    {
        inTile = std::max<int64_t>(std::min({tileWords / words, int64_t{kPadRows}, kPadBytes / bytes}), 1);
        // Words between rows that are a few more than there are threads would take each block's time twice.
        int64_t const fit = gap > 0 ? threads / gap - 1 : inTile;
        inTile = fit < inTile && fit >= inTile / 8 * 7 && fit > 0 ? fit : inTile;
    }
    return {static_cast<int32_t>(count / columns),
            static_cast<int32_t>(inTile),
            divisorOf((columns + width - 1) / width),
            static_cast<int32_t>(width),
            static_cast<int32_t>(begin),
            static_cast<int32_t>(end),
            divisorOf(words),
            divisorOf(gap)};
}

//! The dimensions as the kernels have them.
inline PadShape padShape(int32_t rank, int64_t const* xDims, int64_t const* before, int64_t const* yDims,
                         PadMode mode) noexcept
{
    int64_t size[kMostPadDims]{};
    int64_t out[kMostPadDims]{};
    int64_t first[kMostPadDims]{};
    int32_t dims = 0;
    bool plain = false; // whether the dimension before has no padding
    for (int32_t d = 0; d < rank; ++d)
    {
        bool const none = before[d] == 0 && xDims[d] == yDims[d];
        if (!(none && plain))
        {
            size[dims] = 1;
            out[dims] = 1;
            first[dims] = before[d];
            ++dims;
        }
        size[dims - 1] *= xDims[d];
        out[dims - 1] *= yDims[d];
        plain = none;
    }
    PadShape shape{};
    shape.mode = mode;
    shape.count = dims - 1;
    int64_t stride = 1; // beyond 2^31 where x is empty and no stride is used
    for (int32_t d = dims - 1; d >= 0; --d)
    {
        constexpr int64_t kMostPeriod = int64_t{1} << 31U; // no place is so far from x
        PadDim& dim = d == dims - 1 ? shape.last : shape.dims[d];
        dim.size = static_cast<int32_t>(size[d]);
        dim.before = static_cast<int32_t>(first[d]);
        dim.stride = static_cast<int32_t>(stride);
        dim.out = divisorOf(out[d]);
        dim.period = divisorOf(std::min(2 * (size[d] - 1), kMostPeriod));
        stride *= size[d];
    }
    return shape;
}

template <typename Values, typename T, typename Change>
cudaError_t padBy(cudaStream_t stream, PadShape const& shape, int64_t count, int64_t xCount, Change change, float value,
                  Output<T> y, Input<T> x) noexcept
{
    using Tile = PadValues<Values>;
    constexpr int32_t kThreads = Values::kThreads > 0 ? Tile::kThreads : 256;
    constexpr int64_t kSmall = 3 * (int64_t{1} << 16U); // elements; an H100 makes 2^18 as fast by tiles
    if (count > kSmall && canPack(y.data, x.data))
    {
        PadTiles const tiles = padTiles<T>(shape, count, xCount, Tile::kWords, Tile::kThreads);
        if (tiles.rows > 0)
        {
            auto const groups = (tiles.rows + int64_t{tiles.inTile} - 1) / tiles.inTile;
            auto const bytes = int64_t{tiles.inTile} * tiles.width * static_cast<int64_t>(sizeof(T));
            size_t const shared = (static_cast<size_t>(bytes) / kPackBytes + 2) * kPackBytes;
            launchEarlyIfFew(padTilesKernel<Tile, T, Change>, static_cast<uint32_t>(groups * tiles.parts.divisor),
                             {Tile::kThreads, shared}, stream, shape, tiles, change, value, y, x.data);
            return cudaGetLastError();
        }
    }
    launchEarlyIfFew(padElementsKernel<kThreads, T, Change>, static_cast<uint32_t>((count + kThreads - 1) / kThreads),
                     kThreads, stream, shape, static_cast<int32_t>(count), change, value, y, x.data);
    return cudaGetLastError();
}

} // namespace detail

//! Starts the kernel on a stream, which may be `tuned` (tuning.cuh), and returns at once; without elements it starts
//! nothing.
//!
//! x and y have `rank` dimensions, 0 to 8, and at most 2^31 - 8192 elements. Element [i, ...] of y is element
//! [i - before[0], ...] of x, or what the padding says where x has none; these places are at most 2^31 - 8192, too. y
//! is other memory than x.
template <typename T, typename Stream>
cudaError_t launchPad(Stream const& stream, int32_t rank, int64_t const* xDims, int64_t const* before,
                      int64_t const* yDims, Padding padding, Output<T> y, Input<T> x) noexcept
{
    constexpr int64_t kMost = 0x7FFFFFFF - 8191; // a tile more is a number still
    if (rank < 0 || rank > detail::kMostPadDims)
    {
        return cudaErrorInvalidValue;
    }
    int64_t const one = 1;
    int64_t const none = 0;
    if (rank == 0)
    {
        return launchPad(stream, 1, &one, &none, &one, padding, y, x);
    }
    int64_t const count = detail::elementsOf(rank, yDims, kMost);
    int64_t const xCount = detail::elementsOf(rank, xDims, kMost);
    if (count < 0 || xCount < 0)
    {
        return cudaErrorInvalidValue;
    }
    if (count == 0)
    {
        return cudaSuccess; // a launch of no blocks is an error
    }
    for (int32_t d = 0; d < rank; ++d)
    {
        if (before[d] > kMost || before[d] < yDims[d] - kMost || xDims[d] > kMost)
        {
            return cudaErrorInvalidValue;
        }
    }
    detail::PadShape const shape = detail::padShape(rank, xDims, before, yDims, padding.mode);
    return launchWith(stream,
                      [&](cudaStream_t on, auto values)
                      {
                          using Values = decltype(values);
                          if constexpr (kScaled<T>)
                          {
                              if (!detail::sameScale(y, x))
                              {
                                  detail::Rescaled<T> const change{x.scale, y.inverse};
                                  return detail::padBy<Values>(on, shape, count, xCount, change, padding.value, y, x);
                              }
                          }
                          return detail::padBy<Values>(on, shape, count, xCount, detail::Moved{}, padding.value, y, x);
                      });
}

} // namespace pluginkit::kernels
