//! Conversions of FP8 (E4M3), for numbers.cuh and all that is built on it: an element stands for element * scale.
#pragma once

#include <pluginkit/kernels/numbers.cuh>

#include <cuda_fp8.h>

namespace pluginkit::kernels
{

template <>
inline constexpr bool kScaled<__nv_fp8_e4m3> = true;

template <>
struct Conversion<__nv_fp8_e4m3> : ConversionByElement<__nv_fp8_e4m3>
{
    __device__ static float load(__nv_fp8_e4m3 element, float scale)
    {
        return static_cast<float>(element) * scale;
    }

    //! To the nearest, half to even; what is too large becomes the largest, 448, and NaN stays NaN.
    __device__ static void store(__nv_fp8_e4m3& element, float number, float inverse)
    {
        element = __nv_fp8_e4m3{number * inverse};
    }
};

} // namespace pluginkit::kernels
