//! Packs that begin at any element of a tensor; for the other headers.
#pragma once

#include <pluginkit/kernels/pack.cuh>

#include <cstdint>

namespace pluginkit::kernels::detail
{

template <typename T>
constexpr int64_t kInWord = sizeof(T) < sizeof(uint32_t) ? sizeof(uint32_t) / sizeof(T) : 0;

//! Whether `loadShifted` reads nothing behind a tensor of `count` elements.
template <typename T>
__device__ bool canLoadShifted(int64_t first, int64_t count)
{
    return first + Pack<T>::kSize + kInWord<T> <= count;
}

//! The pack from element `first` on, of a tensor that begins at a multiple of 16 bytes: of words, of which each two
//! neighbours have four bytes of it.
template <typename T>
__device__ Pack<T> loadShifted(T const* tensor, int64_t first)
{
    int64_t const begin = first * static_cast<int64_t>(sizeof(T));
    auto const* const words = reinterpret_cast<uint32_t const*>(tensor) + begin / 4;
    Pack<T> result;
    if constexpr (sizeof(T) >= sizeof(uint32_t))
    {
#pragma unroll
        for (int32_t w = 0; w < kPackWords; ++w)
        {
            result.words[w] = words[w];
        }
    }
    else
    {
        uint32_t const choice = 0x3210U + 0x1111U * static_cast<uint32_t>(begin % 4);
        uint32_t word = words[0];
#pragma unroll
        for (int32_t w = 0; w < kPackWords; ++w)
        {
            uint32_t const next = words[w + 1];
            result.words[w] = __byte_perm(word, next, choice);
            word = next;
        }
    }
    return result;
}

} // namespace pluginkit::kernels::detail
