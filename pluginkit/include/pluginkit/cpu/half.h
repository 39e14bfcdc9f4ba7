//! What CUDA's headers of half and bfloat16 keep for the device.
//!
//! Source of the semantics: CUDA Math API, "Half Precision" and "Bfloat16 Precision". Every result is computed in
//! double and rounded once; a GPU's exponential, logarithmic and trigonometric functions may be off by a unit in the
//! last place.
#pragma once

#include <pluginkit/cpu/conversions.h>

#include <cuda_bf16.h>
#include <cuda_fp16.h>

namespace pluginkit_cpu
{

inline namespace v2
{

inline float toFloat(__half x) noexcept
{
    return __half2float(x);
}

inline float toFloat(__nv_bfloat16 x) noexcept
{
    return __bfloat162float(x);
}

//! The nearest H to x.
template <typename H>
H toHalf(double x) noexcept;

template <>
inline __half toHalf(double x) noexcept
{
    return __double2half(x);
}

template <>
inline __nv_bfloat16 toHalf(double x) noexcept
{
    return __double2bfloat16(x);
}

//! a * b + c before it is rounded to 16 bits: what the sum lost is still seen in its last bit.
template <typename H>
double fused(H a, H b, H c) noexcept
{
    double const product = static_cast<double>(toFloat(a)) * toFloat(b);
    double const addend = toFloat(c);
    double const sum = product + addend;
    return std::isfinite(sum) ? odd(sum, lostBySum(product, addend, sum)) : sum;
}

//! Between 0 and 1; NaN is 0.
inline double clamped(double x) noexcept
{
    return x > 0 ? (x < 1 ? x : 1.0) : 0.0;
}

//! Not below 0; NaN stays NaN.
inline double rectified(double x) noexcept
{
    return x < 0 ? 0.0 : x;
}

} // namespace v2

} // namespace pluginkit_cpu

