//! A bit for each element that a predicate holds for; for select.cuh.
#pragma once

#include <pluginkit/kernels/row_inputs.cuh>
#include <pluginkit/kernels/rows.cuh>
#include <pluginkit/kernels/tensors.cuh>

#include <cstdint>

namespace pluginkit::kernels::detail
{

//! The bits of Size elements that a thread has loaded, the first element's lowest.
template <int32_t Size, typename Predicate, typename T>
__device__ uint32_t marksOf(Predicate const& predicate, Elements<Size, T> const& loaded, float scale)
{
    float numbers[Size];
    loaded.unpack(scale, numbers);
    // Bits added up in a float of 2^23: additions have units of their own, and those for integers are busy already.
    float marks = 8388608.0F;
#pragma unroll
    for (int32_t j = 0; j < Size; ++j)
    {
        if (predicate(numbers[j]))
        {
            marks += static_cast<float>(1U << static_cast<uint32_t>(j));
        }
    }
    return __float_as_uint(marks) & 0xFFFFU;
}

//! Any predicate, of elements of any type.
template <int32_t Size, typename Predicate, typename T>
struct Marker
{
    Predicate const& predicate;
    float scale;

    __device__ Marker(Predicate const& asked, float scaleOfX) : predicate(asked), scale(scaleOfX) {}

    __device__ uint32_t marks(Elements<Size, T> const& loaded) const
    {
        return marksOf<Size>(predicate, loaded, scale);
    }
};

//! Packs of INT8: there are 256 elements, of which a warp asks the predicate once. Where it holds for neighbours alone,
//! and -128 counts as the neighbour of 127 (so it is for comparisons with a number, with 0, and of magnitudes), four
//! elements at once are compared with the first and the last of them.
template <typename Predicate>
struct Marker<Pack<int8_t>::kSize, Predicate, int8_t>
{
    static constexpr int32_t kSize = Pack<int8_t>::kSize;
    static constexpr uint32_t kSigns = 0x80808080U;
    static constexpr uint32_t kEach = 0x01010101U; //!< of a word's bytes

    Predicate const& predicate;
    float scale;
    bool neighbours;
    // The elements that it doesn't hold for begin at one, and are so many; as a word's bytes have them.
    uint32_t first;      //!< without signs
    uint32_t firstSigns; //!< of the opposite numbers
    uint32_t many;       //!< without signs
    uint32_t few;        //!< all ones, if there are fewer than 128
    uint32_t any;        //!< signs, unless it holds for none

    //! All lanes of a warp must come here.
    __device__ Marker(Predicate const& asked, float scaleOfX) : predicate(asked), scale(scaleOfX)
    {
        constexpr int32_t kOfLane = 256 / static_cast<int32_t>(kLanes);
        auto const lane = threadIdx.x % kLanes;
        uint32_t holds = 0;
#pragma unroll
        for (int32_t j = 0; j < kOfLane; ++j)
        {
            auto const element = static_cast<int8_t>(static_cast<int32_t>(lane) * kOfLane + j); // from 0 to 127, -128
            holds |= predicate(toNumber(element, scale)) ? 1U << static_cast<uint32_t>(j) : 0U;
        }
        uint32_t const before = __shfl_sync(kWholeWarp, holds, static_cast<int>((lane + kLanes - 1) % kLanes));
        uint32_t const shifted = (holds << 1U | before >> (kOfLane - 1U)) & 0xFFU;
        uint32_t const begins = holds & ~shifted; // where it begins to hold, and where it ends
        uint32_t const ends = ~holds & shifted;
        uint32_t const beginning = __ballot_sync(kWholeWarp, begins != 0);
        uint32_t const ending = __ballot_sync(kWholeWarp, ends != 0);
        auto const at = static_cast<uint32_t>(__ffs(static_cast<int>(beginning)) - 1) % kLanes;
        auto const to = static_cast<uint32_t>(__ffs(static_cast<int>(ending)) - 1) % kLanes;
        uint32_t const begin = __shfl_sync(kWholeWarp, begins, static_cast<int>(at));
        uint32_t const end = __shfl_sync(kWholeWarp, ends, static_cast<int>(to));
        uint32_t const one = __shfl_sync(kWholeWarp, holds, 0) & 1U;
        neighbours = (beginning & (beginning - 1)) == 0 && (begin & (begin - 1)) == 0;
        uint32_t const firstHeld = at * kOfLane + static_cast<uint32_t>(__ffs(static_cast<int>(begin))) - 1U;
        uint32_t const firstLeft = to * kOfLane + static_cast<uint32_t>(__ffs(static_cast<int>(end))) - 1U;
        bool const same = beginning == 0; // of all elements
        uint32_t const left = same ? 0U : firstLeft & 0xFFU;
        uint32_t const number = same ? 0U : (firstHeld - firstLeft) & 0xFFU;
        first = (left & 0x7FU) * kEach;
        firstSigns = (~left & 0x80U) * kEach;
        many = (number & 0x7FU) * kEach;
        few = number < 128U ? 0xFFFFFFFFU : 0U;
        any = same && one == 0 ? 0U : kSigns;
    }

    //! The sign of each byte: whether the predicate holds for it.
    __device__ uint32_t signs(uint32_t word) const
    {
        uint32_t const below = (word | kSigns) - first;
        uint32_t const place = below ^ ((word ^ firstSigns) & kSigns); // behind the first, from 0 to 255
        uint32_t const beyond = (place | kSigns) - many;
        return ((place & beyond) | (few & (place | beyond))) & any;
    }

    __device__ uint32_t marks(Elements<kSize, int8_t> const& loaded) const
    {
        if (!neighbours)
        {
            return marksOf<kSize>(predicate, loaded, scale);
        }
        uint32_t const(&words)[kPackWords] = loaded.packs[0].words;
        // 128 times the bits of eight elements.
        uint32_t const low = __dp4a(signs(words[1]), 0x80402010U, __dp4a(signs(words[0]), 0x08040201U, 0U));
        uint32_t const high = __dp4a(signs(words[3]), 0x80402010U, __dp4a(signs(words[2]), 0x08040201U, 0U));
        return low >> 7U | high << 1U;
    }
};

} // namespace pluginkit::kernels::detail
