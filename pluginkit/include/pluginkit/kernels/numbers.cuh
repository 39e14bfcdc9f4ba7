//! Elements of a tensor as the numbers that they stand for, and back; one, or a pack of 16 bytes.
//!
//! Here are float, int8_t, int32_t and int64_t; `float16.cuh`, `bfloat16.cuh` and `float8.cuh` have the other types, so
//! that a kernel without them doesn't compile CUDA's headers of them. All is computed in float.
//!
//! INT8 is quantized symmetrically: an element stands for element * scale. To INT8 a number is rounded half to even and
//! cut off at -128 and 127 (NaN becomes 0). The way back multiplies by the scale's inverse, which the host computes
//! once: a division an element would cost more than the memory does. Packs of INT8 become numbers without the GPU's
//! instructions for it, which run at a quarter of the speed of others, by the bits of floats between 2^23 and 2^24; the
//! way back is one instruction for two elements, but for the rounding.
#pragma once

#include <pluginkit/kernels/pack.cuh>

#include <cmath>
#include <cstdint>
#include <cstring>

namespace pluginkit::kernels
{

//! Whether a scale has an inverse that is a number: for the host. One below 2^-127 has none.
inline bool canInvert(float scale) noexcept
{
    return scale > 0.0F && std::isfinite(scale) && std::isfinite(1.0F / scale);
}

//! Whether elements of T stand for element * scale.
template <typename T>
inline constexpr bool kScaled = false;

template <>
inline constexpr bool kScaled<int8_t> = true;

//! How elements of T become numbers: `load` and `store` for one, `unpack` and `pack` for Pack<T>::kSize of them. For a
//! type of your own specialize it, from `ConversionByElement`.
template <typename T>
struct Conversion
{
    static_assert(sizeof(T) == 0, "include pluginkit/kernels/float16.cuh, bfloat16.cuh or float8.cuh for this type");
};

//! Packs by what a type's own conversion does for one element.
template <typename T>
struct ConversionByElement
{
    __device__ static void unpack(Pack<T> const& pack, float scale, float* numbers)
    {
        T elements[Pack<T>::kSize];
        memcpy(&elements, &pack, sizeof elements);
#pragma unroll
        for (int32_t i = 0; i < Pack<T>::kSize; ++i)
        {
            numbers[i] = Conversion<T>::load(elements[i], scale);
        }
    }

    __device__ static void pack(Pack<T>& pack, float const* numbers, float inverse)
    {
        T elements[Pack<T>::kSize];
#pragma unroll
        for (int32_t i = 0; i < Pack<T>::kSize; ++i)
        {
            Conversion<T>::store(elements[i], numbers[i], inverse);
        }
        memcpy(&pack, &elements, sizeof elements);
    }
};

template <>
struct Conversion<float>
{
    __device__ static float load(float element, float /*scale*/)
    {
        return element;
    }

    __device__ static void store(float& element, float number, float /*inverse*/)
    {
        element = number;
    }

    __device__ static void unpack(Pack<float> const& pack, float /*scale*/, float* numbers)
    {
#pragma unroll
        for (int32_t w = 0; w < kPackWords; ++w)
        {
            numbers[w] = __uint_as_float(pack.words[w]);
        }
    }

    __device__ static void pack(Pack<float>& pack, float const* numbers, float /*inverse*/)
    {
#pragma unroll
        for (int32_t w = 0; w < kPackWords; ++w)
        {
            pack.words[w] = __float_as_uint(numbers[w]);
        }
    }
};

template <>
struct Conversion<int8_t>
{
    static constexpr uint32_t kTwoTo23 = 0x4B000000U;
    static constexpr float kOffset = 8388608.0F + 128.0F;

    //! A byte b becomes the float with the bits 0x4B0000bb, which is 2^23 + b; b is the element + 128.
    __device__ static float load(int8_t element, float scale)
    {
        return (__uint_as_float((static_cast<uint32_t>(element) & 0xFFU) ^ (kTwoTo23 + 128U)) - kOffset) * scale;
    }

    __device__ static void store(int8_t& element, float number, float inverse)
    {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 860
        element = static_cast<int8_t>(packed(rounded(number, inverse) - kRounding, 0.0F, 0) & 0xFFU);
#else
        element = static_cast<int8_t>(cutOff(rounded(number, inverse)));
#endif
    }

    __device__ static void unpack(Pack<int8_t> const& pack, float scale, float* numbers)
    {
        constexpr uint32_t kSigns = 0x80808080U;
#pragma unroll
        for (int32_t w = 0; w < kPackWords; ++w)
        {
            uint32_t const shifted = pack.words[w] ^ kSigns;
#pragma unroll
            for (int32_t b = 0; b < 4; ++b)
            {
                uint32_t const bits = __byte_perm(shifted, kTwoTo23, 0x7650U + static_cast<uint32_t>(b));
                numbers[4 * w + b] = (__uint_as_float(bits) - kOffset) * scale;
            }
        }
    }

    static constexpr float kRounding = 12582912.0F; //!< 1.5 * 2^23: added to a float it leaves no bits for fractions

    //! Rounded half to even, and kRounding more. Multiplied and added in one step, the product isn't rounded before.
    __device__ static float rounded(float number, float inverse)
    {
        return fmaf(number, inverse, kRounding);
    }

    //! The element, in the lowest eight bits, of what `rounded` gives.
    __device__ static uint32_t cutOff(float steps)
    {
        float const number = steps == steps ? steps : kRounding; // 0 of NaN
        return __float_as_uint(fminf(fmaxf(number, kRounding - 128.0F), kRounding + 127.0F)) & 0xFFU;
    }

