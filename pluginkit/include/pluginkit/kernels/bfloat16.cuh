//! Conversions of __nv_bfloat16, for numbers.cuh and all that is built on it.
#pragma once

#include <pluginkit/kernels/numbers.cuh>

#include <cuda_bf16.h>

#include <cstdint>
#include <cstring>

namespace pluginkit::kernels
{

template <>
struct Conversion<__nv_bfloat16>
{
    __device__ static float load(__nv_bfloat16 element, float /*scale*/)
    {
        return __bfloat162float(element);
    }

    __device__ static void store(__nv_bfloat16& element, float number, float /*inverse*/)
    {
        element = __float2bfloat16_rn(number);
    }

    //! A bfloat16 is the upper half of a float.
    __device__ static void unpack(Pack<__nv_bfloat16> const& pack, float /*scale*/, float* numbers)
    {
#pragma unroll
        for (int32_t w = 0; w < kPackWords; ++w)
        {
            numbers[2 * w] = __uint_as_float(pack.words[w] << 16U);
            numbers[2 * w + 1] = __uint_as_float(pack.words[w] & 0xFFFF0000U);
        }
    }

    __device__ static void pack(Pack<__nv_bfloat16>& pack, float const* numbers, float /*inverse*/)
    {
#pragma unroll
        for (int32_t w = 0; w < kPackWords; ++w)
        {
            __nv_bfloat162 const two = __floats2bfloat162_rn(numbers[2 * w], numbers[2 * w + 1]);
            memcpy(&pack.words[w], &two, sizeof two);
        }
    }
};

} // namespace pluginkit::kernels
