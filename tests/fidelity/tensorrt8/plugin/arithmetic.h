// What the plugins compute: element i of an output is factor * (element i of an input, from its beginning again where
// it is shorter) + offset, in any type and format; the same code for the CPU and, compiled by nvcc, in a kernel.
#pragma once

#include <NvInfer.h>

#include <cmath>
#include <cstdint>
#include <cstring>

#ifdef __CUDACC__
#define ON_BOTH __host__ __device__
#else
#define ON_BOTH
#endif

namespace chameleon
{

//! A tensor as enqueue sees it; of the interfaces that keep the batch apart, of one sample.
struct Tensor
{
    int32_t type;
    int32_t format;
    float scale;
    int32_t rank;
    int32_t dims[8];
};

inline ON_BOTH int64_t volume(Tensor const& tensor)
{
    int64_t count = 1;
    for (int32_t i = 0; i < tensor.rank; ++i)
    {
        count *= tensor.dims[i];
    }
    return count;
}

//! How many channels lie together: 1 in linear memory.
inline ON_BOTH int32_t lanes(int32_t format)
{
    // kCHW2, kHWC8, kCHW4, kCHW16, kCHW32
    constexpr int32_t kLANES[]{1, 2, 8, 4, 16, 32};
    return format >= 0 && format < 6 ? kLANES[format] : 1;
}

//! With the lanes that are not channels.
inline ON_BOTH int64_t padded(Tensor const& tensor)
{
    int32_t const together = lanes(tensor.format);
    if (together == 1 || tensor.rank < 3)
    {
        return volume(tensor);
    }
    int64_t count = 1;
    for (int32_t i = 0; i < tensor.rank; ++i)
    {
        int64_t const dim = tensor.dims[i];
        count *= i == tensor.rank - 3 ? (dim + together - 1) / together * together : dim;
    }
    return count;
}

//! Where the element with a number, counted as in linear memory, lies. kHWC8 has all channels of a place together, the
//! others a vector of them.
inline ON_BOTH int64_t place(Tensor const& tensor, int64_t number)
{
    int32_t const together = lanes(tensor.format);
    if (together == 1 || tensor.rank < 3)
    {
        return number;
    }
    int64_t const channels = tensor.dims[tensor.rank - 3];
    int64_t const plane = static_cast<int64_t>(tensor.dims[tensor.rank - 2]) * tensor.dims[tensor.rank - 1];
    int64_t const at = number % plane, channel = number / plane % channels, image = number / plane / channels;
    int64_t const whole = (channels + together - 1) / together * together;
    if (tensor.format == 2)
    {
        return (image * plane + at) * whole + channel;
    }
    return ((image * (whole / together) + channel / together) * plane + at) * together + channel % together;
}

inline ON_BOTH float ofHalf(uint16_t bits)
{
    int32_t const exponent = bits >> 10 & 31, fraction = bits & 1023;
    float value = exponent == 0 ? ldexpf(static_cast<float>(fraction), -24)
                                : ldexpf(static_cast<float>(1024 + fraction), exponent - 25);
    value = exponent == 31 ? (fraction == 0 ? INFINITY : NAN) : value;
    return (bits >> 15) != 0 ? -value : value;
}

//! To the nearest one, ties to even; too large ones become infinite.
inline ON_BOTH uint16_t toHalf(float value)
{
    auto const sign = static_cast<uint16_t>(value < 0 ? 0x8000 : 0);
    float const magnitude = fabsf(value);
    if (!(magnitude < 65520.0F))
    {
        return static_cast<uint16_t>(sign | 0x7C00);
    }
    int32_t exponent = 0;
    frexpf(magnitude, &exponent); // magnitude is in [2^(exponent - 1), 2^exponent)
    exponent = magnitude == 0.0F || exponent < -13 ? -13 : exponent;
    // A carry of the fraction goes into the exponent, as it must.
    auto const fraction = static_cast<int32_t>(rintf(ldexpf(magnitude, 11 - exponent)));
    int32_t const biased = fraction < 1024 ? 0 : exponent + 14;
    return static_cast<uint16_t>(sign | ((biased << 10) + (biased == 0 ? fraction : fraction - 1024)));
}

//! A number of INT8 is worth its scale.
inline ON_BOTH float read(Tensor const& tensor, void const* data, int64_t number)
{
    int64_t const at = place(tensor, number);
    switch (tensor.type)
    {
    case 0:
        return static_cast<float const*>(data)[at];
    case 1:
        return ofHalf(static_cast<uint16_t const*>(data)[at]);
    case 2:
        return static_cast<float>(static_cast<int8_t const*>(data)[at]) * tensor.scale;
    case 3:
        return static_cast<float>(static_cast<int32_t const*>(data)[at]);
    default:
        return static_cast<float>(static_cast<uint8_t const*>(data)[at]);
    }
}

inline ON_BOTH void write(Tensor const& tensor, void* data, int64_t number, float value)
{
    int64_t const at = place(tensor, number);
    switch (tensor.type)
    {
    case 0:
        static_cast<float*>(data)[at] = value;
        break;
    case 1:
        static_cast<uint16_t*>(data)[at] = toHalf(value);
        break;
    case 2:
        static_cast<int8_t*>(data)[at] =
            static_cast<int8_t>(fminf(fmaxf(rintf(value / tensor.scale), -128.0F), 127.0F));
        break;
    case 3:
        static_cast<int32_t*>(data)[at] = static_cast<int32_t>(rintf(value));
        break;
    default:
        static_cast<uint8_t*>(data)[at] = value != 0.0F ? 1 : 0;
        break;
    }
}

//! One output of one sample.
struct Work
{
    Tensor from;
    Tensor to;
    int32_t factor;
    int32_t offset;
};

inline ON_BOTH void compute(Work const& work, void const* from, void* to, int64_t number)
{
    int64_t const there = volume(work.from);
    float const value = there == 0 ? 0.0F : read(work.from, from, number % there);
    write(work.to, to, number, static_cast<float>(work.factor) * value + static_cast<float>(work.offset));
}

inline int32_t bytes(int32_t type)
{
    constexpr int32_t kBYTES[]{4, 2, 1, 4, 1};
    return type >= 0 && type < 5 ? kBYTES[type] : 1;
}

#ifdef CHAMELEONS_ON_GPU
//! All elements, in a kernel; CUDA's error, 0 if there is none. In launch.cu.
int32_t launch(Work const& work, void const* from, void* to, cudaStream_t stream);
#else
inline int32_t launch(Work const& work, void const* from, void* to, cudaStream_t /*stream*/)
{
    for (int64_t i = 0; i < volume(work.to); ++i)
    {
        compute(work, from, to, i);
    }
    return 0;
}
#endif

//! Of so many samples, one behind the other; CUDA's error, 0 if there is none.
inline int32_t run(Work const& work, void const* from, void* to, int32_t samples, cudaStream_t stream)
{
    int32_t error = 0;
    for (int32_t sample = 0; sample < samples && error == 0; ++sample)
    {
        auto const* const source = static_cast<char const*>(from) + sample * padded(work.from) * bytes(work.from.type);
        auto* const target = static_cast<char*>(to) + sample * padded(work.to) * bytes(work.to.type);
        error = launch(work, source, target, stream);
    }
    return error;
}

} // namespace chameleon
