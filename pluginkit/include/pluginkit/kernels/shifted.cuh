//! Packs that begin at any element of a tensor; for the other headers.
#pragma once

#include <pluginkit/kernels/pack.cuh>

#include <cstdint>
#include <cstring>

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

//! The pack from element `first` on, which is a multiple of a pack's elements, of a tensor of `count`; zeros behind it.
template <typename T>
__device__ Pack<T> loadWithin(T const* tensor, int32_t first, int32_t count)
{
    constexpr int32_t kSize = Pack<T>::kSize;
    if (first + kSize <= count)
    {
        return loadPack(tensor, first / kSize);
    }
    T elements[kSize] = {};
#pragma unroll
    for (int32_t j = 0; j < kSize; ++j)
    {
        if (first + j < count)
        {
            elements[j] = tensor[first + j];
        }
    }
    Pack<T> pack;
    memcpy(&pack, &elements, sizeof pack);
    return pack;
}

//! Elements begin to end - 1, at least one, of the pack from element `first` on, of a tensor of `count` that begins at
//! a multiple of 16 bytes. Those elements are in the tensor; others may be outside, and are anything. Both packs that
//! have them are loaded whole: a warp's neighbouring packs cost half as many accesses so as their words would.
template <typename T>
__device__ Pack<T> loadAnywhere(T const* tensor, int32_t first, int32_t begin, int32_t end, int32_t count)
{
    constexpr int32_t kSize = Pack<T>::kSize;
    int32_t const skipped = first & (kSize - 1);
    int32_t const start = first - skipped;
    Pack<T> const low = skipped + begin < kSize ? loadWithin(tensor, start, count) : Pack<T>{};
    Pack<T> const high = skipped + end > kSize ? loadWithin(tensor, start + kSize, count) : Pack<T>{};
    uint32_t words[2 * kPackWords];
#pragma unroll
    for (int32_t w = 0; w < kPackWords; ++w)
    {
        words[w] = low.words[w];
        words[w + kPackWords] = high.words[w];
    }
    auto const bytes = static_cast<uint32_t>(skipped) * static_cast<uint32_t>(sizeof(T));
#pragma unroll
    for (int32_t w = 0; w < 2 * kPackWords - 2; ++w)
    {
        words[w] = (bytes & 8U) != 0 ? words[w + 2] : words[w];
    }
#pragma unroll
    for (int32_t w = 0; w <= kPackWords; ++w)
    {
        words[w] = (bytes & 4U) != 0 ? words[w + 1] : words[w];
    }
    Pack<T> result;
#pragma unroll
    for (int32_t w = 0; w < kPackWords; ++w)
    {
        result.words[w] = __funnelshift_r(words[w], words[w + 1], 8U * (bytes & 3U));
    }
    return result;
}

} // namespace pluginkit::kernels::detail
