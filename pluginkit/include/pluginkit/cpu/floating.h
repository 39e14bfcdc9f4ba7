//! The fast intrinsics, and the functions of CUDA's mathematical library that C's lacks.
//!
//! Source of the semantics: CUDA Math API. The fast ones (__expf and its like) are exact to a unit in the last place or
//! two here; on a GPU they are less so, and flush some results to zero.
#pragma once

#include <pluginkit/cpu/special.h>

#include <math.h>

inline float __saturatef(float x) noexcept
{
    // A NaN becomes 0.
    return x > 0.0F ? (x < 1.0F ? x : 1.0F) : 0.0F;
}

inline float __expf(float x) noexcept
{
    return std::exp(x);
}

inline float __exp10f(float x) noexcept
{
    return ::exp10f(x);
}

inline float __logf(float x) noexcept
{
    return std::log(x);
}

inline float __log2f(float x) noexcept
{
    return std::log2(x);
}

inline float __log10f(float x) noexcept
{
    return std::log10(x);
}

inline float __sinf(float x) noexcept
{
    return std::sin(x);
}

inline float __cosf(float x) noexcept
{
    return std::cos(x);
}

inline float __tanf(float x) noexcept
{
    return std::tan(x);
}

inline float __tanhf(float x) noexcept
{
    return std::tanh(x);
}

inline void __sincosf(float x, float* sine, float* cosine) noexcept
{
    *sine = std::sin(x);
    *cosine = std::cos(x);
}

inline float __powf(float x, float y) noexcept
{
    return std::pow(x, y);
}

inline float __fdividef(float x, float y) noexcept
{
    return x / y;
}

inline float fdividef(float x, float y) noexcept
{
    return x / y;
}

inline double fdivide(double x, double y) noexcept
{
    return x / y;
}

inline float rsqrtf(float x) noexcept
{
    return 1.0F / std::sqrt(x);
}

inline double rsqrt(double x) noexcept
{
    return 1.0 / std::sqrt(x);
}

inline double rcbrt(double x) noexcept
{
    return 1.0 / std::cbrt(x);
}

inline double rhypot(double x, double y) noexcept
{
    double const values[] = {x, y};
    return pluginkit_cpu::length(values, 2, true);
}

inline double norm3d(double x, double y, double z) noexcept
{
    double const values[] = {x, y, z};
    return pluginkit_cpu::length(values, 3, false);
}

inline double rnorm3d(double x, double y, double z) noexcept
{
    double const values[] = {x, y, z};
    return pluginkit_cpu::length(values, 3, true);
}

inline double norm4d(double x, double y, double z, double w) noexcept
{
    double const values[] = {x, y, z, w};
    return pluginkit_cpu::length(values, 4, false);
}

inline double rnorm4d(double x, double y, double z, double w) noexcept
{
    double const values[] = {x, y, z, w};
    return pluginkit_cpu::length(values, 4, true);
}

inline double norm(int count, double const* values) noexcept
{
    return pluginkit_cpu::length(values, count, false);
}

inline double rnorm(int count, double const* values) noexcept
{
    return pluginkit_cpu::length(values, count, true);
}

inline float rhypotf(float x, float y) noexcept
{
    float const values[] = {x, y};
    return static_cast<float>(pluginkit_cpu::length(values, 2, true));
}

inline float norm3df(float x, float y, float z) noexcept
{
    float const values[] = {x, y, z};
    return static_cast<float>(pluginkit_cpu::length(values, 3, false));
}

inline float rnorm3df(float x, float y, float z) noexcept
{
    float const values[] = {x, y, z};
    return static_cast<float>(pluginkit_cpu::length(values, 3, true));
}

inline float norm4df(float x, float y, float z, float w) noexcept
{
    float const values[] = {x, y, z, w};
    return static_cast<float>(pluginkit_cpu::length(values, 4, false));
}

inline float rnorm4df(float x, float y, float z, float w) noexcept
{
    float const values[] = {x, y, z, w};
    return static_cast<float>(pluginkit_cpu::length(values, 4, true));
}

inline float normf(int count, float const* values) noexcept
{
    return static_cast<float>(pluginkit_cpu::length(values, count, false));
}

inline float rnormf(int count, float const* values) noexcept
{
    return static_cast<float>(pluginkit_cpu::length(values, count, true));
}

