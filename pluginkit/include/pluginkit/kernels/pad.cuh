//! Tensors with a rim: a constant, the edge's elements, or the tensor reflected at its edge. Elements are moved as they
//! are; quantized ones are converted, where the tensors' scales differ.
//!
//!     kernels::Padding const padding{kernels::PadMode::kReflect, 0.0F};
//!     kernels::launchPad(stream, rank, xDims, before, yDims, padding, kernels::output<__half>(y),
//!                        kernels::input<__half>(x));
#pragma once

#include <pluginkit/kernels/division.cuh>
#include <pluginkit/kernels/moving.cuh>
#include <pluginkit/kernels/shifted.cuh>

#include <algorithm>
#include <cstdint>
#include <cstring>

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
constexpr uint32_t kPadThreads = 256;

//! Both tensors' dimensions; neighbours that have no rim count as one.
struct PadShape
{
    int32_t rank;
    int32_t rows;                 //!< of y, of its last dimension's size
    int32_t size[kMostPadDims];   //!< of x
    int32_t before[kMostPadDims]; //!< how much of the rim is before x; may be below 0, which cuts
    int32_t stride[kMostPadDims]; //!< of x
    Divisor out[kMostPadDims];    //!< the sizes of y
};

//! Where in x the element is that belongs at `place`, counted from x's first; -1: nowhere.
template <PadMode Mode>
__device__ int32_t sourceOf(int32_t place, int32_t size)
{
    if (static_cast<uint32_t>(place) < static_cast<uint32_t>(size))
    {
        return place;
    }
    if (Mode == PadMode::kConstant || size == 0)
    {
        return -1;
    }
    if (Mode == PadMode::kEdge || size == 1)
    {
        return min(max(place, 0), size - 1);
    }
    uint32_t const period = 2U * (static_cast<uint32_t>(size) - 1U); // below 2^32
    auto distance = static_cast<uint32_t>(abs(place));
    distance = distance < period ? distance : distance % period;
    return static_cast<int32_t>(min(distance, period - distance));
}

//! Where the row of x begins that belongs into row `row` of y; -1: it is of the rim alone.
template <PadMode Mode>
__device__ int32_t rowSource(PadShape const& shape, int32_t row)
{
    int32_t from = 0;
    for (int32_t d = shape.rank - 2; d >= 0; --d)
    {
        int32_t const next = d > 0 ? shape.out[d].quotient(row) : 0;
        int32_t const place = row - next * static_cast<int32_t>(shape.out[d].divisor);
        int32_t const source = sourceOf<Mode>(place - shape.before[d], shape.size[d]);
        if (source < 0)
        {
            return -1;
        }
        from += source * shape.stride[d];
        row = next;
    }
    return from;
}

constexpr int32_t kPadTile = 1024; //!< packs that a block puts together before it writes them

//! Blocks whose threads go over the packs of some short rows: first those that lie inside a row of x, then the others,
//! the last of each row first. So nearly every warp has packs of one kind, where a block has several rows.
struct PadTiles
{
    Divisor rows;   //!< of a block
    Divisor perRow; //!< `inside`, as a divisor
    int32_t inside; //!< packs inside every row of x, wherever it begins
    int32_t items;  //!< packs that begin in a row, at most
    int32_t lead;   //!< columns of y before a row of x: a pack that begins there counts for the row before
};

//! The low `count` bytes of a word.
inline __device__ uint32_t lowBytes(int32_t count)
{
    return __funnelshift_lc(~0U, 0U, 8U * static_cast<uint32_t>(max(count, 0)));
}

//! Elements begin to end - 1 of a pack become those of another.
template <typename T>
__device__ void blend(Pack<T>& into, Pack<T> const& from, int32_t begin, int32_t end)
{
    constexpr auto kBytes = static_cast<int32_t>(sizeof(T));
#pragma unroll
    for (int32_t w = 0; w < kPackWords; ++w)
    {
        uint32_t const mask = lowBytes(end * kBytes - 4 * w) & ~lowBytes(begin * kBytes - 4 * w);
        into.words[w] = (into.words[w] & ~mask) | (from.words[w] & mask);
    }
}

