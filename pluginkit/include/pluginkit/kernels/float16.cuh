//! Conversions of __half, for numbers.cuh and all that is built on it.
#pragma once

#include <pluginkit/kernels/numbers.cuh>

#include <cuda_fp16.h>

#include <cstdint>
#include <cstring>

namespace pluginkit::kernels
{

template <>
struct Conversion<__half>
{
    __device__ static float load(__half element, float /*scale*/)
    {
        return __half2float(element);
    }

    __device__ static void store(__half& element, float number, float /*inverse*/)
    {
        element = __float2half_rn(number);
    }

    __device__ static void unpack(Pack<__half> const& pack, float /*scale*/, float* numbers)
    {
#pragma unroll
        for (int32_t w = 0; w < kPackWords; ++w)
        {
            __half2 two;
            memcpy(&two, &pack.words[w], sizeof two);
            float2 const both = __half22float2(two);
            numbers[2 * w] = both.x;
            numbers[2 * w + 1] = both.y;
        }
    }

    __device__ static void pack(Pack<__half>& pack, float const* numbers, float /*inverse*/)
    {
#pragma unroll
        for (int32_t w = 0; w < kPackWords; ++w)
        {
            __half2 const two = __floats2half2_rn(numbers[2 * w], numbers[2 * w + 1]);
            memcpy(&pack.words[w], &two, sizeof two);
        }
    }
};

} // namespace pluginkit::kernels
