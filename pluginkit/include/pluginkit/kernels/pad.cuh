//! Tensors with a rim: a constant, the edge's elements, or the tensor reflected at its edge. Elements are moved as they
//! are; quantized ones are converted, where the tensors' scales differ.
//!
//!     kernels::Padding const padding{kernels::PadMode::kReflect, 0.0F};
//!     kernels::launchPad(stream, rank, xDims, before, yDims, padding, kernels::output<__half>(y),
//!                        kernels::input<__half>(x));
#pragma once

#include <pluginkit/kernels/division.cuh>
#include <pluginkit/kernels/launch.cuh>
#include <pluginkit/kernels/moving.cuh>
#include <pluginkit/kernels/pack.cuh>

#include <algorithm>
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
constexpr int32_t kPadThreads = 256;
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
constexpr int32_t kPadBlocks = 4; //!< of a multiprocessor, which has 1024 threads at most
#else
constexpr int32_t kPadBlocks = 6; //!< of a multiprocessor: with fewer registers loads would wait
#endif
constexpr int32_t kPadBytes = 8192;               //!< of y, that a block makes
constexpr int32_t kSmallPadBytes = kPadBytes / 2; //!< where that leaves multiprocessors with few blocks
constexpr int32_t kPadLeastRow = 16;              //!< bytes: a block may have a part of so many shorter rows
constexpr int64_t kSmallPad = int64_t{1} << 22U;  //!< bytes of y: an H100 makes 2 MiB a third faster by smaller tiles,
                                                  //!< 16 MiB a quarter slower

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

//! Two loads that have a word of x, from element `first` on.
template <typename T>
struct LoadedWord
{
    PadWord<T> low;
    PadWord<T> high;

    __device__ void load(T const* x, int32_t first)
    {
        constexpr uint32_t kIn = kPadWord<T>;
        auto const* const words = reinterpret_cast<PadWord<T> const*>(x);
        low = words[static_cast<uint32_t>(first) / kIn];
        if constexpr (kIn > 1)
        {
            high = words[(static_cast<uint32_t>(first) + kIn - 1) / kIn]; // maybe the same: nothing behind it is read
        }
    }

    template <typename Change>
    __device__ PadWord<T> word(int32_t first, Change const& change) const
    {
        if constexpr (kPadWord<T> == 1)
        {
            T element = low;
            change(element);
            return element;
        }
        else
        {
            uint32_t const bits = 8U * static_cast<uint32_t>(sizeof(T)) * static_cast<uint32_t>(first);
            Pack<T> pack{{__funnelshift_r(low, high, bits), 0, 0, 0}}; // shifts by bits modulo 32
            change(pack);                                              // three words of it cost nothing
            return pack.words[0];
        }
    }
};

