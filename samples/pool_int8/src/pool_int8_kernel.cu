#include "pool_int8_kernel.h"

#include <cuda_fp16.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace pool_int8
{
namespace
{

constexpr uint32_t kThreads = 256;
constexpr uint32_t kMaxBlocks = 4096; // enough for every GPU; the kernels' loops do what is left
constexpr uint32_t kPackBytes = 16;   // what one thread loads at once where rows begin and end there

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
__global__ void poolKernel(PoolInt8Arguments const args)
{
    using Number = typename Gathers<T>::Number;
    PoolInt8Parameters const& p = args.parameters;
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

template <typename T, uint32_t Count>
struct alignas(Count * sizeof(T)) Pack
{
    T values[Count];
};

//! Windows of 2 x 2 that lie side by side, with rows that begin and end where a pack can: a thread reads 16 bytes of
//! two rows and writes 8. It is what most networks pool with, and the memory's speed is all that limits it.
template <typename T, bool Average>
__global__ void poolPairsKernel(PoolInt8Arguments const args)
{
    using Number = typename Gathers<T>::Number;
    constexpr uint32_t kIn = kPackBytes / sizeof(T);
    constexpr uint32_t kOut = kIn / 2;
    auto const rowPacks = static_cast<uint32_t>(args.w) / kIn;
    uint32_t const packs = rowPacks * static_cast<uint32_t>(args.outH);
    auto const* const input = static_cast<Pack<T, kIn> const*>(args.input);
    auto* const output = static_cast<Pack<T, kOut>*>(args.output);
    int64_t const planeStep = static_cast<int64_t>(gridDim.y) * blockDim.y;
    for (uint32_t pack = blockIdx.x * blockDim.x + threadIdx.x; pack < packs; pack += gridDim.x * blockDim.x)
    {
        uint32_t const outY = pack / rowPacks;
        uint32_t const at = outY * 2 * rowPacks + pack % rowPacks;
        for (int64_t plane = static_cast<int64_t>(blockIdx.y) * blockDim.y + threadIdx.y; plane < args.planes;
             plane += planeStep)
        {
            int64_t const first = plane * args.h * rowPacks + at;
            Pack<T, kIn> const upper = input[first];
            Pack<T, kIn> const lower = input[first + rowPacks];
            Pack<T, kOut> result;
            for (uint32_t i = 0; i < kOut; ++i)
            {
                Number number = toNumber(upper.values[2 * i]);
                number = gathered<Average>(number, toNumber(upper.values[2 * i + 1]));
                number = gathered<Average>(number, toNumber(lower.values[2 * i]));
                number = gathered<Average>(number, toNumber(lower.values[2 * i + 1]));
                float const value = Average ? static_cast<float>(number) / 4.0F : static_cast<float>(number);
                toElement(result.values[i], value, args.ratio);
            }
            output[plane * packs + pack] = result;
        }
    }
}

//! Whether poolPairsKernel can do it.
template <typename T>
bool inPairs(PoolInt8Arguments const& args) noexcept
{
    PoolInt8Parameters const& p = args.parameters;
    bool const pairs = p.kernel_h == 2 && p.kernel_w == 2 && p.stride_h == 2 && p.stride_w == 2;
    // Rounded up, the last window of an odd height would be half a one.
    bool const plain = p.pad_h == 0 && p.pad_w == 0 && args.outH == args.h / 2;
    bool const rows = static_cast<uint32_t>(args.w) % (kPackBytes / sizeof(T)) == 0;
    bool const aligned = reinterpret_cast<uintptr_t>(args.input) % kPackBytes == 0 &&
                         reinterpret_cast<uintptr_t>(args.output) % (kPackBytes / 2) == 0;
    return pairs && plain && rows && aligned;
}

template <typename T, bool Average>
void launch(PoolInt8Arguments const& args, cudaStream_t stream) noexcept
{
    bool const pairs = inPairs<T>(args);
    auto const pixels = static_cast<uint32_t>(args.outH) * static_cast<uint32_t>(args.outW);
    uint32_t const units = pairs ? pixels / (kPackBytes / 2 / sizeof(T)) : pixels;
    // Small images share a block.
    uint32_t along = kThreads;
    while (along / 2 >= units)
    {
        along /= 2;
    }
    dim3 const threads{along, kThreads / along};
    uint32_t const blocksX = std::min((units - 1) / along + 1, kMaxBlocks);
    int64_t const blocksY = (args.planes + threads.y - 1) / threads.y;
    dim3 const blocks{blocksX, static_cast<uint32_t>(std::min<int64_t>(blocksY, kMaxBlocks))};
    if (pairs)
    {
        poolPairsKernel<T, Average><<<blocks, threads, 0, stream>>>(args);
    }
    else
    {
        poolKernel<T, Average><<<blocks, threads, 0, stream>>>(args);
    }
}

template <typename T>
void launchMode(PoolInt8Arguments const& args, cudaStream_t stream) noexcept
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

cudaError_t launchPoolInt8(PoolInt8Arguments const& args, PoolInt8Precision precision, cudaStream_t stream) noexcept
{
    if (args.planes == 0 || args.outH == 0 || args.outW == 0)
    {
        return cudaSuccess; // a launch of no blocks would be an error
    }
    switch (precision)
    {
    case PoolInt8Precision::kFLOAT:
        launchMode<float>(args, stream);
        break;
    case PoolInt8Precision::kHALF:
        launchMode<__half>(args, stream);
        break;
    case PoolInt8Precision::kINT8:
        launchMode<int8_t>(args, stream);
        break;
    }
    return cudaGetLastError();
}

} // namespace pool_int8
