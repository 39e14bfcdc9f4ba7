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

//! All dimensions but the last, Most at most, and the last; neighbours that have no padding count as one.
template <int32_t Most>
struct PadShape
{
    int32_t count;
    PadDim dims[Most];
    PadDim last;
};

using AnyPad = PadShape<kMostPadDims - 1>;

constexpr int32_t kUsualPadDims = 3; //!< of volumes
using UsualPad = PadShape<kUsualPadDims>;

//! Elements that are moved at once: a word of four bytes, or one element.
template <typename T>
constexpr int32_t kPadWord = sizeof(T) < sizeof(uint32_t) ? static_cast<int32_t>(sizeof(uint32_t) / sizeof(T)) : 1;

template <typename T>
using PadWord = std::conditional_t<sizeof(T) < sizeof(uint32_t), uint32_t, T>;

//! Where in x the element is that belongs `from` elements behind x's first one; -1: nowhere. Near: a reflection turns
//! back once at most, so that nothing has to be divided.
template <PadMode Mode, bool Near>
__device__ int32_t padSource(PadDim const& dim, int32_t from)
{
    if (Mode == PadMode::kConstant || (!Near && dim.size == 0))
    {
        return static_cast<uint32_t>(from) < static_cast<uint32_t>(dim.size) ? from : -1;
    }
    if (Mode == PadMode::kEdge)
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
template <PadMode Mode, bool Near, int32_t Most>
__device__ int32_t padRow(PadShape<Most> const& shape, int32_t row)
{
    int32_t begin = 0;
    bool missing = false;
#pragma unroll
    for (int32_t d = Most - 1; d >= 0; --d)
    {
        if (d < shape.count)
        {
            PadDim const& dim = shape.dims[d];
            int32_t const next = d > 0 ? dim.out.quotient(row) : 0;
            int32_t const place = row - next * static_cast<int32_t>(dim.out.divisor);
            int32_t const source = padSource<Mode, Near>(dim, place - dim.before);
            missing = missing || source < 0;
            begin += source * dim.stride;
            row = next;
        }
    }
    return missing ? -1 : begin;
}

//! Small tensors, and those that `padTilesKernel` doesn't take: a thread writes an element.
template <int32_t Threads, PadMode Mode, int32_t Most, typename T, typename Change>
__global__ void __launch_bounds__(Threads) padElementsKernel(bool early, PadShape<Most> const shape, int32_t count,
                                                             Change change, float value, Output<T> y, T const* x)
{
    int64_t const i = static_cast<int64_t>(blockIdx.x) * Threads + threadIdx.x;
    auto const place = static_cast<int32_t>(min(i, int64_t{count} - 1));
    int32_t const row = shape.last.out.quotient(place);
    int32_t const column = place - row * static_cast<int32_t>(shape.last.out.divisor);
    int32_t const from = padRow<Mode, false>(shape, row);
    int32_t const source = padSource<Mode, false>(shape.last, column - shape.last.before);
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

//! How the rows of y are tiles: `inTile` whole ones, or one of `parts` parts of `width` columns of a row. The words of
//! x in a row are some segments of 2^slots words at most, each that of as many threads.
struct PadTiles
{
    int32_t rows; //!< of y
    int32_t inTile;
    Divisor parts;
    int32_t width;
    int32_t begin; //!< of a row, the columns that may be made of words of x: from this one
    int32_t end;   //!< to before this one
    Divisor segments;
    int32_t slots;
    Divisor gap; //!< words between one row's last word of x and the next row's first one, at most
};

//! What a block knows of a segment of its tile.
struct alignas(16) PadSegment
{
    int32_t low;    //!< the word of x that has the first element of its first word; below 0: it is the constant
    int32_t high;   //!< the one that has that word's last
    int32_t place;  //!< where in the tile that word is, in words
    uint32_t words; //!< 32 for each of its words, and by how many bits they are shifted
};

//! The columns of a tile's rows: those of a part begin at column `first` of y.
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
            int32_t const source = padSource<Mode, true>(last, column - last.before);
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

constexpr int32_t kLeastSlots = 4; //!< 16 words
constexpr int32_t kMostSlots = 7;
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
template <typename Values, int32_t Slots, PadMode Mode, typename T, typename Change>
__global__ void __launch_bounds__(Values::kThreads, heldBlocks(Values::kThreads, Values::kBlocks))
    padTilesKernel(bool early, UsualPad const shape, PadTiles const tiles, Change change, float value, Output<T> y,
                   T const* x)
{
    constexpr int32_t kThreads = Values::kThreads;
    constexpr int32_t kTurns = Values::kTurns;
    constexpr int32_t kIn = kPadWord<T>;
    constexpr int32_t kSize = Pack<T>::kSize;
    constexpr uint32_t kElementBits = 8U * sizeof(PadWord<T>) / kIn;
    constexpr uint32_t kWord = 32; // of PadSegment::words
    constexpr int32_t kMostSegments = Values::kWords >> Slots;
    __shared__ PadSegment table[kMostSegments];
    __shared__ int32_t sources[kMostSegments];
    extern __shared__ uint4 pluginkitPadTile[];
    auto* const words = reinterpret_cast<PadWord<T>*>(pluginkitPadTile);
    auto const thread = static_cast<int32_t>(threadIdx.x);
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
    for (int32_t i = thread; i < kMostSegments; i += kThreads)
    {
        int32_t const row = tiles.segments.quotient(i);
        PadSegment entry{-1, -1, 0, 0};
        if (row < rows)
        {
            int32_t const before = (i - row * static_cast<int32_t>(tiles.segments.divisor)) << Slots; // words
            int32_t const source = padRow<Mode, true>(shape, firstRow + row);
            sources[row] = source;
            int32_t const begin = skipped + row * width + of.begin;
            int32_t const place = (begin + kIn - 1) & -kIn;
            int32_t const inside = max(skipped + row * width + of.end - place, 0) / kIn - before;
            entry.place = place / kIn + before;
            entry.words = kWord * static_cast<uint32_t>(min(max(inside, 0), 1 << Slots));
            if (Mode != PadMode::kConstant || source >= 0)
            {
                int32_t const column = firstColumn + of.begin - shape.last.before + place - begin;
                auto const from = static_cast<uint32_t>(source + column + before * kIn);
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
    PadWord<T> constants;
    memcpy(&constants, &repeated, sizeof constants);
    __syncthreads();
    waitForStream(early); // what is before it needs no memory, and is done while the kernel before ends

    auto const word = static_cast<uint32_t>(thread & ((1 << Slots) - 1));
    uint32_t const enough = kWord * word + kWord - 1;
    PadSegment const* const mine = table + (thread >> Slots);
    constexpr int32_t kStep = kThreads >> Slots; // segments
    auto const* const source = reinterpret_cast<PadWord<T> const*>(x);
    PadWord<T> low[kTurns];
    PadWord<T> high[kTurns];
#pragma unroll
    for (int32_t k = 0; k < kTurns; ++k)
    {
        PadSegment const entry = mine[k * kStep];
        if (enough < entry.words && (Mode != PadMode::kConstant || entry.low >= 0))
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
    edge.at = -1;
    if ((thread & -32) < edges) // by whole warps
    {
        edge.template load<Mode>(shape.last, of, tiles.gap, sources, skipped, rows, thread, constant, change, x);
    }
    __syncwarp(); // else nvcc has some loads wait until others' words are stored
#pragma unroll
    for (int32_t k = 0; k < kTurns; ++k)
    {
        PadSegment const entry = mine[k * kStep];
        if (enough < entry.words)
        {
            PadWord<T> made = padWord<T>(low[k], high[k], entry.words, change);
            made = Mode == PadMode::kConstant && entry.low < 0 ? constants : made;
            words[static_cast<uint32_t>(entry.place) + word] = made;
        }
    }
    edge.store(words);
#pragma unroll 1
    for (int32_t i = thread + kThreads; i < edges; i += kThreads)
    {
        edge.template load<Mode>(shape.last, of, tiles.gap, sources, skipped, rows, i, constant, change, x);
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
PadTiles padTiles(AnyPad const& shape, PadMode mode, int64_t count, int64_t xCount, int64_t tileWords,
                  int64_t threads) noexcept
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
    bool const near = turnsOnce(last) && std::all_of(shape.dims, shape.dims + shape.count, turnsOnce);
    if (shape.count > kUsualPadDims || end - begin < 2 * kIn || xCount == 0 || (mode == PadMode::kReflect && !near))
    {
        return {};
    }
    int64_t const most = (tileWords - 1) * kIn / kSize * kSize;
    int64_t const parts = (columns + most - 1) / most;
    int64_t const width = parts == 1 ? columns : ((columns + parts - 1) / parts + kSize - 1) / kSize * kSize;
    int64_t const words = std::min(end - begin, width) / kIn;
    int64_t const gap = std::min((columns - (end - begin) + 2 * (kIn - 1)) / kIn, width / kIn + 2);
    int64_t const bytes = width * static_cast<int64_t>(sizeof(T));
    // Segments of the size that leaves the fewest threads without a word.
    int32_t slots = kLeastSlots;
    for (int32_t one = slots + 1; one <= kMostSlots && threads % (1 << one) == 0; ++one)
    {
        auto const filled = [&](int32_t size) { return ((words - 1) >> size) + 1 << size; };
        slots = filled(one) <= filled(slots) ? one : slots;
    }
    int64_t const segments = ((words - 1) >> slots) + 1;
    int64_t inTile = 1;
    if (parts == 1)
    {
        inTile = std::max<int64_t>(std::min((tileWords >> slots) / segments, kPadBytes / bytes), 1);
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
            divisorOf(segments),
            slots,
            divisorOf(gap)};
}

//! The dimensions as the kernels have them.
inline AnyPad padShape(int32_t rank, int64_t const* xDims, int64_t const* before, int64_t const* yDims) noexcept
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
    AnyPad shape{};
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

template <typename Values, PadMode Mode, typename T, typename Change>
void padIn(cudaStream_t stream, AnyPad const& shape, int64_t count, int64_t xCount, Change change, float value,
           Output<T> y, Input<T> x) noexcept
{
    using Tile = PadValues<Values>;
    constexpr int32_t kThreads = Values::kThreads > 0 ? Tile::kThreads : 256;
    constexpr int64_t kSmall = 3 * (int64_t{1} << 16U); // elements; an H100 makes 2^18 as fast by tiles
    auto const blocks = static_cast<uint32_t>((count + kThreads - 1) / kThreads);
    auto const elements = static_cast<int32_t>(count);
    UsualPad usual{shape.count, {}, shape.last};
    std::copy_n(shape.dims, kUsualPadDims, usual.dims);
    PadTiles const tiles = count > kSmall && canPack(y.data, x.data)
                               ? padTiles<T>(shape, Mode, count, xCount, Tile::kWords, Tile::kThreads)
                               : PadTiles{};
    if (tiles.rows > 0)
    {
        auto const groups = (tiles.rows + int64_t{tiles.inTile} - 1) / tiles.inTile;
        auto const bytes = int64_t{tiles.inTile} * tiles.width * static_cast<int64_t>(sizeof(T));
        size_t const shared = (static_cast<size_t>(bytes) / kPackBytes + 2) * kPackBytes;
        auto const launch = [&](auto kernel)
        {
            launchEarlyIfFew(kernel, static_cast<uint32_t>(groups * tiles.parts.divisor), {Tile::kThreads, shared},
                             stream, usual, tiles, change, value, y, x.data);
        };
        constexpr bool kWide = Tile::kThreads % 128 == 0; // what a block's threads are not made of isn't chosen
        tiles.slots == 4   ? launch(padTilesKernel<Tile, 4, Mode, T, Change>)
        : tiles.slots == 5 ? launch(padTilesKernel<Tile, 5, Mode, T, Change>)
        : tiles.slots == 6 ? launch(padTilesKernel < Tile, Tile::kThreads % 64 == 0 ? 6 : 5, Mode, T, Change >)
                           : launch(padTilesKernel < Tile, kWide ? 7 : 5, Mode, T, Change >);
    }
    else if (shape.count <= kUsualPadDims) // fewer parameters, and fewer instructions
    {
        launchEarlyIfFew(padElementsKernel<kThreads, Mode, kUsualPadDims, T, Change>, blocks, kThreads, stream, usual,
                         elements, change, value, y, x.data);
    }
    else
    {
        launchEarlyIfFew(padElementsKernel<kThreads, Mode, kMostPadDims - 1, T, Change>, blocks, kThreads, stream,
                         shape, elements, change, value, y, x.data);
    }
}

template <typename Values, typename T, typename Change>
cudaError_t padBy(cudaStream_t stream, AnyPad const& shape, int64_t count, int64_t xCount, Change change,
                  Padding padding, Output<T> y, Input<T> x) noexcept
{
    switch (padding.mode)
    {
    case PadMode::kConstant:
        padIn<Values, PadMode::kConstant>(stream, shape, count, xCount, change, padding.value, y, x);
        break;
    case PadMode::kEdge:
        padIn<Values, PadMode::kEdge>(stream, shape, count, xCount, change, padding.value, y, x);
        break;
    case PadMode::kReflect:
        padIn<Values, PadMode::kReflect>(stream, shape, count, xCount, change, padding.value, y, x);
        break;
    }
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
    detail::AnyPad const shape = detail::padShape(rank, xDims, before, yDims);
    return launchWith(stream,
                      [&](cudaStream_t on, auto values)
                      {
                          using Values = decltype(values);
                          if constexpr (kScaled<T>)
                          {
                              if (!detail::sameScale(y, x))
                              {
                                  detail::Rescaled<T> const change{x.scale, y.inverse};
                                  return detail::padBy<Values>(on, shape, count, xCount, change, padding, y, x);
                              }
                          }
                          return detail::padBy<Values>(on, shape, count, xCount, detail::Moved{}, padding, y, x);
                      });
}

} // namespace pluginkit::kernels