//! A block makes a tile of y in shared memory, and writes it in packs. Words inside a row of x are two loads and a
//! shift, all of a thread's under way at once; the rim, and what is beside it in its words, is made element by element.
//! What is made behind the end of y is anything. Early: it may be started by `launchEarly`.
template <int32_t Bytes, bool Early, PadMode Mode, typename T, typename Change>
__global__ void __launch_bounds__(kPadThreads, kPadBlocks)
    padKernel(AnyPad const shape, PadRow const of, int32_t count, Change change, float value, Output<T> y, T const* x)
{
    constexpr int32_t kTile = Bytes / static_cast<int32_t>(sizeof(T));
    constexpr int32_t kIn = kPadWord<T>;
    constexpr int32_t kTurns = kTile / kIn / kPadThreads;
    __shared__ uint4 made[Bytes / kPackBytes];
    __shared__ int32_t sources[Bytes / kPadLeastRow + 2]; // where in x column `begin` of each row is; -1: nowhere
    auto* const elements = reinterpret_cast<T*>(made);
    auto* const words = reinterpret_cast<PadWord<T>*>(made);
    auto const thread = static_cast<int32_t>(threadIdx.x);
    auto const columns = static_cast<int32_t>(shape.last.out.divisor);
    int32_t const first = static_cast<int32_t>(blockIdx.x) * kTile;
    int32_t const firstRow = shape.last.out.quotient(first);
    int32_t const skipped = first - firstRow * columns; // of that row
    int32_t const rows = shape.last.out.quotient(skipped + kTile - 1) + 1;
    for (int32_t i = thread; i < rows; i += kPadThreads)
    {
        int32_t const source = rowSource<Mode, 1>(shape, firstRow + i);
        sources[i] = source < 0 ? -1 : source + of.lead;
    }
    T constants[kIn];
#pragma unroll
    for (T& constant : constants)
    {
        toElement(constant, value, y.inverse);
    }
    __syncthreads();

    if constexpr (Early)
    {
        waitForStream(); // what is before it needs no memory, and is done while the kernel before ends
    }
    LoadedWord<T> loaded[kTurns];
    int32_t places[kTurns]; // in x; below 0: of the rim's rows
    bool inside[kTurns];    // whether it is a word of x, or a constant instead of one
#pragma unroll
    for (int32_t k = 0; k < kTurns; ++k)
    {
        int32_t const at = skipped + (k * kPadThreads + thread) * kIn;
        int32_t const row = shape.last.out.quotient(at);
        int32_t const column = at - row * columns - of.begin;
        int32_t const source = sources[row];
        inside[k] = static_cast<uint32_t>(column) < static_cast<uint32_t>(of.words);
        places[k] = source + (inside[k] ? column : 0);
        if (Mode == PadMode::kConstant && source < 0)
        {
            places[k] = -1;
        }
        loaded[k].load(x, Mode == PadMode::kConstant ? max(places[k], 0) : places[k]);
    }
#pragma unroll
    for (int32_t k = 0; k < kTurns; ++k)
    {
        PadWord<T> word = loaded[k].word(places[k], change); // what isn't wanted of it costs less than a branch
        if (Mode == PadMode::kConstant && places[k] < 0)
        {
            memcpy(&word, &constants, sizeof constants);
        }
        if (inside[k])
        {
            words[k * kPadThreads + thread] = word;
        }
    }

    auto const gap = static_cast<int32_t>(of.gap.divisor);
    constexpr int32_t kPart = kPadPart<T>;
#pragma unroll(kPart == 1 ? 4 : 2)
    for (int32_t i = thread; i < (rows + 1) * gap; i += kPadThreads)
    {
        // A gap is between the words of two rows. Places are counted from the tile's first.
        int32_t const below = of.gap.quotient(i);                         // the second of the rows
        int32_t const next = (below - 1) * columns + (columns - skipped); // where it begins
        int32_t const from =
            next > 0 ? max(max(next - columns + of.end, next - columns + of.begin + kIn - 1) & -kIn, 0) : 0;
        int32_t const to = below < rows ? min((min(next + of.begin, kTile) + kIn - 1) & -kIn, kTile) : kTile;
        int32_t const at = from + (i - below * gap) * kPart;
        if constexpr (kPart == 1) // the choice of the constant at the store: an H100 took a twentieth longer before it
        {
            int32_t const start = sources[at < next ? below - 1 : min(below, rows - 1)];
            int32_t const column = min(at < next ? at - next + columns : at - next, columns - 1);
            int32_t const source = sourceOf<Mode>(shape.last, column);
            bool const moved = at < to && source >= 0 && start >= 0;
            T element = x[moved ? start - of.lead + source : 0];
            change(element);
            if (at < to)
            {
                elements[at] = moved ? element : constants[0];
            }
        }
        else
        {
            int32_t const startBefore = sources[max(below - 1, 0)];
            int32_t const startBelow = sources[min(below, rows - 1)];
            T parts[kPart];
#pragma unroll
            for (int32_t j = 0; j < kPart; ++j)
            {
                int32_t const column = min(at + j < next ? at + j - next + columns : at + j - next, columns - 1);
                int32_t const start = at + j < next ? startBefore : startBelow;
                int32_t const source = sourceOf<Mode>(shape.last, column);
                bool const moved = at < to && source >= 0 && start >= 0;
                parts[j] = x[moved ? start - of.lead + source : 0];
                change(parts[j]);
                parts[j] = Mode == PadMode::kConstant && !moved ? constants[0] : parts[j];
            }
            if (at < to)
            {
                memcpy(&words[at / kIn], &parts, sizeof parts);
            }
        }
    }
    __syncthreads();

    constexpr int32_t kSize = Pack<T>::kSize;
    int32_t const size = min(kTile, count - first);
    for (int32_t pack = thread; pack * kSize < size; pack += kPadThreads)
    {
        if ((pack + 1) * kSize <= size)
        {
            storePack(y.data + first, pack, loadPack<T>(elements, pack));
            continue;
        }
        for (int32_t at = pack * kSize; at < size; ++at)
        {
            y.data[first + at] = elements[at];
        }
    }
}