// A function of one number (h...) and the same for each of two (h2...); the result is an expression of the double x.
#define PLUGINKIT_CPU_HALF_EACH(H, H2, name, expression)                                                               \
    inline H h##name(H a) noexcept                                                                                     \
    {                                                                                                                  \
        double const x = pluginkit_cpu::toFloat(a);                                                                    \
        return pluginkit_cpu::toHalf<H>(expression);                                                                   \
    }                                                                                                                  \
    inline H2 h2##name(H2 a) noexcept                                                                                  \
    {                                                                                                                  \
        return H2(h##name(a.x), h##name(a.y));                                                                         \
    }

#define PLUGINKIT_CPU_HALF_UNARY(name, expression)                                                                     \
    PLUGINKIT_CPU_HALF_EACH(__half, __half2, name, expression)                                                         \
    PLUGINKIT_CPU_HALF_EACH(__nv_bfloat16, __nv_bfloat162, name, expression)

PLUGINKIT_CPU_HALF_UNARY(trunc, std::trunc(x))
PLUGINKIT_CPU_HALF_UNARY(ceil, std::ceil(x))
PLUGINKIT_CPU_HALF_UNARY(floor, std::floor(x))
PLUGINKIT_CPU_HALF_UNARY(rint, std::nearbyint(x))
PLUGINKIT_CPU_HALF_UNARY(sqrt, std::sqrt(x))
PLUGINKIT_CPU_HALF_UNARY(rsqrt, 1.0 / std::sqrt(x))
PLUGINKIT_CPU_HALF_UNARY(rcp, 1.0 / x)
PLUGINKIT_CPU_HALF_UNARY(log, std::log(x))
PLUGINKIT_CPU_HALF_UNARY(log2, std::log2(x))
PLUGINKIT_CPU_HALF_UNARY(log10, std::log10(x))
PLUGINKIT_CPU_HALF_UNARY(exp, std::exp(x))
PLUGINKIT_CPU_HALF_UNARY(exp2, std::exp2(x))
PLUGINKIT_CPU_HALF_UNARY(exp10, std::pow(10.0, x))
PLUGINKIT_CPU_HALF_UNARY(cos, std::cos(x))
PLUGINKIT_CPU_HALF_UNARY(sin, std::sin(x))
PLUGINKIT_CPU_HALF_UNARY(tanh, std::tanh(x))
PLUGINKIT_CPU_HALF_UNARY(tanh_approx, std::tanh(x))
#undef PLUGINKIT_CPU_HALF_UNARY
#undef PLUGINKIT_CPU_HALF_EACH

#define PLUGINKIT_CPU_HALF_FMA(H, H2, suffix, change)                                                                  \
    inline H __hfma##suffix(H a, H b, H c) noexcept                                                                    \
    {                                                                                                                  \
        return pluginkit_cpu::toHalf<H>(change(pluginkit_cpu::fused(a, b, c)));                                        \
    }                                                                                                                  \
    inline H2 __hfma2##suffix(H2 a, H2 b, H2 c) noexcept                                                               \
    {                                                                                                                  \
        return H2(__hfma##suffix(a.x, b.x, c.x), __hfma##suffix(a.y, b.y, c.y));                                       \
    }

#define PLUGINKIT_CPU_HALF_FUSED(H, H2)                                                                                \
    PLUGINKIT_CPU_HALF_FMA(H, H2, , )                                                                                  \
    PLUGINKIT_CPU_HALF_FMA(H, H2, _sat, pluginkit_cpu::clamped)                                                        \
    PLUGINKIT_CPU_HALF_FMA(H, H2, _relu, pluginkit_cpu::rectified)                                                     \
    /* Complex numbers: a * b + c. */                                                                                  \
    inline H2 __hcmadd(H2 a, H2 b, H2 c) noexcept                                                                      \
    {                                                                                                                  \
        H const real = __hfma(a.x, b.x, c.x);                                                                          \
        H const imaginary = __hfma(a.x, b.y, c.y);                                                                     \
        return H2(__hfma(__hneg(a.y), b.y, real), __hfma(a.y, b.x, imaginary));                                        \
    }

PLUGINKIT_CPU_HALF_FUSED(__half, __half2)
PLUGINKIT_CPU_HALF_FUSED(__nv_bfloat16, __nv_bfloat162)
#undef PLUGINKIT_CPU_HALF_FUSED
#undef PLUGINKIT_CPU_HALF_FMA

// To integers in the directions that the host lacks; towards zero is CUDA's own.
#define PLUGINKIT_CPU_HALF_INTEGER(I, to, H, from)                                                                     \
    inline I __##from##2##to##_rn(H x) noexcept                                                                        \
    {                                                                                                                  \
        return pluginkit_cpu::toInteger<I, pluginkit_cpu::Rounding::kNEAREST>(pluginkit_cpu::toFloat(x));              \
    }                                                                                                                  \
    inline I __##from##2##to##_ru(H x) noexcept                                                                        \
    {                                                                                                                  \
        return pluginkit_cpu::toInteger<I, pluginkit_cpu::Rounding::kUP>(pluginkit_cpu::toFloat(x));                   \
    }                                                                                                                  \
    inline I __##from##2##to##_rd(H x) noexcept                                                                        \
    {                                                                                                                  \
        return pluginkit_cpu::toInteger<I, pluginkit_cpu::Rounding::kDOWN>(pluginkit_cpu::toFloat(x));                 \
    }

// From integers to bfloat16, whose 8 digits a float has: its conversion is exact. For half CUDA's own serve.
#define PLUGINKIT_CPU_BFLOAT_FROM(direction, suffix, I, from)                                                          \
    inline __nv_bfloat16 __##from##2bfloat16_##suffix(I x) noexcept                                                    \
    {                                                                                                                  \
        constexpr auto kDIRECTION = pluginkit_cpu::Rounding::direction;                                                \
        return __float2bfloat16_rn(pluginkit_cpu::fromInteger<float, kDIRECTION, 8>(x));                               \
    }

#define PLUGINKIT_CPU_HALF_INTEGERS(I, name)                                                                           \
    PLUGINKIT_CPU_HALF_INTEGER(I, name, __half, half)                                                                  \
    PLUGINKIT_CPU_HALF_INTEGER(I, name, __nv_bfloat16, bfloat16)                                                       \
    PLUGINKIT_CPU_BFLOAT_FROM(kZERO, rz, I, name)                                                                      \
    PLUGINKIT_CPU_BFLOAT_FROM(kUP, ru, I, name)                                                                        \
    PLUGINKIT_CPU_BFLOAT_FROM(kDOWN, rd, I, name)

PLUGINKIT_CPU_HALF_INTEGERS(int, int)
PLUGINKIT_CPU_HALF_INTEGERS(unsigned int, uint)
PLUGINKIT_CPU_HALF_INTEGERS(short, short)
PLUGINKIT_CPU_HALF_INTEGERS(unsigned short, ushort)
PLUGINKIT_CPU_HALF_INTEGERS(long long, ll)
PLUGINKIT_CPU_HALF_INTEGERS(unsigned long long, ull)
#undef PLUGINKIT_CPU_HALF_INTEGERS
#undef PLUGINKIT_CPU_BFLOAT_FROM
#undef PLUGINKIT_CPU_HALF_INTEGER
