#include "pool_int8_signature.h"

#include <cuda_fp16.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace pool_int8
{
namespace
{

constexpr int32_t kAverage = 1;

//! One run: `planes` images of h x w elements, one behind the other, become as many of outH x outW. `ratio` is the
//! input's INT8 scale divided by the output's; other types do not use it.
struct Arguments
{
    Fields parameters;
    void const* input;
    void* output;
    int64_t planes;
    int32_t h;
    int32_t w;
    int32_t outH;
    int32_t outW;
    float ratio;
};

constexpr uint32_t kThreads = 256;
constexpr uint32_t kMaxBlocks = 4096;      // of poolKernel: enough for every GPU; its loops do what is left
constexpr uint32_t kPackBytes = 16;        // what one thread loads at once where rows begin and end there
constexpr int64_t kMaxWork = 0x7FFFFFFFLL; // threads of a halving kernel

// A window's value is gathered in Number: INT8 elements are added up without rounding, the others in float.

template <typename T>
struct Gathers
{
    using Number = float;
};

template <>
struct Gathers<int8_t>
{
    using Number = int32_t;
};

__device__ float toNumber(float element)
{
    return element;
}

__device__ float toNumber(__half element)
{
    return __half2float(element);
}

__device__ int32_t toNumber(int8_t element)
{
    return element;
}

__device__ float lowest(float /*number*/)
{
    return -INFINITY;
}

__device__ int32_t lowest(int32_t /*number*/)
{
    return -128;
}

__device__ float larger(float a, float b)
{
    return fmaxf(a, b);
}

__device__ int32_t larger(int32_t a, int32_t b)
{
    return max(a, b);
}

__device__ void toElement(float& element, float number, float /*ratio*/)
{
    element = number;
}

__device__ void toElement(__half& element, float number, float /*ratio*/)
{
    element = __float2half_rn(number);
}

//! From steps of the input to steps of the output: half to even, as TensorRT quantizes, and what is too large becomes
//! the largest.
__device__ void toElement(int8_t& element, float steps, float ratio)
{
    element = static_cast<int8_t>(fminf(fmaxf(rintf(steps * ratio), -128.0F), 127.0F));
}

template <bool Average, typename Number>
__device__ Number gathered(Number sofar, Number next)
{
    return Average ? sofar + next : larger(sofar, next);
}

//! Any window. Threads of a block that follow one another take pixels that follow one another; threadIdx.y and the
//! grid's second dimension take planes.
template <typename T, bool Average>
__global__ void poolKernel(Arguments const args)
{
    using Number = typename Gathers<T>::Number;
    Fields const& p = args.parameters;
    auto const pixels = static_cast<uint32_t>(args.outH) * static_cast<uint32_t>(args.outW);
    int64_t const planeStep = static_cast<int64_t>(gridDim.y) * blockDim.y;
    for (uint32_t pixel = blockIdx.x * blockDim.x + threadIdx.x; pixel < pixels; pixel += gridDim.x * blockDim.x)
    {
        auto const outY = static_cast<int32_t>(pixel / static_cast<uint32_t>(args.outW));
        auto const outX = static_cast<int32_t>(pixel % static_cast<uint32_t>(args.outW));
        int32_t top = outY * p.stride_h - p.pad_h;
        int32_t left = outX * p.stride_w - p.pad_w;
        // A window may reach beyond the padding where the output's size was rounded up: that part never counts.
        int32_t bottom = min(top + p.kernel_h, args.h + p.pad_h);
        int32_t right = min(left + p.kernel_w, args.w + p.pad_w);
        int32_t const whole = (bottom - top) * (right - left);
        top = max(top, 0);
        left = max(left, 0);
        bottom = min(bottom, args.h);
        right = min(right, args.w);
        int32_t const inside = (bottom - top) * (right - left);
        auto const count = static_cast<float>(p.count_include_pad != 0 ? whole : inside);

        for (int64_t plane = static_cast<int64_t>(blockIdx.y) * blockDim.y + threadIdx.y; plane < args.planes;
             plane += planeStep)
        {
            T const* const image = static_cast<T const*>(args.input) + plane * args.h * args.w;
            Number number = Average ? Number{0} : lowest(Number{0});
            for (int32_t y = top; y < bottom; ++y)
            {
                T const* const row = image + static_cast<int64_t>(y) * args.w;
                for (int32_t x = left; x < right; ++x)
                {
                    number = gathered<Average>(number, toNumber(row[x]));
                }
            }
            float const value = Average ? static_cast<float>(number) / count : static_cast<float>(number);
            toElement(static_cast<T*>(args.output)[plane * pixels + pixel], value, args.ratio);
        }
    }
}

// Windows of 2 x 2, and of 3 x 3 with one element of padding, both from every second element: what most networks halve
// an image with. Where rows begin and end at multiples of 16 bytes, a thread takes the 16 bytes at one place of several
// rows, all of them loaded before the first is used, and writes 8 bytes of each of its output rows. What limits these
// kernels is the memory's speed (benchmarks/notes.md).

template <typename T, uint32_t Count>
struct alignas(Count * sizeof(T)) Pack
{
    T values[Count];
};

//! Division of n < 2^31 by a number that the host knows: a multiplication and a shift.
struct Divisor
{
    uint32_t number;
    uint32_t factor; // 2^(31 + shift) / number, rounded up
    uint32_t shift;  // the smallest with 2^shift >= number
};

Divisor divisorOf(uint32_t number) noexcept
{
    uint32_t shift = 0;
    while ((uint64_t{1} << shift) < number)
    {
        ++shift;
    }
    return {number, static_cast<uint32_t>(((uint64_t{1} << (31 + shift)) + number - 1) / number), shift};
}

__device__ uint32_t quotient(uint32_t n, Divisor const& divisor)
{
    return static_cast<uint32_t>((static_cast<uint64_t>(n) * divisor.factor) >> (31 + divisor.shift));
}

//! How the work of a halving kernel is shared out: threads that follow one another take packs of a row that follow one
//! another, then groups of rows, then planes.
struct Halving
{
    uint32_t threads;
    Divisor packs;  // of a row
    Divisor groups; // of output rows, in a plane
};

struct Place
{
    int32_t pack;
    int32_t group;
    int64_t plane;
};

__device__ Place placeOf(uint32_t thread, Halving const& halving)
{
    uint32_t const row = quotient(thread, halving.packs);
    uint32_t const plane = quotient(row, halving.groups);
    return {static_cast<int32_t>(thread - row * halving.packs.number),
            static_cast<int32_t>(row - plane * halving.groups.number), static_cast<int64_t>(plane)};
}

//! How many output rows a thread makes: what was fastest on an H100 and an H200.
template <typename T, int32_t Window>
constexpr int32_t kOutRows = sizeof(T) == 1 && Window == 3 ? 1 : 2;

template <int32_t Window>
constexpr int32_t kPad = Window == 3 ? 1 : 0;

//! A thread's part of the input: a pack of each row, and the element before it. INT8 comes in words of four elements.
template <typename Element, int32_t Rows>
struct Strip
{
    static constexpr int32_t kElements = kPackBytes / sizeof(Element);
    Pack<Element, kElements> rows[Rows];
    Element before[Rows];
};

//! Loads a strip whose first row is `top`. Outside of the image all is `nothing`.
template <bool Before, typename Element, int32_t Rows>
__device__ void load(Strip<Element, Rows>& strip, Element const* image, int32_t h, int32_t packs, int32_t top,
                     int32_t pack, Element nothing)
{
    using Row = Pack<Element, Strip<Element, Rows>::kElements>;
#pragma unroll
    for (int32_t i = 0; i < Rows; ++i)
    {
        int32_t const y = top + i;
        bool const inside = y >= 0 && y < h;
        strip.before[i] = nothing;
        if (inside)
        {
            Row const* const row = reinterpret_cast<Row const*>(image) + static_cast<int64_t>(y) * packs + pack;
            strip.rows[i] = *row;
            if (Before && pack > 0)
            {
                strip.before[i] = reinterpret_cast<Element const*>(row)[-1];
            }
        }
        else
        {
#pragma unroll
            for (Element& element : strip.rows[i].values)
            {
                element = nothing;
            }
        }
    }
}

//! How many elements the average of an output row's window goes by, and how many of them lie in the image.
struct Counts
{
    int32_t counted;
    int32_t inside;
};

//! Of the first window of a row (`first`) or any other. Only the first can reach beyond the image's side.
template <int32_t Window>
__device__ Counts countsOf(Arguments const& args, int32_t outY, bool first)
{
    int32_t const top = 2 * outY - kPad<Window>;
    int32_t const bottom = min(top + Window, args.h + kPad<Window>);
    int32_t const columns = first ? Window - kPad<Window> : Window;
    int32_t const inside = (min(bottom, args.h) - max(top, 0)) * columns;
    return {args.parameters.count_include_pad != 0 ? (bottom - top) * Window : inside, inside};
}

//! number / count, rounded as a division is, without its slow way for very small and very large numbers: for sums of up
//! to 3 x 3 elements of FP16 or INT8. `inverse` is 1 / count.
__device__ float divided(float number, float count, float inverse)
{
    float const near = number * inverse;
    float const better = fmaf(fmaf(-near, count, number), inverse, near);
    return isfinite(near) ? better : near;
}

//! FP32 and FP16. The order of additions is that of poolKernel.
template <typename T, bool Average, int32_t Window>
__global__ void __launch_bounds__(kThreads) poolHalvingKernel(Arguments const args, Halving const halving)
{
    constexpr int32_t kRows = 2 * (kOutRows<T, Window> - 1) + Window;
    constexpr int32_t kOut = kPackBytes / sizeof(T) / 2;
    uint32_t const thread = blockIdx.x * blockDim.x + threadIdx.x;
    if (thread >= halving.threads)
    {
        return;
    }
    Place const place = placeOf(thread, halving);
    auto const packs = static_cast<int32_t>(halving.packs.number);
    T nothing;
    toElement(nothing, Average ? 0.0F : -INFINITY, 1.0F);
    int32_t const firstY = place.group * kOutRows<T, Window>;
    Strip<T, kRows> in;
    load<Window == 3>(in, static_cast<T const*>(args.input) + place.plane * args.h * args.w, args.h, packs,
                      2 * firstY - kPad<Window>, place.pack, nothing);
    auto* const output = static_cast<Pack<T, kOut>*>(args.output) + place.plane * args.outH * packs + place.pack;
#pragma unroll
    for (int32_t r = 0; r < kOutRows<T, Window>; ++r)
    {
        int32_t const outY = firstY + r;
        if (outY >= args.outH)
        {
            continue;
        }
        Pack<T, kOut> out;
#pragma unroll
        for (int32_t o = 0; o < kOut; ++o)
        {
            float number = Average ? 0.0F : -INFINITY;
#pragma unroll
            for (int32_t i = 2 * r; i < 2 * r + Window; ++i)
            {
                auto const& row = in.rows[i].values;
                if (Window == 3)
                {
                    number = gathered<Average>(number, toNumber(o == 0 ? in.before[i] : row[2 * o - 1]));
                }
                number = gathered<Average>(number, toNumber(row[2 * o]));
                number = gathered<Average>(number, toNumber(row[2 * o + 1]));
            }
            if (Average)
            {
                auto const count = static_cast<float>(countsOf<Window>(args, outY, place.pack == 0 && o == 0).counted);
                number = sizeof(T) == 2 ? divided(number, count, 1.0F / count) : number / count;
            }
            toElement(out.values[o], number, 1.0F);
        }
        output[static_cast<int64_t>(outY) * packs] = out;
    }
}

// INT8: a 32-bit word has two halves of 16 bits, so that one instruction works on two elements. Where the maximum is
// taken, a half has the element in its upper byte; where elements are added up, it has the element + 128, which can't
// be negative, so nothing is carried from one half into the other.

constexpr uint32_t kLowestBytes = 0x80808080U;

//! Elements 0 and 2 of a word.
template <bool Average>
__device__ uint32_t evens(uint32_t word)
{
    return Average ? (word ^ kLowestBytes) & 0x00FF00FFU : (word << 8) & 0xFF00FF00U;
}

//! Elements 1 and 3 of a word.
template <bool Average>
__device__ uint32_t odds(uint32_t word)
{
    return Average ? ((word ^ kLowestBytes) >> 8) & 0x00FF00FFU : word & 0xFF00FF00U;
}

template <bool Average>
__device__ uint32_t gatheredHalves(uint32_t sofar, uint32_t next)
{
    return Average ? sofar + next : __vmaxs2(sofar, next);
}

//! The bytes that `selector` picks of `bytes`, as a number below 2^16, less `bias`. 0x4B000000 is 2^23 in float, whose
//! last bit counts 1; instructions that convert between int and float would be too slow here.
__device__ float lessBias(uint32_t bytes, uint32_t selector, float bias)
{
    return __uint_as_float(__byte_perm(bytes, 0x4B000000U, selector)) - (8388608.0F + bias);
}

//! What toElement(int8_t&, ...) makes of it, in the lowest byte. The last bit of 3 * 2^22 counts 1, so adding that
//! rounds half to even.
__device__ uint32_t asByte(float steps, float ratio)
{
    return __float_as_uint(__fadd_rn(fminf(fmaxf(steps * ratio, -128.0F), 127.0F), 12582912.0F));
}

__device__ uint32_t packed(uint32_t a, uint32_t b, uint32_t c, uint32_t d)
{
    return __byte_perm(__byte_perm(a, b, 0x0040U), __byte_perm(c, d, 0x0040U), 0x5410U);
}

//! INT8. `Rescaled` says whether steps of the input are others than those of the output.
template <bool Average, int32_t Window, bool Rescaled>
__global__ void __launch_bounds__(kThreads) poolHalvingBytesKernel(Arguments const args, Halving const halving)
{
    constexpr int32_t kOutRowsHere = kOutRows<int8_t, Window>;
    constexpr int32_t kRows = 2 * (kOutRowsHere - 1) + Window;
    constexpr int32_t kWords = kPackBytes / sizeof(uint32_t);
    uint32_t const thread = blockIdx.x * blockDim.x + threadIdx.x;
    if (thread >= halving.threads)
    {
        return;
    }
    Place const place = placeOf(thread, halving);
    auto const packs = static_cast<int32_t>(halving.packs.number);
    int32_t const firstY = place.group * kOutRowsHere;
    Strip<uint32_t, kRows> in;
    load<Window == 3>(in, static_cast<uint32_t const*>(args.input) + place.plane * args.h * packs * kWords, args.h,
                      packs, 2 * firstY - kPad<Window>, place.pack, kLowestBytes);
    auto* const output =
        static_cast<Pack<uint32_t, kWords / 2>*>(args.output) + place.plane * args.outH * packs + place.pack;
#pragma unroll
    for (int32_t r = 0; r < kOutRowsHere; ++r)
    {
        int32_t const outY = firstY + r;
        if (outY >= args.outH)
        {
            continue;
        }
        // Two windows a word: rows are gathered first, for those that lie side by side share columns.
        uint32_t windows[kWords];
        uint32_t before = odds<Average>(in.before[2 * r]);
#pragma unroll
        for (int32_t i = 1; i < Window; ++i)
        {
            before = gatheredHalves<Average>(before, odds<Average>(in.before[2 * r + i]));
        }
#pragma unroll
        for (int32_t w = 0; w < kWords; ++w)
        {
            uint32_t even = evens<Average>(in.rows[2 * r].values[w]);
            uint32_t odd = odds<Average>(in.rows[2 * r].values[w]);
#pragma unroll
            for (int32_t i = 1; i < Window; ++i)
            {
                even = gatheredHalves<Average>(even, evens<Average>(in.rows[2 * r + i].values[w]));
                odd = gatheredHalves<Average>(odd, odds<Average>(in.rows[2 * r + i].values[w]));
            }
            windows[w] = gatheredHalves<Average>(even, odd);
            if (Window == 3)
            {
                // The odd column before each: the last one of the word before, and this word's first.
                windows[w] = gatheredHalves<Average>(windows[w], __byte_perm(before, odd, 0x5432U));
                before = odd;
            }
        }

        Pack<uint32_t, kWords / 2> out;
        if (Average)
        {
            Counts const others = countsOf<Window>(args, outY, false);
            auto const count = static_cast<float>(others.counted);
            auto const bias = static_cast<float>(128 * others.inside);
            float const inverse = 1.0F / count;
            auto const element = [&](uint32_t word, uint32_t selector)
            { return asByte(divided(lessBias(word, selector, bias), count, inverse), args.ratio); };
#pragma unroll
            for (int32_t w = 0; w < kWords / 2; ++w)
            {
                uint32_t const a = windows[2 * w];
                uint32_t const b = windows[2 * w + 1];
                out.values[w] =
                    packed(element(a, 0x7610U), element(a, 0x7632U), element(b, 0x7610U), element(b, 0x7632U));
            }
            if (Window == 3 && place.pack == 0)
            {
                Counts const first = countsOf<Window>(args, outY, true);
                float const sum = lessBias(windows[0], 0x7610U, static_cast<float>(128 * first.inside));
                uint32_t const byte = asByte(sum / static_cast<float>(first.counted), args.ratio);
                out.values[0] = __byte_perm(out.values[0], byte, 0x3214U);
            }
        }
        else
        {
#pragma unroll
            for (int32_t w = 0; w < kWords / 2; ++w)
            {
                uint32_t const bytes = __byte_perm(windows[2 * w], windows[2 * w + 1], 0x7531U);
                auto const element = [&](uint32_t selector)
                { return asByte(lessBias(bytes ^ kLowestBytes, selector, 128.0F), args.ratio); };
                out.values[w] =
                    Rescaled ? packed(element(0x7650U), element(0x7651U), element(0x7652U), element(0x7653U)) : bytes;
            }
        }
        output[static_cast<int64_t>(outY) * packs] = out;
    }
}

//! The window of a halving kernel that can do it, 2 or 3; 0 where none can.
template <typename T>
int32_t halvingWindow(Arguments const& args) noexcept
{
    Fields const& p = args.parameters;
    int32_t const window = p.kernel_h;
    bool const known = (window == 2 && p.pad_h == 0) || (window == 3 && p.pad_h == 1);
    bool const square = p.kernel_w == window && p.pad_w == p.pad_h && p.stride_h == 2 && p.stride_w == 2;
    // Rounded up, there is one window more in a row of an even width.
    bool const rows = static_cast<uint32_t>(args.w) % (kPackBytes / sizeof(T)) == 0 && args.outW == args.w / 2;
    bool const aligned = reinterpret_cast<uintptr_t>(args.input) % kPackBytes == 0 &&
                         reinterpret_cast<uintptr_t>(args.output) % (kPackBytes / 2) == 0;
    return known && square && rows && aligned ? window : 0;
}

template <bool Average, int32_t Window>
void startHalving(Arguments const& args, Halving const& halving, uint32_t blocks, uint32_t threads, cudaStream_t stream,
                  int8_t /*element*/) noexcept
{
    if (Average || args.ratio != 1.0F)
    {
        poolHalvingBytesKernel<Average, Window, true><<<blocks, threads, 0, stream>>>(args, halving);
    }
    else
    {
        poolHalvingBytesKernel<Average, Window, false><<<blocks, threads, 0, stream>>>(args, halving);
    }
}

template <bool Average, int32_t Window, typename T>
void startHalving(Arguments const& args, Halving const& halving, uint32_t blocks, uint32_t threads, cudaStream_t stream,
                  T /*element*/) noexcept
{
    poolHalvingKernel<T, Average, Window><<<blocks, threads, 0, stream>>>(args, halving);
}

//! False where the work is more than a Divisor can count, and nothing was started.
template <typename T, bool Average, int32_t Window>
bool launchHalving(Arguments const& args, cudaStream_t stream) noexcept
{
    constexpr uint32_t kThreadsHere = sizeof(T) == 1 ? kThreads / 2 : kThreads;
    auto const packs = static_cast<uint32_t>(args.w) / static_cast<uint32_t>(kPackBytes / sizeof(T));
    auto const groups = static_cast<uint32_t>((args.outH - 1) / kOutRows<T, Window> + 1);
    int64_t const work = args.planes * groups * packs;
    if (work > kMaxWork)
    {
        return false;
    }
    auto const threads = static_cast<uint32_t>(work);
    Halving const halving{threads, divisorOf(packs), divisorOf(groups)};
    startHalving<Average, Window>(args, halving, (threads - 1) / kThreadsHere + 1, kThreadsHere, stream, T{});
    return true;
}

template <typename T, bool Average>
void launch(Arguments const& args, cudaStream_t stream) noexcept
{
    int32_t const window = halvingWindow<T>(args);
    if ((window == 2 && launchHalving<T, Average, 2>(args, stream)) ||
        (window == 3 && launchHalving<T, Average, 3>(args, stream)))
    {
        return;
    }
    auto const pixels = static_cast<uint32_t>(args.outH) * static_cast<uint32_t>(args.outW);
    // Small images share a block.
    uint32_t along = kThreads;
    while (along / 2 >= pixels)
    {
        along /= 2;
    }
    dim3 const threads{along, kThreads / along};
    uint32_t const blocksX = std::min((pixels - 1) / along + 1, kMaxBlocks);
    int64_t const blocksY = (args.planes + threads.y - 1) / threads.y;
    dim3 const blocks{blocksX, static_cast<uint32_t>(std::min<int64_t>(blocksY, kMaxBlocks))};
    poolKernel<T, Average><<<blocks, threads, 0, stream>>>(args);
}

template <typename T>
void launchMode(Arguments const& args, cudaStream_t stream) noexcept
{
    if (args.parameters.mode == kAverage)
    {
        launch<T, true>(args, stream);
    }
    else
    {
        launch<T, false>(args, stream);
    }
}

} // namespace

cudaError_t launch(Run const& run) noexcept
{
    auto const& x = run.in.x.shape;
    auto const& y = run.out.y.shape;
    if (run.out.y.count == 0)
    {
        return cudaSuccess; // a launch of no blocks is an error
    }
    // Images follow one another in memory, whichever dimension they are of.
    Arguments args{run.fields, run.in.x.data, run.out.y.data, 1, 0, 0, 0, 0, 1.0F};
    for (int32_t i = 0; i < x.rank - 2; ++i)
    {
        args.planes *= x.dims[i];
    }
    args.h = static_cast<int32_t>(x.dims[x.rank - 2]);
    args.w = static_cast<int32_t>(x.dims[x.rank - 1]);
    args.outH = static_cast<int32_t>(y.dims[y.rank - 2]);
    args.outW = static_cast<int32_t>(y.dims[y.rank - 1]);
    switch (run.precision)
    {
    case Precision::kFLOAT:
        launchMode<float>(args, run.stream);
        break;
    case Precision::kHALF:
        launchMode<__half>(args, run.stream);
        break;
    case Precision::kINT8:
        args.ratio = run.in.x.scale / run.out.y.scale;
        launchMode<int8_t>(args, run.stream);
        break;
    }
    return cudaGetLastError();
}

} // namespace pool_int8