//! Small tensors, very short rows, and tensors that can't be loaded by words: a thread writes an element.
template <PadMode Mode, int32_t Most, typename T, typename Change>
__global__ void __launch_bounds__(kPadThreads) padElementsKernel(bool early, PadShape<Most> const shape, int32_t count,
                                                                 Change change, float value, Output<T> y, T const* x)
{
    int64_t const i = static_cast<int64_t>(blockIdx.x) * kPadThreads + threadIdx.x;
    auto const place = static_cast<int32_t>(min(i, int64_t{count} - 1));
    int32_t const row = shape.last.out.quotient(place);
    int32_t const column = place - row * static_cast<int32_t>(shape.last.out.divisor);
    int32_t const from = rowSource<Mode, Most>(shape, row);
    int32_t const source = sourceOf<Mode>(shape.last, column);
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

//! By tiles of so many bytes; false where rows are too short for them, or tensors can't be loaded by words.
template <int32_t Bytes, PadMode Mode, typename T, typename Change>
bool launchPadTiles(cudaStream_t stream, AnyPad const& shape, int64_t count, int64_t xCount, Change change, float value,
                    Output<T> y, Input<T> x) noexcept
{
    constexpr int64_t kTile = Bytes / static_cast<int64_t>(sizeof(T));
    PadRow const rows = padRow(shape.last, xCount, kPadWord<T>, kPadPart<T>, kTile);
    // Where no word fits into a row, only whole words of x keep what is loaded in vain inside it.
    bool const words = canPack(y.data, x.data) && (rows.words > 0 || (xCount > 0 && xCount % kPadWord<T> == 0));
    if (!words || kTile / shape.last.out.divisor > Bytes / kPadLeastRow)
    {
        return false;
    }
    auto const blocks = static_cast<uint32_t>((count + kTile - 1) / kTile);
    auto const elements = static_cast<int32_t>(count);
    // A wait that is compiled in, even without effect, costs an H100 a twentieth of the copy rate in FP16 here; of the
    // other modes it costs nothing.
    if constexpr (Bytes == kPadBytes && Mode == PadMode::kConstant)
    {
        if (blocks > kMostEarlyBlocks)
        {
            padKernel<Bytes, false, Mode>
                <<<blocks, kPadThreads, 0, stream>>>(shape, rows, elements, change, value, y, x.data);
            return true;
        }
    }
    launchEarly(padKernel<Bytes, true, Mode, T, Change>, blocks, kPadThreads, stream, shape, rows, elements, change,
                value, y, x.data);
    return true;
}

template <PadMode Mode, typename T, typename Change>
void launchPadOf(cudaStream_t stream, AnyPad const& shape, int64_t count, int64_t xCount, Change change, float value,
                 Output<T> y, Input<T> x) noexcept
{
    constexpr int64_t kSmall = 3 * (int64_t{1} << 16U); // elements; an H100 makes 2^18 as fast by tiles
    auto const elements = static_cast<int32_t>(count);
    bool const small = count * static_cast<int64_t>(sizeof(T)) <= kSmallPad;
    if (count > kSmall &&
        (small ? launchPadTiles<kSmallPadBytes, Mode>(stream, shape, count, xCount, change, value, y, x)
               : launchPadTiles<kPadBytes, Mode>(stream, shape, count, xCount, change, value, y, x)))
    {
        return;
    }
    auto const blocks = static_cast<uint32_t>((count + kPadThreads - 1) / kPadThreads);
    if (shape.count <= kUsualPadDims) // fewer parameters, and fewer instructions
    {
        UsualPad usual{shape.count, {}, shape.last};
        std::copy_n(shape.dims, kUsualPadDims, usual.dims);
        launchEarlyIfFew(padElementsKernel<Mode, kUsualPadDims, T, Change>, blocks, kPadThreads, stream, usual,
                         elements, change, value, y, x.data);
        return;
    }
    launchEarlyIfFew(padElementsKernel<Mode, kMostPadDims - 1, T, Change>, blocks, kPadThreads, stream, shape, elements,
                     change, value, y, x.data);
}

template <typename T, typename Change>
void launchPadBy(cudaStream_t stream, AnyPad const& shape, int64_t count, int64_t xCount, Change change,
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
        return cudaSuccess; // a launch of no blocks would be an error
    }
    for (int32_t d = 0; d < rank; ++d)
    {
        if (before[d] > kMost || before[d] < yDims[d] - kMost || xDims[d] > kMost)
        {
            return cudaErrorInvalidValue;
        }
    }
    detail::AnyPad const shape = detail::padShape(rank, xDims, before, yDims);
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
