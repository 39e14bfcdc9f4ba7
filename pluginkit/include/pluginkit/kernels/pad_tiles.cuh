//! Tensors with a rim by tiles of a fixed size, whatever part of a row or how many rows that is; for pad.cuh.
#pragma once

#include <pluginkit/kernels/launch.cuh>
#include <pluginkit/kernels/moving.cuh>
#include <pluginkit/kernels/pack.cuh>
#include <pluginkit/kernels/pad_shape.cuh>

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace pluginkit::kernels::detail
{

constexpr int32_t kPadResident = 1536;           //!< threads of a multiprocessor: with fewer registers loads would wait
constexpr int32_t kPadLeastRow = 16;             //!< bytes: a block may have a part of so many shorter rows
constexpr int64_t kSmallPad = int64_t{1} << 22U; //!< bytes of y: an H100 makes 2 MiB a third faster by smaller tiles,
                                                 //!< 16 MiB a quarter slower

//! Blocks of a multiprocessor. More packs of a thread need more registers.
template <int32_t Threads, int32_t Packs>
constexpr int32_t kPadBlocks = 2 * kPadResident / std::max(Packs, 2) / Threads;

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
template <int32_t Threads, int32_t Packs, bool Early, PadMode Mode, typename T, typename Change>
__global__ void __launch_bounds__(Threads, heldBlocks(Threads, kPadBlocks<Threads, Packs>))
    padKernel(AnyPad const shape, PadRow const of, int32_t count, Change change, float value, Output<T> y, T const* x)
{
    constexpr int32_t kBytes = Threads * Packs * static_cast<int32_t>(kPackBytes);
    constexpr int32_t kTile = kBytes / static_cast<int32_t>(sizeof(T));
    constexpr int32_t kIn = kPadWord<T>;
    constexpr int32_t kTurns = kTile / kIn / Threads;
    __shared__ uint4 made[kBytes / kPackBytes];
    __shared__ int32_t sources[kBytes / kPadLeastRow + 2]; // where in x column `begin` of each row is; -1: nowhere
    auto* const elements = reinterpret_cast<T*>(made);
    auto* const words = reinterpret_cast<PadWord<T>*>(made);
    auto const thread = static_cast<int32_t>(threadIdx.x);
    auto const columns = static_cast<int32_t>(shape.last.out.divisor);
    int32_t const first = static_cast<int32_t>(blockIdx.x) * kTile;
    int32_t const firstRow = shape.last.out.quotient(first);
    int32_t const skipped = first - firstRow * columns; // of that row
    int32_t const rows = shape.last.out.quotient(skipped + kTile - 1) + 1;
    for (int32_t i = thread; i < rows; i += Threads)
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
        int32_t const at = skipped + (k * Threads + thread) * kIn;
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
            words[k * Threads + thread] = word;
        }
    }

    auto const gap = static_cast<int32_t>(of.gap.divisor);
    constexpr int32_t kPart = kPadPart<T>;
#pragma unroll(kPart == 1 ? 4 : 2)
    for (int32_t i = thread; i < (rows + 1) * gap; i += Threads)
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
    for (int32_t pack = thread; pack * kSize < size; pack += Threads)
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

//! By tiles; false where rows are too short for them, or tensors can't be loaded by words. Large: there may be very
//! many.
template <typename Values, bool Large, PadMode Mode, typename T, typename Change>
bool launchPadTiles(cudaStream_t stream, AnyPad const& shape, int64_t count, int64_t xCount, Change change, float value,
                    Output<T> y, Input<T> x) noexcept
{
    constexpr int32_t kThreads = Values::kThreads;
    constexpr int32_t kPacks = Values::kPacks;
    constexpr int32_t kBytes = kThreads * kPacks * static_cast<int32_t>(kPackBytes);
    constexpr int64_t kTile = kBytes / static_cast<int64_t>(sizeof(T));
    PadRow const rows = padRow(shape.last, xCount, kPadWord<T>, kPadPart<T>, kTile);
    // Where no word fits into a row, only whole words of x keep what is loaded in vain inside it.
    bool const words = canPack(y.data, x.data) && (rows.words > 0 || (xCount > 0 && xCount % kPadWord<T> == 0));
    if (!words || kTile / shape.last.out.divisor > kBytes / kPadLeastRow)
    {
        return false;
    }
    auto const blocks = static_cast<uint32_t>((count + kTile - 1) / kTile);
    auto const elements = static_cast<int32_t>(count);
    // A wait that is compiled in, even without effect, costs an H100 a twentieth of the copy rate in FP16 here; of the
    // other modes it costs nothing.
    if constexpr (Large && Mode == PadMode::kConstant)
    {
        if (blocks > kMostEarlyBlocks)
        {
            padKernel<kThreads, kPacks, false, Mode>
                <<<blocks, kThreads, 0, stream>>>(shape, rows, elements, change, value, y, x.data);
            return true;
        }
    }
    launchEarly(padKernel<kThreads, kPacks, true, Mode, T, Change>, blocks, kThreads, stream, shape, rows, elements,
                change, value, y, x.data);
    return true;
}

} // namespace pluginkit::kernels::detail
