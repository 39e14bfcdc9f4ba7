//! min, max and abs without a namespace, in the mixes of types that CUDA has.
//!
//! Source of the semantics: CUDA Math API, "Integer Mathematical Functions": a signed and an unsigned number are
//! compared as unsigned ones.
#pragma once

// <math.h> and <stdlib.h> of the C++ library: std's overloads of abs and of the mathematical functions, without std.
#include <math.h>
#include <stdlib.h>

namespace pluginkit_cpu
{

inline namespace v2
{

template <typename T>
constexpr T lesser(T a, T b) noexcept
{
    return b < a ? b : a;
}

template <typename T>
constexpr T greater(T a, T b) noexcept
{
    return a < b ? b : a;
}

//! Of a NaN and a number it is the number.
template <typename T>
constexpr T lesserNumber(T a, T b) noexcept
{
    return a < b || b != b ? a : b;
}

template <typename T>
constexpr T greaterNumber(T a, T b) noexcept
{
    return b < a || b != b ? a : b;
}

} // namespace v2

} // namespace pluginkit_cpu

#define PLUGINKIT_CPU_MINMAX(R, A, B, suffix)                                                                          \
    inline R min(A a, B b) noexcept                                                                                    \
    {                                                                                                                  \
        return pluginkit_cpu::lesser##suffix(static_cast<R>(a), static_cast<R>(b));                                    \
    }                                                                                                                  \
    inline R max(A a, B b) noexcept                                                                                    \
    {                                                                                                                  \
        return pluginkit_cpu::greater##suffix(static_cast<R>(a), static_cast<R>(b));                                   \
    }

// Signed, unsigned, and both mixes, whose result is unsigned.
#define PLUGINKIT_CPU_MINMAX_INTEGERS(S, U)                                                                            \
    PLUGINKIT_CPU_MINMAX(S, S, S, )                                                                                    \
    PLUGINKIT_CPU_MINMAX(U, U, U, )                                                                                    \
    PLUGINKIT_CPU_MINMAX(U, S, U, )                                                                                    \
    PLUGINKIT_CPU_MINMAX(U, U, S, )

PLUGINKIT_CPU_MINMAX_INTEGERS(int, unsigned int)
PLUGINKIT_CPU_MINMAX_INTEGERS(long, unsigned long)
PLUGINKIT_CPU_MINMAX_INTEGERS(long long, unsigned long long)
PLUGINKIT_CPU_MINMAX(float, float, float, Number)
PLUGINKIT_CPU_MINMAX(double, double, double, Number)
PLUGINKIT_CPU_MINMAX(double, float, double, Number)
PLUGINKIT_CPU_MINMAX(double, double, float, Number)
#undef PLUGINKIT_CPU_MINMAX_INTEGERS
#undef PLUGINKIT_CPU_MINMAX

inline unsigned int umin(unsigned int a, unsigned int b) noexcept
{
    return min(a, b);
}

inline unsigned int umax(unsigned int a, unsigned int b) noexcept
{
    return max(a, b);
}

inline long long llmin(long long a, long long b) noexcept
{
    return min(a, b);
}

inline long long llmax(long long a, long long b) noexcept
{
    return max(a, b);
}

inline unsigned long long ullmin(unsigned long long a, unsigned long long b) noexcept
{
    return min(a, b);
}

inline unsigned long long ullmax(unsigned long long a, unsigned long long b) noexcept
{
    return max(a, b);
}
