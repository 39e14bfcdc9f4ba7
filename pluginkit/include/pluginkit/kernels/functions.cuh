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

//! e^x, off by at most (2 + |x|) * 2^-22 of it (PTX ISA, ex2.approx.ftz.f32); results below 2^-126 are 0.
__device__ inline float fastExp(float x)
{
#ifdef PLUGINKIT_TARGET_CPU
    return expf(x);
#else
    float result = 0.0F;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x * 1.4426950408889634F)); // log2(e)
    return result;
#endif
}

//! e^(x - most) of numbers that aren't above `most`, as those of a softmax: an operation less than
//! `fastExp(x - most)`, and the same for all of a row that the rounding of most * log2(e) makes of it.
struct ExpBelow
{
    float factor;
    float offset;

    __device__ explicit ExpBelow(float most)
        // Above that the product's rounding could be more than 2's exponent holds, and floats are 64 apart: the others'
        // powers are nothing beside the largest one's, with any base.
        : factor(fabsf(most) < 1e9F ? 1.4426950408889634F : 1.0F), offset(-most * factor)
    {
    }

    __device__ float operator()(float x) const
    {
#ifdef PLUGINKIT_TARGET_CPU
        return exp2f(fmaf(x, factor, offset));
#else
        float result = 0.0F;
        asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(fmaf(x, factor, offset)));
        return result;
#endif
    }
};

//! GELU by its usual approximation with a tanh.
__device__ inline float fastGelu(float x)
{
    // sqrt(2 / pi) * (x + 0.044715 * x^3)
    float const inner = x * fmaf(0.0356774081F, x * x, 0.7978845608F);
    float const half = 0.5F * x;
    return fmaf(half, fastTanh(inner), half);
}

//! x times its sigmoid, which is (1 + tanh(x / 2)) / 2.
__device__ inline float fastSilu(float x)
{
    float const half = 0.5F * x;
    return fmaf(half, fastTanh(half), half);
}

} // namespace pluginkit::kernels
