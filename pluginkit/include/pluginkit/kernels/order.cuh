//! Elements in the order of the numbers that they stand for: as unsigned numbers, one by one, and compared with a bound
//! a word of four bytes at a time. For topk.cuh.
#pragma once

#include <pluginkit/kernels/numbers.cuh>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace pluginkit::kernels::detail
{

//! Elements as unsigned numbers in the same order. Both zeros are the same number, and all NaNs the largest.
template <typename T>
struct Order
{
    static_assert(sizeof(T) <= sizeof(uint32_t), "elements have at most 32 bits");
    static constexpr uint32_t kBits = 8 * sizeof(T);
    static constexpr uint32_t kSign = 1U << (kBits - 1);

    uint32_t infinity; //!< its bits, or those of the largest number

    __device__ static uint32_t bitsOf(T element)
    {
        uint32_t bits = 0;
        memcpy(&bits, &element, sizeof element);
        return bits;
    }

    __device__ static Order make()
    {
        T most;
        toElement(most, INFINITY, 1.0F);
        return {bitsOf(most)};
    }

    __device__ uint32_t of(T element) const
    {
        uint32_t const bits = bitsOf(element);
        if constexpr (std::is_integral_v<T>)
        {
            return bits ^ kSign;
        }
        uint32_t const magnitude = bits & (kSign - 1);
        uint32_t const number = (bits & kSign) != 0 ? kSign - magnitude : kSign + magnitude;
        return magnitude > infinity ? 2 * kSign - 1 : number;
    }

    //! The bits of an element that has this number.
    __device__ static uint32_t bitsAt(uint32_t number)
    {
        if constexpr (std::is_integral_v<T>)
        {
            return number ^ kSign;
        }
        return number >= kSign ? number - kSign : kSign | (kSign - number);
    }

    //! The largest number but that of a NaN.
    __device__ uint32_t largest() const
    {
        return std::is_integral_v<T> ? 2 * kSign - 1 : kSign + infinity;
    }
};

//! Words of elements, compared by the GPU's instructions for several in a word. `larger` keeps the larger ones of two
//! words (a NaN loses), `mark` sets in `marks` bit 32 / kIn * e + Bit for each element e that is not below the bound,
//! or, if Nan, that is not a number: a NaN isn't below anything. `bound` is an element's bits, in each place of the
//! word.
template <typename T>
struct PackedOrder
{
    static constexpr bool kKnown = false;
};

template <>
struct PackedOrder<float>
{
    static constexpr bool kKnown = true;
    static constexpr uint32_t kIn = 1;

    uint32_t most;

    __device__ static PackedOrder begin(uint32_t word)
    {
        return {word};
    }

    __device__ void larger(uint32_t word)
    {
        most = __float_as_uint(fmaxf(__uint_as_float(most), __uint_as_float(word)));
    }

    //! The number of the largest element.
    __device__ uint32_t number(Order<float> const& order) const
    {
        return order.of(__uint_as_float(most));
    }

    template <bool Nan>
    __device__ static void mark(uint32_t& marks, uint32_t word, uint32_t bound, uint32_t bit)
    {
        float const x = __uint_as_float(word);
        marks |= (Nan ? x != x : !(x < __uint_as_float(bound))) ? 1U << bit : 0U;
    }
};

//! Two elements in a word, whose CUDA type Pair has them as `x` and `y`: of float16.cuh and bfloat16.cuh.
template <typename T, typename Pair>
struct PairOrder
{
    static constexpr bool kKnown = true;
    static constexpr uint32_t kIn = 2;

    uint32_t most;

    __device__ static PairOrder begin(uint32_t word)
    {
        return {word};
    }

    __device__ static Pair both(uint32_t word)
    {
        Pair elements;
        memcpy(&elements, &word, sizeof elements);
        return elements;
    }

    __device__ void larger(uint32_t word)
    {
        Pair const elements = __hmax2(both(most), both(word));
        memcpy(&most, &elements, sizeof elements);
    }

    __device__ uint32_t number(Order<T> const& order) const
    {
        Pair const elements = both(most);
        uint32_t const low = order.of(elements.x);
        uint32_t const high = order.of(elements.y);
        return low > high ? low : high;
    }

    template <bool Nan>
    __device__ static void mark(uint32_t& marks, uint32_t word, uint32_t bound, uint32_t bit)
    {
        Pair const elements = both(word);
        uint32_t const marked = Nan ? __hneu2_mask(elements, elements) : __hgeu2_mask(elements, both(bound));
        marks |= marked & 0x00010001U << bit;
    }
};

template <>
struct PackedOrder<int8_t>
{
    static constexpr bool kKnown = true;
    static constexpr uint32_t kIn = 4;
    static constexpr uint32_t kHigh = 0x80808080U;

    uint32_t most; //!< in the high bytes of both halves: of the second and fourth bytes
    uint32_t even; //!< the same of the first and third

    __device__ static PackedOrder begin(uint32_t word)
    {
        return {word, word << 8U};
    }

    __device__ void larger(uint32_t word)
    {
        most = __vmaxs2(most, word); // the low bytes only tell equal ones apart
        even = __vmaxs2(even, word << 8U);
    }

    __device__ uint32_t number(Order<int8_t> const& /*order*/) const
    {
        uint32_t const both = __vmaxs2(most, even);
        auto const high = static_cast<int32_t>(both) >> 24;
        auto const low = static_cast<int32_t>(both << 16U) >> 24;
        return static_cast<uint32_t>((high > low ? high : low) + 128);
    }

    template <bool Nan>
    __device__ static void mark(uint32_t& marks, uint32_t word, uint32_t bound, uint32_t bit)
    {
        // Without their signs a byte isn't below another if their difference leaves the high bit that was set before.
        uint32_t const seven = (word | kHigh) - (bound & ~kHigh);
        // With equal signs that decides. Otherwise it is the bound's sign: what isn't negative is above what is.
        uint32_t const sign = bound & kHigh;
        uint32_t const marked = (~word & (sign | seven)) | (sign & seven);
        marks |= Nan ? 0U : (marked & kHigh) >> (7U - bit);
    }
};

} // namespace pluginkit::kernels::detail
