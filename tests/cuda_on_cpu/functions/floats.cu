// Arithmetic in the four directions of rounding, mathematical functions, conversions.

#include "elementwise.h"

#define DIRECTIONS(X, name, ...)                                                                                       \
    X(name##_rn, __##name##_rn(__VA_ARGS__))                                                                           \
    X(name##_rz, __##name##_rz(__VA_ARGS__))                                                                           \
    X(name##_ru, __##name##_ru(__VA_ARGS__))                                                                           \
    X(name##_rd, __##name##_rd(__VA_ARGS__))

#define FLOAT_EXACT(X)                                                                                                 \
    DIRECTIONS(X, fadd, a, b)                                                                                          \
    DIRECTIONS(X, fsub, a, b)                                                                                          \
    DIRECTIONS(X, fmul, a, b)                                                                                          \
    DIRECTIONS(X, fdiv, a, b)                                                                                          \
    DIRECTIONS(X, fmaf, a, b, c)                                                                                       \
    DIRECTIONS(X, frcp, a)                                                                                             \
    DIRECTIONS(X, fsqrt, a)                                                                                            \
    X(frsqrt_rn, __frsqrt_rn(a))

#define DOUBLE_EXACT(X)                                                                                                \
    DIRECTIONS(X, dadd, a, b)                                                                                          \
    DIRECTIONS(X, dsub, a, b)                                                                                          \
    DIRECTIONS(X, dmul, a, b)                                                                                          \
    DIRECTIONS(X, ddiv, a, b)                                                                                          \
    DIRECTIONS(X, fma, a, b, c)                                                                                        \
    DIRECTIONS(X, drcp, a)                                                                                             \
    DIRECTIONS(X, dsqrt, a)

static __device__ float first(void (*function)(float, float*, float*), float x)
{
    float sine = 0;
    float cosine = 0;
    function(x, &sine, &cosine);
    return sine + 2.0F * cosine;
}

static __device__ float normOf(float a, float b, float c)
{
    float const values[] = {a, b, c, a, b};
    return normf(5, values);
}

#define FLOAT_FUNCTIONS(X)                                                                                             \
    X(rsqrt, rsqrtf(a))                                                                                                \
    X(rsqrt_overload, rsqrt(a))                                                                                        \
    X(rcbrt, rcbrtf(a))                                                                                                \
    X(rhypot, rhypotf(a, b))                                                                                           \
    X(norm3d, norm3df(a, b, c))                                                                                        \
    X(rnorm3d, rnorm3df(a, b, c))                                                                                      \
    X(norm4d, norm4df(a, b, c, a))                                                                                     \
    X(rnorm4d, rnorm4df(a, b, c, a))                                                                                   \
    X(norm, normOf(a, b, c))                                                                                           \
    X(sinpi, sinpif(a))                                                                                                \
    X(cospi, cospif(a))                                                                                                \
    X(exp10, exp10f(a))                                                                                                \
    X(erfinv, erfinvf(a))                                                                                              \
    X(erfcinv, erfcinvf(a))                                                                                            \
    X(erfcx, erfcxf(a))                                                                                                \
    X(normcdf, normcdff(a))                                                                                            \
    X(normcdfinv, normcdfinvf(a))                                                                                      \
    X(cyl_bessel_i0, cyl_bessel_i0f(a))                                                                                \
    X(cyl_bessel_i1, cyl_bessel_i1f(a))                                                                                \
    X(saturate, __saturatef(a))                                                                                        \
    X(fdividef, fdividef(a, b))                                                                                        \
    X(fast_exp, __expf(a))                                                                                             \
    X(fast_exp10, __exp10f(a))                                                                                         \
    X(fast_log, __logf(a))                                                                                             \
    X(fast_log2, __log2f(a))                                                                                           \
    X(fast_log10, __log10f(a))                                                                                         \
    X(fast_sin, __sinf(a))                                                                                             \
    X(fast_cos, __cosf(a))                                                                                             \
    X(fast_tan, __tanf(a))                                                                                             \
    X(fast_pow, __powf(a, b))                                                                                          \
    X(fast_divide, __fdividef(a, b))                                                                                   \
    X(fast_sincos, first([](float x, float* sine, float* cosine) { __sincosf(x, sine, cosine); }, a))                  \
    X(sincospi, first([](float x, float* sine, float* cosine) { sincospif(x, sine, cosine); }, a))                     \
    X(sincos, first([](float x, float* sine, float* cosine) { sincosf(x, sine, cosine); }, a))                         \
    X(min, min(a, b))                                                                                                  \
    X(max, max(a, b))                                                                                                  \
    X(abs, abs(a))                                                                                                     \
    X(classes, (isnan(a) ? 1 : 0) + (isinf(a) ? 2 : 0) + (isfinite(a) ? 4 : 0) + (signbit(a) ? 8 : 0))

#define DOUBLE_FUNCTIONS(X)                                                                                            \
    X(rsqrt, rsqrt(a))                                                                                                 \
    X(rcbrt, rcbrt(a))                                                                                                 \
    X(sinpi, sinpi(a))                                                                                                 \
    X(cospi, cospi(a))                                                                                                 \
    X(erfinv, erfinv(a))                                                                                               \
    X(erfcinv, erfcinv(a))                                                                                             \
    X(erfcx, erfcx(a))                                                                                                 \
    X(normcdf, normcdf(a))                                                                                             \
    X(normcdfinv, normcdfinv(a))                                                                                       \
    X(cyl_bessel_i0, cyl_bessel_i0(a))                                                                                 \
    X(cyl_bessel_i1, cyl_bessel_i1(a))                                                                                 \
    X(norm3d, norm3d(a, b, c))                                                                                         \
    X(rnorm4d, rnorm4d(a, b, c, a))                                                                                    \
    X(rhypot, rhypot(a, b))                                                                                            \
    X(max_mixed, max(a, static_cast<float>(b)))

#define FROM_FLOAT(X)                                                                                                  \
    DIRECTIONS(X, float2int, a)                                                                                        \
    DIRECTIONS(X, float2uint, a)                                                                                       \
    DIRECTIONS(X, float2ll, a)                                                                                         \
    DIRECTIONS(X, float2ull, a)                                                                                        \
    X(float_as_int, __float_as_int(a))                                                                                 \
    X(float_as_uint, __float_as_uint(a))

#define FROM_DOUBLE(X)                                                                                                 \
    DIRECTIONS(X, double2int, a)                                                                                       \
    DIRECTIONS(X, double2uint, a)                                                                                      \
    DIRECTIONS(X, double2ll, a)                                                                                        \
    DIRECTIONS(X, double2ull, a)                                                                                       \
    X(double_as_longlong, __double_as_longlong(a))                                                                     \
    X(double2hiint, __double2hiint(a))                                                                                 \
    X(double2loint, __double2loint(a))

#define TO_FLOAT(X)                                                                                                    \
    DIRECTIONS(X, int2float, static_cast<int>(a))                                                                      \
    DIRECTIONS(X, uint2float, static_cast<unsigned int>(a))                                                            \
    DIRECTIONS(X, ll2float, a)                                                                                         \
    DIRECTIONS(X, ull2float, static_cast<unsigned long long>(a))                                                       \
    DIRECTIONS(X, double2float, __longlong_as_double(a))                                                               \
    X(int_as_float, __int_as_float(static_cast<int>(a)))                                                               \
    X(uint_as_float, __uint_as_float(static_cast<unsigned int>(a)))

#define TO_DOUBLE(X)                                                                                                   \
    DIRECTIONS(X, ll2double, a)                                                                                        \
    DIRECTIONS(X, ull2double, static_cast<unsigned long long>(a))                                                      \
    X(int2double_rn, __int2double_rn(static_cast<int>(a)))                                                             \
    X(uint2double_rn, __uint2double_rn(static_cast<unsigned int>(a)))                                                  \
    X(hiloint2double, __hiloint2double(static_cast<int>(a >> 32), static_cast<int>(a)))

FAMILY(float_exact, float, float, FLOAT_EXACT)
FAMILY(double_exact, double, double, DOUBLE_EXACT)
FAMILY(float_functions, float, float, FLOAT_FUNCTIONS)
FAMILY(double_functions, double, double, DOUBLE_FUNCTIONS)
FAMILY(from_float, long long, float, FROM_FLOAT)
FAMILY(from_double, long long, double, FROM_DOUBLE)
FAMILY(to_float, float, long long, TO_FLOAT)
FAMILY(to_double, double, long long, TO_DOUBLE)