inline double sinpi(double x) noexcept
{
    return pluginkit_cpu::sineOfTurns(x);
}

inline double cospi(double x) noexcept
{
    return pluginkit_cpu::cosineOfTurns(x);
}

inline void sincospi(double x, double* sine, double* cosine) noexcept
{
    *sine = sinpi(x);
    *cosine = cospi(x);
}

inline double erfcinv(double x) noexcept
{
    return pluginkit_cpu::inverseErfc(x);
}

inline double erfinv(double x) noexcept
{
    return pluginkit_cpu::inverseErf(x);
}

inline double erfcx(double x) noexcept
{
    return pluginkit_cpu::scaledErfc(x);
}

inline double normcdf(double x) noexcept
{
    return pluginkit_cpu::normalDistribution(x);
}

inline double normcdfinv(double x) noexcept
{
    return -1.4142135623730951 * pluginkit_cpu::inverseErfc(2.0 * x);
}

inline double cyl_bessel_i0(double x) noexcept
{
    return pluginkit_cpu::modifiedBessel(0, x);
}

inline double cyl_bessel_i1(double x) noexcept
{
    return pluginkit_cpu::modifiedBessel(1, x);
}

// The float forms, in double and rounded once; and the same overloaded, as CUDA has them in addition to C++'s.
#define PLUGINKIT_CPU_FLOAT(name)                                                                                      \
    inline float name##f(float x) noexcept                                                                             \
    {                                                                                                                  \
        return static_cast<float>(name(static_cast<double>(x)));                                                       \
    }
#define PLUGINKIT_CPU_OVERLOAD(name)                                                                                   \
    inline float name(float x) noexcept                                                                                \
    {                                                                                                                  \
        return ::name##f(x);                                                                                           \
    }

PLUGINKIT_CPU_FLOAT(rcbrt)
PLUGINKIT_CPU_FLOAT(sinpi)
PLUGINKIT_CPU_FLOAT(cospi)
PLUGINKIT_CPU_FLOAT(erfcinv)
PLUGINKIT_CPU_FLOAT(erfinv)
PLUGINKIT_CPU_FLOAT(erfcx)
PLUGINKIT_CPU_FLOAT(normcdf)
PLUGINKIT_CPU_FLOAT(normcdfinv)
PLUGINKIT_CPU_FLOAT(cyl_bessel_i0)
PLUGINKIT_CPU_FLOAT(cyl_bessel_i1)

PLUGINKIT_CPU_OVERLOAD(exp10)
PLUGINKIT_CPU_OVERLOAD(rsqrt)
PLUGINKIT_CPU_OVERLOAD(rcbrt)
PLUGINKIT_CPU_OVERLOAD(sinpi)
PLUGINKIT_CPU_OVERLOAD(cospi)
PLUGINKIT_CPU_OVERLOAD(erfcinv)
PLUGINKIT_CPU_OVERLOAD(erfinv)
PLUGINKIT_CPU_OVERLOAD(erfcx)
PLUGINKIT_CPU_OVERLOAD(normcdf)
PLUGINKIT_CPU_OVERLOAD(normcdfinv)
PLUGINKIT_CPU_OVERLOAD(j0)
PLUGINKIT_CPU_OVERLOAD(j1)
PLUGINKIT_CPU_OVERLOAD(y0)
PLUGINKIT_CPU_OVERLOAD(y1)
#undef PLUGINKIT_CPU_OVERLOAD
#undef PLUGINKIT_CPU_FLOAT

inline float jn(int order, float x) noexcept
{
    return ::jnf(order, x);
}

inline float yn(int order, float x) noexcept
{
    return ::ynf(order, x);
}

inline void sincospif(float x, float* sine, float* cosine) noexcept
{
    *sine = sinpif(x);
    *cosine = cospif(x);
}

inline void sincospi(float x, float* sine, float* cosine) noexcept
{
    sincospif(x, sine, cosine);
}

inline void sincos(float x, float* sine, float* cosine) noexcept
{
    ::sincosf(x, sine, cosine);
}

inline double copysign(double x, float sign) noexcept
{
    return std::copysign(x, static_cast<double>(sign));
}

inline double copysign(float x, double sign) noexcept
{
    return std::copysign(static_cast<double>(x), sign);
}
