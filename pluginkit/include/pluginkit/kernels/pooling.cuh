//! A function of each window of an image, as a maximum or an average.
//!
//!     struct Largest : kernels::MaximumFold
//!     {
//!         __device__ float result(float folded, float count) const // count: elements of the window in the image
//!         {
//!             return folded;
//!         }
//!     };
//!     kernels::launchPooling(stream, images, window, Largest{}, kernels::output<__half>(y),
//!     kernels::input<__half>(x));
//!
//! Other folds have a number to begin with, which changes no other, and the function:
//!
//!         static constexpr float kIdentity = 0.0F;
//!
//!         __device__ float operator()(float before, float element) const
//!         {
//!             return before + element * element;
//!         }
#pragma once

#include <pluginkit/kernels/launch.cuh>
#include <pluginkit/kernels/tensors.cuh>
#include <pluginkit/kernels/tuning.cuh>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <type_traits>

namespace pluginkit::kernels
{

//! The largest, the smallest, the sum of numbers. Of a layer that has one of these functions INT8 elements are folded
//! as the integers that they are, two at once, before they are converted, where `launchPooling` takes packs.
struct MaximumFold
{
    static constexpr float kIdentity = -INFINITY;

    __device__ float operator()(float before, float element) const
    {
        return fmaxf(before, element);
    }
};

struct MinimumFold
{
    static constexpr float kIdentity = INFINITY;

    __device__ float operator()(float before, float element) const
    {
        return fminf(before, element);
    }
};

struct SumFold
{
    static constexpr float kIdentity = 0.0F;

