//! Conversions of __nv_bfloat16, for numbers.cuh and all that is built on it.
#pragma once

#include <pluginkit/kernels/numbers.cuh>
#include <pluginkit/kernels/order.cuh>

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

namespace detail
{

template <>
struct PackedOrder<__nv_bfloat16>
{
    static constexpr bool kKnown = true;
    static constexpr uint32_t kIn = 2;

    uint32_t most;

    __device__ static PackedOrder begin(uint32_t word)
    {
        return {word};
    }

    __device__ static __nv_bfloat162 both(uint32_t word)
    {
        __nv_bfloat162 elements;
        memcpy(&elements, &word, sizeof elements);
        return elements;
    }

    __device__ void larger(uint32_t word)
    {
        __nv_bfloat162 const elements = __hmax2(both(most), both(word));
        memcpy(&most, &elements, sizeof elements);
    }

    __device__ uint32_t number(Order<__nv_bfloat16> const& order) const
    {
        uint32_t const low = order.of(__low2bfloat16(both(most)));
        uint32_t const high = order.of(__high2bfloat16(both(most)));
        return low > high ? low : high;
    }

    template <bool Nan>
    __device__ static void mark(uint32_t& marks, uint32_t word, uint32_t bound, uint32_t bit)
    {
        __nv_bfloat162 const elements = both(word);
        uint32_t const marked = Nan ? __hneu2_mask(elements, elements) : __hgeu2_mask(elements, both(bound));
        marks |= marked & 0x00010001U << bit;
    }
};

} // namespace detail

} // namespace pluginkit::kernels