    __device__ static void pack(Pack<int8_t>& pack, float const* numbers, float inverse)
    {
#pragma unroll
        for (int32_t w = 0; w < kPackWords; ++w)
        {
            float four[4];
#pragma unroll
            for (int32_t b = 0; b < 4; ++b)
            {
                four[b] = rounded(numbers[4 * w + b], inverse);
            }
            pack.words[w] = packed(four);
        }
    }

    //! Four elements of what `rounded` gives. From compute capability 8.6 on ptxas makes one instruction of two
    //! conversions and the packing of both (F2IP), which saturates, and makes 0 of NaN (PTX ISA, cvt and cvt.pack).
    __device__ static uint32_t packed(float const (&steps)[4])
    {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 860
        return packed(steps[0] - kRounding, steps[1] - kRounding,
                      packed(steps[2] - kRounding, steps[3] - kRounding, 0));
#else
        uint32_t const low = __byte_perm(cutOff(steps[0]), cutOff(steps[1]), 0x0040U);
        uint32_t const high = __byte_perm(cutOff(steps[2]), cutOff(steps[3]), 0x0040U);
        return __byte_perm(low, high, 0x5410U);
#endif
    }

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 860
    //! Two numbers as elements, in the lower half; `above` is the upper one.
    __device__ static uint32_t packed(float first, float second, uint32_t above)
    {
        uint32_t result = 0;
        asm("{ .reg .s32 a, b; cvt.rni.s32.f32 a, %1; cvt.rni.s32.f32 b, %2; cvt.pack.sat.s8.s32.b32 %0, b, a, %3; }"
            : "=r"(result)
            : "f"(first), "f"(second), "r"(above));
        return result;
    }
#endif
};

//! Integers that no scale belongs to: rounded half to even, and cut off at the type's ends.
template <typename T>
struct IntegerConversion : ConversionByElement<T>
{
    static constexpr bool kLong = sizeof(T) == sizeof(int64_t);
    static constexpr float kLeast = kLong ? -9223372036854775808.0F : -2147483648.0F;
    static constexpr float kMost =
        kLong ? 9223371487098961920.0F : 2147483520.0F; //!< the largest float that T can hold

    __device__ static float load(T element, float /*scale*/)
    {
        return static_cast<float>(element);
    }

    __device__ static void store(T& element, float number, float /*inverse*/)
    {
        element = static_cast<T>(fminf(fmaxf(rintf(number), kLeast), kMost));
    }
};

template <>
struct Conversion<int32_t> : IntegerConversion<int32_t>
{
};

template <>
struct Conversion<int64_t> : IntegerConversion<int64_t>
{
};

//! The number that an element stands for.
template <typename T>
__device__ float toNumber(T const& element, float scale)
{
    return Conversion<T>::load(element, scale);
}

//! The element nearest to a real value.
template <typename T>
__device__ void toElement(T& element, float number, float inverse)
{
    Conversion<T>::store(element, number, inverse);
}

//! The numbers of Count elements in packs. Of a part of a pack the compiler leaves out what the other elements cost.
template <int32_t Count, typename T>
__device__ void unpackNumbers(Pack<T> const* packs, float scale, float* numbers)
{
    constexpr int32_t kSize = Pack<T>::kSize;
    if constexpr (Count < kSize)
    {
        float all[kSize];
        Conversion<T>::unpack(packs[0], scale, all);
#pragma unroll
        for (int32_t j = 0; j < Count; ++j)
        {
            numbers[j] = all[j];
        }
    }
    else
    {
#pragma unroll
        for (int32_t k = 0; k < kPacksOf<Count, T>; ++k)
        {
            Conversion<T>::unpack(packs[k], scale, numbers + k * kSize);
        }
    }
}

//! Chunk `chunk` of a tensor: Count elements, from chunk * Count on. Count is 1, or for a tensor that may be loaded by
//! packs 4 or 8 bytes or a multiple of Pack<T>::kSize.
template <int32_t Count, typename T>
__device__ void loadNumbers(T const* tensor, int64_t chunk, float scale, float* numbers)
{
    if constexpr (Count == 1)
    {
        numbers[0] = toNumber(tensor[chunk], scale);
    }
    else
    {
        Pack<T> packs[kPacksOf<Count, T>];
        loadPacks<Count>(tensor, chunk, packs);
        unpackNumbers<Count>(packs, scale, numbers);
    }
}

//! The same, written.
template <int32_t Count, typename T>
__device__ void storeNumbers(T* tensor, int64_t chunk, float const* numbers, float inverse)
{
    constexpr int32_t kSize = Pack<T>::kSize;
    if constexpr (Count == 1)
    {
        toElement(tensor[chunk], numbers[0], inverse);
    }
    else
    {
        Pack<T> packs[kPacksOf<Count, T>];
        if constexpr (Count < kSize)
        {
            float all[kSize] = {};
#pragma unroll
            for (int32_t j = 0; j < Count; ++j)
            {
                all[j] = numbers[j];
            }
            Conversion<T>::pack(packs[0], all, inverse);
        }
        else
        {
#pragma unroll
            for (int32_t k = 0; k < kPacksOf<Count, T>; ++k)
            {
                Conversion<T>::pack(packs[k], numbers + k * kSize, inverse);
            }
        }
        storePacks<Count>(tensor, chunk, packs);
    }
}

} // namespace pluginkit::kernels
