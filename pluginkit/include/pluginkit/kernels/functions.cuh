//! Functions of one number that the GPU's special units compute, for kernels in which CUDA's exact ones would take
//! longer than the memory. On target cpu they are the exact ones.
#pragma once

#include <cmath>

namespace pluginkit::kernels
{

//! tanh, off by at most 2^-10.987 of it (PTX ISA, tanh.approx.f32): less than half a step of FP16 near 1, not enough
//! for FP32. Needs compute capability 7.5.
__device__ inline float fastTanh(float x)
{
#if defined(PLUGINKIT_TARGET_CPU) || (defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 750)
    return tanhf(x);
#else
    float result = 0.0F;
    asm("tanh.approx.f32 %0, %1;" : "=f"(result) : "f"(x));
    return result;
#endif
}

//! GELU by its usual approximation with a tanh.
__device__ inline float fastGelu(float x)
{
    float const inner = 0.7978845608F * (x + 0.044715F * x * x * x);
    return 0.5F * x * (1.0F + fastTanh(inner));
}

//! x times its sigmoid, which is (1 + tanh(x / 2)) / 2.
__device__ inline float fastSilu(float x)
{
    return 0.5F * x * (1.0F + fastTanh(0.5F * x));
}

} // namespace pluginkit::kernels