//! Element j of a pack becomes another, which is smaller than a word.
template <typename T>
__device__ void put(Pack<T>& into, T element, int32_t j)
{
    constexpr auto kBytes = static_cast<int32_t>(sizeof(T));
    uint32_t word = 0;
    memcpy(&word, &element, sizeof element);
    uint32_t const shift = 8U * (static_cast<uint32_t>(j * kBytes) % 4U);
    uint32_t const mask = ((1U << (8U * kBytes)) - 1U) << shift;
#pragma unroll
    for (int32_t w = 0; w < kPackWords; ++w)
    {
        uint32_t const changed = (into.words[w] & ~mask) | word << shift;
        into.words[w] = w == j * kBytes / 4 ? changed : into.words[w];
    }
}

template <typename T>
__device__ Pack<T> packOf(T element)
{
    T elements[Pack<T>::kSize];
#pragma unroll
    for (T& one : elements)
    {
        one = element;
    }
    Pack<T> pack;
    memcpy(&pack, &elements, sizeof pack);
    return pack;
}

//! The pack of y that begins at this row and column. Row by row: what is x's is loaded at once, the rim by elements.
template <PadMode Mode, typename T, typename Change>
__device__ Pack<T> paddedPack(PadShape const& shape, int32_t row, int32_t column, int32_t xCount, Change change,
                              T constant, T const* x)
{
    constexpr int32_t kSize = Pack<T>::kSize;
    int32_t const last = shape.rank - 1;
    auto const columns = static_cast<int32_t>(shape.out[last].divisor);
    int32_t const size = shape.size[last];
    Pack<T> made = packOf(constant);
    for (int32_t at = 0; at < kSize && row < shape.rows; ++row)
    {
        int32_t const from = rowSource<Mode>(shape, row);
        int32_t const place = column - at - shape.before[last]; // in a row of x, of the pack's first element
        int32_t const stop = min(columns - column, kSize - at) + at;
        if (from >= 0)
        {
            int32_t const begin = min(max(-place, at), stop);
            int32_t const end = max(min(size, place + stop) - place, begin);
            if (begin < end)
            {
                Pack<T> part = loadAnywhere(x, from + place, begin, end, xCount);
                change(part);
                if (begin == 0 && end == kSize)
                {
                    return part;
                }
                blend(made, part, begin, end);
            }
            auto const rim = [&](int32_t j, int32_t behind)
            {
                for (; j < behind; ++j)
                {
                    if (int32_t const source = sourceOf<Mode>(place + j, size); source >= 0)
                    {
                        T element = x[from + source];
                        change(element);
                        if constexpr (sizeof(T) < sizeof(uint32_t))
                        {
                            put(made, element, j);
                        }
                        else
                        {
                            blend(made, packOf(element), j, j + 1); // on an H100 a tenth faster than put() of FP32
                        }
                    }
                }
            };
            if constexpr (Mode != PadMode::kConstant)
            {
                rim(at, begin);
                rim(end, stop);
            }
        }
        at = stop;
        column = 0;
    }
    return made;
}

//! The same of a pack that lies inside a row of x, where there is such a row.
template <PadMode Mode, typename T, typename Change>
__device__ Pack<T> insidePack(PadShape const& shape, int32_t row, int32_t column, int32_t xCount, Change change,
                              T constant, T const* x)
{
    int32_t const from = rowSource<Mode>(shape, row);
    Pack<T> pack = packOf(constant);
    if (from >= 0)
    {
        pack = loadAnywhere(x, from + column - shape.before[shape.rank - 1], 0, Pack<T>::kSize, xCount);
        change(pack);
    }
    return pack;
}

