//! Conversions of __half, for numbers.cuh and all that is built on it.
#pragma once

#include <pluginkit/kernels/numbers.cuh>
#include <pluginkit/kernels/order.cuh>

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

namespace detail
{

template <>
struct PackedOrder<__half>
{
    static constexpr bool kKnown = true;
    static constexpr uint32_t kIn = 2;

    uint32_t most;

    __device__ static PackedOrder begin(uint32_t word)
    {
        return {word};
    }

    __device__ static __half2 both(uint32_t word)
    {
        __half2 elements;
        memcpy(&elements, &word, sizeof elements);
        return elements;
    }

    __device__ void larger(uint32_t word)
    {
        __half2 const elements = __hmax2(both(most), both(word));
        memcpy(&most, &elements, sizeof elements);
    }

    __device__ uint32_t number(Order<__half> const& order) const
    {
        uint32_t const low = order.of(__low2half(both(most)));
        uint32_t const high = order.of(__high2half(both(most)));
        return low > high ? low : high;
    }

    template <bool Nan>
    __device__ static void mark(uint32_t& marks, uint32_t word, uint32_t bound, uint32_t bit)
    {
        __half2 const elements = both(word);
        uint32_t const marked = Nan ? __hneu2_mask(elements, elements) : __hgeu2_mask(elements, both(bound));
        marks |= marked & 0x00010001U << bit;
    }
};

} // namespace detail

} // namespace pluginkit::kernels