    __device__ float operator()(float before, float element) const
    {
        return before + element;
    }
};

//! Images of height x width, one after another, and what becomes of each.
struct Images
{
    int64_t count; //!< batch times channels
    int64_t height;
    int64_t width;
    int64_t outHeight;
    int64_t outWidth;
};

//! Window [i, j] begins at row i * stride - pad, and column j * stride - pad.
struct Window
{
    int32_t size; //!< rows and columns of it
    int32_t stride;
    int32_t pad;
};

namespace detail
{

constexpr int32_t kPoolingThreads = 256;

//! The images of a launch, and divisions of a thread's number.
struct PoolingWork
{
    int32_t height;
    int32_t width;
    int32_t outHeight;
    Divisor inRow;   //!< threads of an output row
    Divisor inPlane; //!< rows of threads of an image
    int64_t threads;
};

//! How many elements a window has in the image, from place `begin` on.
inline __device__ int32_t countOf(int32_t begin, int32_t window, int32_t size)
{
    return max(min(begin + window, size) - max(begin, 0), 0);
}

//! Any window: a thread makes an element.
template <int32_t Threads, typename Layer, typename T>
__global__ void __launch_bounds__(Threads) poolingKernel(bool early, PoolingWork const work, Window const window,
                                                         Layer const layer, Output<T> const y, Input<T> const x)
{
    int64_t const i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    waitForStream(early);
    if (i >= work.threads)
    {
        return;
    }
    int32_t const line = work.inRow.quotient(static_cast<int32_t>(i));
    int32_t const image = work.inPlane.quotient(line);
    int32_t const outRow = line - image * work.outHeight;
    int32_t const outColumn = static_cast<int32_t>(i) - line * static_cast<int32_t>(work.inRow.divisor);
    int32_t const top = outRow * window.stride - window.pad;
    int32_t const left = outColumn * window.stride - window.pad;
    int64_t const begin = static_cast<int64_t>(image) * work.height * work.width;
    float folded = Layer::kIdentity;
    for (int32_t r = max(top, 0); r < min(top + window.size, work.height); ++r)
    {
        for (int32_t c = max(left, 0); c < min(left + window.size, work.width); ++c)
        {
            folded = layer(folded, x.at(begin + static_cast<int64_t>(r) * work.width + c));
        }
    }
    int32_t const count = countOf(top, window.size, work.height) * countOf(left, window.size, work.width);
    y.set(i, layer.result(folded, static_cast<float>(count)));
}

//! Whether a layer's function is that of one of the folds, and not one of its own.
template <typename Layer, typename By, typename = void>
constexpr bool kHasFold = false;

template <typename Layer, typename By>
constexpr bool kHasFold<Layer, By, std::void_t<decltype(&Layer::operator())>> =
    std::is_same_v<decltype(&Layer::operator()), decltype(&By::operator())> && Layer::kIdentity == By::kIdentity;

//! Two unsigned numbers of 16 bits with two others.
template <typename Layer>
__device__ uint32_t foldPairs(uint32_t a, uint32_t b)
{
    if constexpr (kHasFold<Layer, MaximumFold>)
    {
        return __vmaxu2(a, b);
    }
    else if constexpr (kHasFold<Layer, MinimumFold>)
    {
        return __vminu2(a, b);
    }
    else
    {
        return a + b; // nine bytes are less than 2^16
    }
}

//! The windows of an output row of `halvingKernel` in those of its rows, `first` and the next, that are in the image,
//! as numbers: of steps, each 128 more than it is, so that none is below 0. Vertically first: windows side by side
//! share columns.
template <int32_t Size, typename Layer, int32_t Rows>
__device__ void foldSteps(Pack<int8_t> const (&rows)[Rows], int8_t const (&before)[Rows], bool const (&has)[Rows],
                          int32_t first, bool hasBefore, float scale, float* numbers)
{
    constexpr uint32_t kSigns = 0x80808080U;
    constexpr uint32_t kTwoTo23 = 0x4B000000U;
    constexpr uint32_t kNone = kHasFold<Layer, MinimumFold> ? 0xFFFFFFFFU : 0U; // changes nothing
    uint32_t even[kPackWords];
    uint32_t odd[kPackWords];
    uint32_t left = kNone; // of the column before the pack, in the high half
#pragma unroll
    for (int32_t w = 0; w < kPackWords; ++w)
    {
        even[w] = kNone;
        odd[w] = kNone;
    }
    int32_t count = 0; // of rows
#pragma unroll
    for (int32_t j = 0; j < Size; ++j)
    {
        int32_t const r = first + j;
        if (!has[r])
        {
            continue;
        }
        ++count;
#pragma unroll
        for (int32_t w = 0; w < kPackWords; ++w)
        {
            uint32_t const raised = rows[r].words[w] ^ kSigns;
            even[w] = foldPairs<Layer>(even[w], __byte_perm(raised, 0, 0x4240U));
            odd[w] = foldPairs<Layer>(odd[w], __byte_perm(raised, 0, 0x4341U));
        }
        if (Size == 3 && hasBefore)
        {
            uint32_t const raised = static_cast<uint8_t>(before[r]) ^ 0x80U;
            left = foldPairs<Layer>(left, raised << 16U | (kNone & 0xFFFFU));
        }
    }
#pragma unroll
    for (int32_t w = 0; w < kPackWords; ++w)
    {
        uint32_t pair = foldPairs<Layer>(even[w], odd[w]);
        if constexpr (Size == 3)
        {
            pair = foldPairs<Layer>(pair, __byte_perm(w > 0 ? odd[w > 0 ? w - 1 : 0] : left, odd[w], 0x5432U));
        }
#pragma unroll
        for (int32_t h = 0; h < 2; ++h)
        {
            int32_t const columns = Size == 3 && w == 0 && h == 0 && !hasBefore ? 2 : Size;
            int32_t const raises = kHasFold<Layer, SumFold> ? count * columns : 1;
            float const offset = 8388608.0F + 128.0F * static_cast<float>(raises);
            uint32_t const bits = __byte_perm(pair, kTwoTo23, h == 0 ? 0x7410U : 0x7432U);
            numbers[2 * w + h] = (__uint_as_float(bits) - offset) * scale;
        }
    }
}

//! Output rows of a thread by itself. Windows of 3 x 3 share loads; of one-byte elements the work on them counts more.
template <int32_t Size, typename T>
constexpr int32_t kHalvedRows = Size == 2 || sizeof(T) == 1 ? 1 : 2;

//! Windows of 2 x 2, or of 3 x 3 with a pad of 1, from every second element, in rows that are made of packs: what most
//! networks halve an image with. A thread takes the pack at one place of several rows, all of them loaded before the
//! first is used, and writes half a pack of each of its output rows.
template <int32_t Threads, int32_t Halved, int32_t Size, typename Layer, typename T>
__global__ void __launch_bounds__(Threads)
    halvingKernel(bool early, PoolingWork const work, Layer const layer, Output<T> const y, Input<T> const x)
{
    constexpr int32_t kPad = Size - 2;
    constexpr int32_t kIn = Pack<T>::kSize;
    constexpr int32_t kOut = kIn / 2;
    constexpr int32_t kRows = 2 * (Halved - 1) + Size;
    constexpr bool kFolds = std::is_same_v<T, int8_t> &&
                            (kHasFold<Layer, MaximumFold> || kHasFold<Layer, MinimumFold> || kHasFold<Layer, SumFold>);
    int64_t const i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    waitForStream(early);
    if (i >= work.threads)
    {
        return;
    }
    int32_t const group = work.inRow.quotient(static_cast<int32_t>(i));
    int32_t const image = work.inPlane.quotient(group);
    auto const packs = static_cast<int32_t>(work.inRow.divisor);
    int32_t const pack = static_cast<int32_t>(i) - group * packs;
    int32_t const firstRow = (group - image * static_cast<int32_t>(work.inPlane.divisor)) * Halved;
    int32_t const top = 2 * firstRow - kPad;
    int64_t const begin = static_cast<int64_t>(image) * work.height * packs + pack;
    Pack<T> loaded[kRows];
    T before[kRows] = {};
#pragma unroll
    for (int32_t r = 0; r < kRows; ++r)
    {
        // Rows that aren't in the image are loaded as others of it: that costs less than branches between loads.
        int64_t const at = begin + static_cast<int64_t>(min(max(top + r, 0), work.height - 1)) * packs;
        loaded[r] = loadPack(x.data, at);
        if constexpr (kPad > 0)
        {
            before[r] = x.data[at * kIn - (pack > 0 ? 1 : 0)];
        }
    }
    float folded[Halved][kOut];
    if constexpr (kFolds)
    {
        bool has[kRows];
#pragma unroll
        for (int32_t r = 0; r < kRows; ++r)
        {
            has[r] = top + r >= 0 && top + r < work.height;
        }
#pragma unroll
        for (int32_t k = 0; k < Halved; ++k)
        {
            foldSteps<Size, Layer>(loaded, before, has, 2 * k, pack > 0, x.scale, folded[k]);
        }
    }
    else
    {
        // A row is converted once, and goes on with each output row whose windows it is in. One that isn't in the image
        // was loaded as its neighbour, which is in the same window: a maximum may have it twice, without branches.
        constexpr bool kTwice = Size == 2 && (kHasFold<Layer, MaximumFold> || kHasFold<Layer, MinimumFold>);
#pragma unroll
        for (int32_t o = 0; o < Halved * kOut; ++o)
        {
            folded[o / kOut][o % kOut] = Layer::kIdentity;
        }
#pragma unroll
        for (int32_t r = 0; r < kRows; ++r)
        {
            if (!kTwice && (top + r < 0 || top + r >= work.height))
            {
                continue;
            }
            float numbers[kIn];
            Conversion<T>::unpack(loaded[r], x.scale, numbers);
#pragma unroll
            for (int32_t k = 0; k < Halved; ++k)
            {
                if (r < 2 * k || r >= 2 * k + Size)
                {
                    continue;
                }
#pragma unroll
                for (int32_t o = 0; o < kOut; ++o)
                {
                    float& number = folded[k][o];
                    if (kPad > 0 && o > 0)
                    {
                        number = layer(number, numbers[o > 0 ? 2 * o - 1 : 0]);
                    }
                    else if (kPad > 0 && pack > 0)
                    {
                        number = layer(number, toNumber(before[r], x.scale));
                    }
                    number = layer(layer(number, numbers[2 * o]), numbers[2 * o + 1]);
                }
            }
        }
    }
#pragma unroll
    for (int32_t k = 0; k < Halved; ++k)
    {
        if (firstRow + k >= work.outHeight)
        {
            continue;
        }
        int32_t const rows = countOf(top + 2 * k, Size, work.height);
        float results[kIn] = {};
#pragma unroll
        for (int32_t o = 0; o < kOut; ++o)
        {
            int32_t const columns = o == 0 && pack == 0 ? Size - kPad : Size;
            float const number = rows > 0 ? folded[k][o] : Layer::kIdentity;
            results[o] = layer.result(number, static_cast<float>(rows * columns));
        }
        Pack<T> made;
        Conversion<T>::pack(made, results, y.inverse);
        int64_t const at = (static_cast<int64_t>(image) * work.outHeight + firstRow + k) * packs + pack;
        reinterpret_cast<uint2*>(y.data)[at] = make_uint2(made.words[0], made.words[1]);
    }
}

//! Images whose rows `halvingKernel` takes.
template <typename Values, int32_t Size, typename Layer, typename T>
void launchHalving(cudaStream_t stream, Images const& images, Layer const& layer, Output<T> y, Input<T> x) noexcept
{
    constexpr int32_t kThreads = Values::kThreads > 0 ? Values::kThreads : kPoolingThreads;
    constexpr int32_t kHalved = Values::kPacks > 0 ? Values::kPacks : kHalvedRows<Size, T>;
    int64_t const packs = images.width / Pack<T>::kSize;
    int64_t const groups = (images.outHeight + kHalved - 1) / kHalved;
    PoolingWork const work{static_cast<int32_t>(images.height),
                           static_cast<int32_t>(images.width),
                           static_cast<int32_t>(images.outHeight),
                           divisorOf(packs),
                           divisorOf(groups),
                           images.count * groups * packs};
    launchEarlyIfFew(halvingKernel<kThreads, kHalved, Size, Layer, T>,
                     static_cast<uint32_t>((work.threads + kThreads - 1) / kThreads), kThreads, stream, work, layer, y,
                     x);
}

template <typename Values, typename Layer, typename T>
void launchPoolingBy(cudaStream_t stream, Images const& images, Window const& window, Layer const& layer, Output<T> y,
                     Input<T> x) noexcept
{
    bool const halves = (window.size == 2 || window.size == 3) && window.stride == 2 && window.pad == window.size - 2;
    if (halves && images.height > 0 && images.width == 2 * images.outWidth && images.width % Pack<T>::kSize == 0 &&
        canPack(y.data, x.data))
    {
        window.size == 2 ? launchHalving<Values, 2>(stream, images, layer, y, x)
                         : launchHalving<Values, 3>(stream, images, layer, y, x);
        return;
    }
    constexpr int32_t kThreads = Values::kThreads > 0 ? Values::kThreads : kPoolingThreads;
    PoolingWork const work{static_cast<int32_t>(images.height),
                           static_cast<int32_t>(images.width),
                           static_cast<int32_t>(images.outHeight),
                           divisorOf(images.outWidth),
                           divisorOf(images.outHeight),
                           images.count * images.outHeight * images.outWidth};
    launchEarlyIfFew(poolingKernel<kThreads, Layer, T>, static_cast<uint32_t>((work.threads + kThreads - 1) / kThreads),
                     kThreads, stream, work, window, layer, y, x);
}

} // namespace detail

//! Starts the kernel on a stream, which may be `tuned` (tuning.cuh), and returns at once; without elements it starts
//! nothing.
//!
//! The layer folds the numbers of each window that are in the image, row by row from `kIdentity` on, each as its second
//! argument, and `result` makes of it what is written. Both tensors have at most 2^31 - 1 elements. Windows of 2 x 2,
//! and of 3 x 3 with a pad of 1, from every second element, run at the speed of the memory where the width is a
//! multiple of 16 bytes (INT8 of 3 x 3 doesn't), others below it.
template <typename Layer, typename T, typename Stream>
cudaError_t launchPooling(Stream const& stream, Images const& images, Window const& window, Layer const& layer,
                          Output<T> y, Input<T> x) noexcept
{
    constexpr int64_t kMost = 0x7FFFFFFF;
    int64_t const count = images.count * images.outHeight * images.outWidth;
    int64_t const most = images.count * std::max(images.height * images.width, images.outHeight * images.outWidth);
    if (count < 0 || most > kMost || window.size < 1 || window.stride < 1 || window.pad < 0)
    {
        return cudaErrorInvalidValue;
    }
    if (count == 0)
    {
        return cudaSuccess; // a launch of no blocks is an error
    }
    return launchWith(stream,
                      [&](cudaStream_t on, auto values)
                      {
                          detail::launchPoolingBy<decltype(values)>(on, images, window, layer, y, x);
                          return cudaGetLastError();
                      });
}

} // namespace pluginkit::kernels
