//! Conversions between numbers, in the four directions of rounding, and numbers' bits as other types.
//!
//! Source of the semantics: CUDA Math API, "Type Casting Intrinsics"; PTX ISA, "cvt": out of range gives the nearest
//! limit; NaN gives 0, but the highest bit alone if the source or the result has 64 bits.
#pragma once

#include <pluginkit/cpu/rounding.h>

#include <cstdint>
#include <limits>
#include <type_traits>

namespace pluginkit_cpu
{

inline namespace v2
{

template <typename To, typename From>
To bitCast(From const& from) noexcept
{
    static_assert(sizeof(To) == sizeof(From), "the same bits in another type");
    To to;
    std::memcpy(static_cast<void*>(&to), &from, sizeof(to));
    return to;
}

template <typename I, Rounding Direction, typename F>
I toInteger(F x) noexcept
{
    using Limits = std::numeric_limits<I>;
    using Unsigned = std::make_unsigned_t<I>;
    if (x != x)
    {
        constexpr bool kWIDE = sizeof(F) == 8 || sizeof(I) == 8;
        return kWIDE ? static_cast<I>(Unsigned{1} << (8 * sizeof(I) - 1)) : I{0};
    }
    F const rounded = Direction == Rounding::kNEAREST ? std::nearbyint(x)
                      : Direction == Rounding::kZERO  ? std::trunc(x)
                      : Direction == Rounding::kUP    ? std::ceil(x)
                                                      : std::floor(x);
    // The first number beyond the range, a power of two: the highest number itself may not be exact.
    constexpr F kBEYOND = F{2} * static_cast<F>(Unsigned{1} << (Limits::digits - 1));
    constexpr auto kLOWEST = static_cast<F>(Limits::min());
    return rounded >= kBEYOND ? Limits::max() : rounded <= kLOWEST ? Limits::min() : static_cast<I>(rounded);
}

//! The integer rounded to so many binary digits, by default those of F.
template <typename F, Rounding Direction, int Digits = std::numeric_limits<F>::digits, typename I>
F fromInteger(I x) noexcept
{
    if constexpr (Direction == Rounding::kNEAREST)
    {
        static_assert(Digits == std::numeric_limits<F>::digits, "only the processor rounds to the nearest");
        return static_cast<F>(x);
    }
    bool const negative = x < I{0};
    auto const bits = static_cast<uint64_t>(x);
    uint64_t const magnitude = negative ? 0 - bits : bits;
    int const dropped = magnitude >> Digits == 0 ? 0 : 64 - __builtin_clzll(magnitude) - Digits;
    uint64_t const unit = uint64_t{1} << dropped;
    uint64_t const kept = magnitude & ~(unit - 1);
    bool const away = kept != magnitude && Direction == (negative ? Rounding::kDOWN : Rounding::kUP);
    F const result = static_cast<F>(kept) + (away ? static_cast<F>(unit) : F{0});
    return negative ? -result : result;
}

template <typename F, Rounding Direction>
F fromDouble(double x) noexcept
{
    return narrowed<Direction>(x);
}

} // namespace v2

} // namespace pluginkit_cpu

#define PLUGINKIT_CPU_CONVERSION(To, name, From, function, direction)                                                  \
    inline To name(From x) noexcept                                                                                    \
    {                                                                                                                  \
        return pluginkit_cpu::function<To, pluginkit_cpu::Rounding::direction>(x);                                     \
    }

#define PLUGINKIT_CPU_CONVERSIONS(To, name, From, function)                                                            \
    PLUGINKIT_CPU_CONVERSION(To, name##_rn, From, function, kNEAREST)                                                  \
    PLUGINKIT_CPU_CONVERSION(To, name##_rz, From, function, kZERO)                                                     \
    PLUGINKIT_CPU_CONVERSION(To, name##_ru, From, function, kUP)                                                       \
    PLUGINKIT_CPU_CONVERSION(To, name##_rd, From, function, kDOWN)

PLUGINKIT_CPU_CONVERSIONS(int, __float2int, float, toInteger)
PLUGINKIT_CPU_CONVERSIONS(unsigned int, __float2uint, float, toInteger)
PLUGINKIT_CPU_CONVERSIONS(long long, __float2ll, float, toInteger)
PLUGINKIT_CPU_CONVERSIONS(unsigned long long, __float2ull, float, toInteger)
PLUGINKIT_CPU_CONVERSIONS(int, __double2int, double, toInteger)
PLUGINKIT_CPU_CONVERSIONS(unsigned int, __double2uint, double, toInteger)
PLUGINKIT_CPU_CONVERSIONS(long long, __double2ll, double, toInteger)
PLUGINKIT_CPU_CONVERSIONS(unsigned long long, __double2ull, double, toInteger)

PLUGINKIT_CPU_CONVERSIONS(float, __int2float, int, fromInteger)
PLUGINKIT_CPU_CONVERSIONS(float, __uint2float, unsigned int, fromInteger)
PLUGINKIT_CPU_CONVERSIONS(float, __ll2float, long long, fromInteger)
PLUGINKIT_CPU_CONVERSIONS(float, __ull2float, unsigned long long, fromInteger)
PLUGINKIT_CPU_CONVERSIONS(double, __ll2double, long long, fromInteger)
PLUGINKIT_CPU_CONVERSIONS(double, __ull2double, unsigned long long, fromInteger)

PLUGINKIT_CPU_CONVERSIONS(float, __double2float, double, fromDouble)

#undef PLUGINKIT_CPU_CONVERSIONS
#undef PLUGINKIT_CPU_CONVERSION

inline double __int2double_rn(int x) noexcept
{
    return x;
}

inline double __uint2double_rn(unsigned int x) noexcept
{
    return x;
}

inline int __float_as_int(float x) noexcept
{
    return pluginkit_cpu::bitCast<int>(x);
}

inline unsigned int __float_as_uint(float x) noexcept
{
    return pluginkit_cpu::bitCast<unsigned int>(x);
}

inline float __int_as_float(int x) noexcept
{
    return pluginkit_cpu::bitCast<float>(x);
}

inline float __uint_as_float(unsigned int x) noexcept
{
    return pluginkit_cpu::bitCast<float>(x);
}

inline long long __double_as_longlong(double x) noexcept
{
    return pluginkit_cpu::bitCast<long long>(x);
}

inline double __longlong_as_double(long long x) noexcept
{
    return pluginkit_cpu::bitCast<double>(x);
}

inline int __double2hiint(double x) noexcept
{
    return static_cast<int>(pluginkit_cpu::bitCast<uint64_t>(x) >> 32);
}

inline int __double2loint(double x) noexcept
{
    return static_cast<int>(pluginkit_cpu::bitCast<uint64_t>(x) & 0xFFFFFFFFU);
}

inline double __hiloint2double(int high, int low) noexcept
{
    return pluginkit_cpu::bitCast<double>(static_cast<uint64_t>(high) << 32 | static_cast<unsigned int>(low));
}