//! Pack `pack` of y; its last may be a part.
template <typename T>
__device__ void storeWithin(T* y, int32_t pack, int32_t count, Pack<T> const& made)
{
    constexpr int32_t kSize = Pack<T>::kSize;
    if ((pack + 1) * kSize <= count)
    {
        storePack(y, pack, made);
        return;
    }
    T elements[kSize];
    memcpy(&elements, &made, sizeof made);
#pragma unroll
    for (int32_t j = 0; j < kSize; ++j)
    {
        if (pack * kSize + j < count)
        {
            y[pack * kSize + j] = elements[j];
        }
    }
}

//! Long rows: a thread writes a pack. Few warps have one at a row's edge.
template <PadMode Mode, typename T, typename Change>
__global__ void __launch_bounds__(kPadThreads)
    padKernel(PadShape const shape, int32_t count, int32_t xCount, Change change, float value, Output<T> y, T const* x)
{
    constexpr int32_t kSize = Pack<T>::kSize;
    int64_t const pack = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (pack * kSize >= count)
    {
        return;
    }
    T constant;
    toElement(constant, value, y.inverse);
    auto const first = static_cast<int32_t>(pack * kSize);
    int32_t const row = shape.out[shape.rank - 1].quotient(first);
    int32_t const column = first - row * static_cast<int32_t>(shape.out[shape.rank - 1].divisor);
    Pack<T> const made = paddedPack<Mode>(shape, row, column, xCount, change, constant, x);
    storeWithin(y.data, static_cast<int32_t>(pack), count, made);
}

//! Short rows: a block puts packs together in shared memory, in an order that suits its warps, and writes them in
//! theirs. (Written as they are made, halves of 32 bytes would reach the memory apart.)
template <PadMode Mode, typename T, typename Change>
__global__ void __launch_bounds__(kPadThreads)
    padRowsKernel(PadShape const shape, PadTiles const tiles, int32_t count, int32_t xCount, Change change, float value,
                  Output<T> y, T const* x)
{
    constexpr int32_t kSize = Pack<T>::kSize;
    __shared__ uint4 made[kPadTile];
    T constant;
    toElement(constant, value, y.inverse);
    auto const columns = static_cast<int32_t>(shape.out[shape.rank - 1].divisor);
    auto const rows = static_cast<int32_t>(tiles.rows.divisor);
    // The first row is the one before y: the packs before x's first row are counted for it.
    int32_t const firstRow = static_cast<int32_t>(blockIdx.x) * rows - 1;
    auto const packBehind = [&](int32_t row) // the first that begins at a row's columns of x, or behind them
    { return max((min(row, shape.rows) * columns + tiles.lead + kSize - 1) & -kSize, 0) / kSize; };
    int32_t const begin = packBehind(firstRow);
    int32_t const end = min(packBehind(firstRow + rows), (count - 1) / kSize + 1);
    for (auto i = static_cast<int32_t>(threadIdx.x); i < rows * tiles.items; i += kPadThreads)
    {
        bool const whole = i < rows * tiles.inside;
        int32_t const item = whole ? i : i - rows * tiles.inside;
        int32_t const turn = whole ? tiles.perRow.quotient(item) : tiles.rows.quotient(item);
        int32_t const row = firstRow + (whole ? turn : item - turn * rows);
        if (row >= shape.rows)
        {
            continue;
        }
        int32_t const from = row * columns + tiles.lead;
        int32_t const least = (from + kSize - 1) & -kSize;
        int32_t first = least + (item - turn * tiles.inside) * kSize;
        if (!whole)
        {
            // From the row's end: the last pack is always at an edge, the one before it in few rows.
            first = ((from + columns + kSize - 1) & -kSize) - (turn + 1) * kSize;
        }
        if (first < 0 || first >= count || (!whole && first < least + tiles.inside * kSize))
        {
            continue;
        }
        int32_t const column = first - row * columns;
        int32_t const below = column >= columns ? 1 : 0;
        Pack<T> const pack =
            whole ? insidePack<Mode>(shape, row, column, xCount, change, constant, x)
                  : paddedPack<Mode>(shape, row + below, column - below * columns, xCount, change, constant, x);
        storePack(reinterpret_cast<T*>(made), first / kSize - begin, pack);
    }
    __syncthreads();
    for (int32_t pack = begin + static_cast<int32_t>(threadIdx.x); pack < end; pack += kPadThreads)
    {
        storeWithin(y.data, pack, count, loadPack(reinterpret_cast<T const*>(made), pack - begin));
    }
}

