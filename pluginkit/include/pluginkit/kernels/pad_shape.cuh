//! Where the elements of a tensor with a rim come from; for pad.cuh.
#pragma once

#include <pluginkit/kernels/division.cuh>
#include <pluginkit/kernels/tuning.cuh>

#include <algorithm>
#include <cstdint>
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
    int32_t before; //!< how much of the rim is before x; may be below 0, which cuts
    int32_t stride; //!< of x
    Divisor out;    //!< the size of y
    Divisor period; //!< after which a reflection is the same again
};

//! All dimensions but the last, Most at most, and the last; neighbours that have no rim count as one.
template <int32_t Most>
struct PadShape
{
    int32_t count;
    PadDim dims[Most];
    PadDim last;
};

constexpr int32_t kUsualPadDims = 2; //!< of images
using UsualPad = PadShape<kUsualPadDims>;
using AnyPad = PadShape<kMostPadDims - 1>;

//! The rows of y, as a block's threads go over them: columns `begin` to `end` - 1 may be made of words of x, the others
//! are made element by element.
struct PadRow
{
    int32_t begin;
    int32_t end;
    int32_t lead;  //!< the column of x that belongs at column `begin`
    int32_t words; //!< columns where a word may begin, from `begin` on
    Divisor gap;   //!< parts from one row's last word of x to the next row's first one, at most
};

//! Elements that are moved at once: a word of four bytes, or one element.
template <typename T>
constexpr int32_t kPadWord = sizeof(T) < sizeof(uint32_t) ? static_cast<int32_t>(sizeof(uint32_t) / sizeof(T)) : 1;

//! Elements of a rim that a thread makes: of one byte the four of a word, which have much in common.
template <typename T>
constexpr int32_t kPadPart = sizeof(T) == 1 ? 4 : 1;

template <typename T>
using PadWord = std::conditional_t<sizeof(T) < sizeof(uint32_t), uint32_t, T>;

//! Where in x the element is that belongs at `place` of y; -1: nowhere.
template <PadMode Mode>
__device__ int32_t sourceOf(PadDim const& dim, int32_t place)
{
    int32_t const from = place - dim.before;
    if (Mode == PadMode::kConstant || dim.size == 0)
    {
        return static_cast<uint32_t>(from) < static_cast<uint32_t>(dim.size) ? from : -1;
    }
    if (Mode == PadMode::kEdge)
    {
        return min(max(from, 0), dim.size - 1);
    }
    int32_t const distance = abs(from);
    uint32_t const over =
        static_cast<uint32_t>(distance) - static_cast<uint32_t>(dim.period.quotient(distance)) * dim.period.divisor;
    uint32_t const back = 2U * (static_cast<uint32_t>(dim.size) - 1U) - over; // below 2^32
    return static_cast<int32_t>(min(over, back));
}

//! Where the row of x begins that belongs into row `row` of y; -1: it is of the rim alone.
//! Unroll: 1 is fastest where few threads of a block do it; with that of all dimensions a single one is soonest done.
template <PadMode Mode, int32_t Unroll, int32_t Most>
__device__ int32_t rowSource(PadShape<Most> const& shape, int32_t row)
{
    int32_t from = 0;
#pragma unroll Unroll
    for (int32_t d = Unroll > 1 ? Unroll - 1 : shape.count - 1; d >= 0; --d)
    {
        if (Unroll > 1 && d >= shape.count)
        {
            continue;
        }
        int32_t const next = d > 0 ? shape.dims[d].out.quotient(row) : 0;
        int32_t const source =
            sourceOf<Mode>(shape.dims[d], row - next * static_cast<int32_t>(shape.dims[d].out.divisor));
        if (source < 0)
        {
            return -1;
        }
        from += source * shape.dims[d].stride;
        row = next;
    }
    return from;
}

//! The rows, for words of `word` elements, parts of `part` and tiles of `tile`.
inline PadRow padRow(PadDim const& last, int64_t xCount, int64_t word, int64_t part, int64_t tile) noexcept
{
    int64_t const columns = last.out.divisor;
    int64_t const before = last.before;
    // Where x isn't made of whole words, one that has a row's last elements may end behind x.
    int64_t const spared = xCount % word == 0 ? 0 : word - 1;
    int64_t const begin = std::min(std::max<int64_t>(before, 0), columns);
    int64_t const end = std::min(std::max(before + last.size - spared, begin), columns);
    int64_t const gap = (columns - (end - begin) + 2 * (word - 1)) / word * word / part;
    int64_t const words = std::max<int64_t>(end - begin - word + 1, 0);
    return {static_cast<int32_t>(begin), static_cast<int32_t>(end),
            static_cast<int32_t>(words > 0 ? begin - before : 0), static_cast<int32_t>(words),
            divisorOf(std::min(gap, tile / part))};
}

//! The dimensions as the kernels have them.
inline AnyPad padShape(int32_t rank, int64_t const* xDims, int64_t const* before, int64_t const* yDims) noexcept
{
    int64_t size[kMostPadDims]{};
    int64_t out[kMostPadDims]{};
    int64_t first[kMostPadDims]{};
    int32_t dims = 0;
    bool plain = false; // whether the dimension before has no rim
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

constexpr int32_t kPadBytes = 8192; //!< of y, that a block makes at most

//! Threads of a block, and packs of y of each: those of a set of values, or else the given ones; no more than a block
//! may make.
template <typename Values, int32_t Threads, int32_t Packs>
struct PadValues
{
    static constexpr int32_t kMost = kPadBytes / 16;
    static constexpr int32_t kThreads = std::min(Values::kThreads > 0 ? Values::kThreads : Threads, kMost);
    static constexpr int32_t kPacks = std::min(Values::kPacks > 0 ? Values::kPacks : Packs, kMost / kThreads);
};

} // namespace detail

} // namespace pluginkit::kernels