//! Of tensors that can't be loaded by packs: a thread writes an element.
template <PadMode Mode, typename T, typename Change>
__global__ void __launch_bounds__(kPadThreads)
    padElementsKernel(PadShape const shape, int32_t count, Change change, float value, Output<T> y, T const* x)
{
    int64_t const i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i >= count)
    {
        return;
    }
    int32_t const last = shape.rank - 1;
    int32_t const row = shape.out[last].quotient(static_cast<int32_t>(i));
    int32_t const column = static_cast<int32_t>(i) - row * static_cast<int32_t>(shape.out[last].divisor);
    int32_t const from = rowSource<Mode>(shape, row);
    int32_t const source = from < 0 ? -1 : sourceOf<Mode>(column - shape.before[last], shape.size[last]);
    T element;
    toElement(element, value, y.inverse);
    if (source >= 0)
    {
        element = x[from + source];
        change(element);
    }
    y.data[i] = element;
}

inline uint32_t padBlocks(int64_t threads) noexcept
{
    return static_cast<uint32_t>((threads + kPadThreads - 1) / kPadThreads);
}

//! Tiles for packs of `size` elements.
inline PadTiles padTiles(PadShape const& shape, int64_t size) noexcept
{
    int32_t const last = shape.rank - 1;
    int64_t const columns = shape.out[last].divisor;
    int64_t const before = shape.before[last];
    int64_t const lead = std::min(std::max<int64_t>(before, 0), columns);
    int64_t const end = std::min(std::max(before + shape.size[last], lead), columns);
    int64_t const inside = std::max<int64_t>(end - lead - size + 1, 0) / size;
    int64_t const items = (columns + size - 1) / size;
    // Few rows of a small tensor, which as many blocks as a large GPU runs at once would otherwise wait for.
    constexpr int64_t kBlocks = 512;
    int64_t const rows = std::min(kPadTile / items, std::max<int64_t>(shape.rows / kBlocks, 1));
    return {divisorOf(rows), divisorOf(inside), static_cast<int32_t>(inside), static_cast<int32_t>(items),
            static_cast<int32_t>(lead)};
}

template <PadMode Mode, typename T, typename Change>
void launchPadOf(cudaStream_t stream, PadShape const& shape, int64_t count, int64_t xCount, Change change, float value,
                 Output<T> y, Input<T> x) noexcept
{
    constexpr int64_t kSize = Pack<T>::kSize;
    constexpr int64_t kLeastRows = 8; // that a block could have; longer rows have few packs at their edges
    auto const elements = static_cast<int32_t>(count);
    auto const xElements = static_cast<int32_t>(xCount);
    if (!canPack(y.data, x.data))
    {
        padElementsKernel<Mode>
            <<<padBlocks(count), kPadThreads, 0, stream>>>(shape, elements, change, value, y, x.data);
    }
    else if (shape.out[shape.rank - 1].divisor > kPadTile / kLeastRows * kSize)
    {
        padKernel<Mode><<<padBlocks((count + kSize - 1) / kSize), kPadThreads, 0, stream>>>(shape, elements, xElements,
                                                                                            change, value, y, x.data);
    }
    else
    {
        PadTiles const tiles = padTiles(shape, kSize);
        int64_t const rows = tiles.rows.divisor;
        auto const blocks = static_cast<uint32_t>((shape.rows + rows) / rows); // of a row more
        padRowsKernel<Mode>
            <<<blocks, kPadThreads, 0, stream>>>(shape, tiles, elements, xElements, change, value, y, x.data);
    }
}

template <typename T, typename Change>
void launchPadBy(cudaStream_t stream, PadShape const& shape, int64_t count, int64_t xCount, Change change,
                 Padding padding, Output<T> y, Input<T> x) noexcept
{
    switch (padding.mode)
    {
    case PadMode::kConstant:
        return launchPadOf<PadMode::kConstant>(stream, shape, count, xCount, change, padding.value, y, x);
    case PadMode::kEdge:
        return launchPadOf<PadMode::kEdge>(stream, shape, count, xCount, change, padding.value, y, x);
    case PadMode::kReflect:
        return launchPadOf<PadMode::kReflect>(stream, shape, count, xCount, change, padding.value, y, x);
    }
}

//! The dimensions as the kernel has them.
inline PadShape padShape(int32_t rank, int64_t const* xDims, int64_t const* before, int64_t const* yDims) noexcept
{
    PadShape shape{};
    int64_t out[kMostPadDims]{};
    bool plain = false; // whether the dimension before has no rim
    for (int32_t d = 0; d < rank; ++d)
    {
        bool const none = before[d] == 0 && xDims[d] == yDims[d];
        if (!(none && plain))
        {
            shape.size[shape.rank] = 1;
            shape.before[shape.rank] = static_cast<int32_t>(before[d]);
            out[shape.rank] = 1;
            ++shape.rank;
        }
        shape.size[shape.rank - 1] *= static_cast<int32_t>(xDims[d]);
        out[shape.rank - 1] *= yDims[d];
        plain = none;
    }
    int64_t rows = 1;
    for (int32_t d = 0; d + 1 < shape.rank; ++d)
    {
        rows *= out[d];
    }
    shape.rows = static_cast<int32_t>(rows);
    int64_t stride = 1; // beyond 2^31 where x is empty and no stride is used
    for (int32_t d = shape.rank - 1; d >= 0; --d)
    {
        shape.stride[d] = static_cast<int32_t>(stride);
        stride *= shape.size[d];
        shape.out[d] = divisorOf(out[d]);
    }
    return shape;
}

} // namespace detail

//! Starts the kernel on a stream and returns at once; without elements it starts nothing.
//!
//! x and y have `rank` dimensions, 0 to 8, and at most 2^31 - 8192 elements. Element [i, ...] of y is element
//! [i - before[0], ...] of x, or what the padding says where x has none; these places are at most 2^31 - 8192, too. y
//! is other memory than x.
template <typename T>
cudaError_t launchPad(cudaStream_t stream, int32_t rank, int64_t const* xDims, int64_t const* before,
                      int64_t const* yDims, Padding padding, Output<T> y, Input<T> x) noexcept
{
    constexpr int64_t kMost = 0x7FFFFFFF - 8191; // some rows of a tile more are a number still
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
        return cudaSuccess; // a launch of no blocks would be an error
    }
    for (int32_t d = 0; d < rank; ++d)
    {
        if (before[d] > kMost || before[d] < yDims[d] - kMost || xDims[d] > kMost)
        {
            return cudaErrorInvalidValue;
        }
    }
    detail::PadShape const shape = detail::padShape(rank, xDims, before, yDims);
    if constexpr (kScaled<T>)
    {
        if (!detail::sameScale(y, x))
        {
            detail::launchPadBy(stream, shape, count, xCount, detail::Rescaled<T>{x.scale, y.inverse}, padding, y, x);
            return cudaGetLastError();
        }
    }
    detail::launchPadBy(stream, shape, count, xCount, detail::Moved{}, padding, y, x);
    return cudaGetLastError();
}

} // namespace pluginkit::kernels
