//! The __vi* functions: the lesser or greater of sums and of three, also of two 16-bit numbers in one word.
//!
//! Source of the semantics: CUDA Math API, "SIMD Intrinsics".
#pragma once

#include <pluginkit/cpu/simd.h>

namespace pluginkit_cpu
{

inline namespace v2
{

//! The word whose 16-bit parts of type T are change(part of a, part of b, part of c).
template <typename T, typename Change>
unsigned int eachHalf(unsigned int a, unsigned int b, unsigned int c, Change const& change) noexcept
{
    auto const low = change(static_cast<T>(a), static_cast<T>(b), static_cast<T>(c));
    auto const high = change(static_cast<T>(a >> 16), static_cast<T>(b >> 16), static_cast<T>(c >> 16));
    return static_cast<unsigned int>(static_cast<uint16_t>(high)) << 16 | static_cast<uint16_t>(low);
}

template <typename T>
T least(T a, T b) noexcept
{
    return b < a ? b : a;
}

template <typename T>
T most(T a, T b) noexcept
{
    return a < b ? b : a;
}

//! The sum, wrapped around.
template <typename T>
T wrappedSum(T a, T b) noexcept
{
    return static_cast<T>(static_cast<unsigned int>(a) + static_cast<unsigned int>(b));
}

//! `least` or `most`, and whether it was a (also if both are equal).
template <typename T>
T chosen(T a, T b, bool first, bool* wasFirst) noexcept
{
    *wasFirst = first;
    return first ? a : b;
}

} // namespace v2

} // namespace pluginkit_cpu

#define PLUGINKIT_CPU_WHOLE(name, T, ...)                                                                              \
    inline T name(T a, T b, T c) noexcept                                                                              \
    {                                                                                                                  \
        using namespace pluginkit_cpu;                                                                                 \
        return __VA_ARGS__;                                                                                            \
    }
#define PLUGINKIT_CPU_HALVES(name, T, ...)                                                                             \
    inline unsigned int name(unsigned int x, unsigned int y, unsigned int z) noexcept                                  \
    {                                                                                                                  \
        using namespace pluginkit_cpu;                                                                                 \
        return eachHalf<T>(x, y, z, [](T a, T b, T c) { return __VA_ARGS__; });                                        \
    }
#define PLUGINKIT_CPU_BOTH(name, sign, Whole, Half, suffix, ...)                                                       \
    PLUGINKIT_CPU_WHOLE(__##name##_##sign##32##suffix, Whole, __VA_ARGS__)                                             \
    PLUGINKIT_CPU_HALVES(__##name##_##sign##16x2##suffix, Half, __VA_ARGS__)

// For signed and for unsigned numbers; for signed ones also not below 0.
#define PLUGINKIT_CPU_THREE(name, ...)                                                                                 \
    PLUGINKIT_CPU_BOTH(name, s, int, int16_t, , __VA_ARGS__)                                                           \
    PLUGINKIT_CPU_BOTH(name, u, unsigned int, uint16_t, , __VA_ARGS__)                                                 \
    PLUGINKIT_CPU_BOTH(name, s, int, int16_t, _relu, most(__VA_ARGS__, decltype(a){0}))

PLUGINKIT_CPU_THREE(vimax3, most(most(a, b), c))
PLUGINKIT_CPU_THREE(vimin3, least(least(a, b), c))
PLUGINKIT_CPU_THREE(viaddmax, most(wrappedSum(a, b), c))
PLUGINKIT_CPU_THREE(viaddmin, least(wrappedSum(a, b), c))
#undef PLUGINKIT_CPU_THREE
#undef PLUGINKIT_CPU_BOTH
#undef PLUGINKIT_CPU_HALVES
#undef PLUGINKIT_CPU_WHOLE

inline int __vimax_s32_relu(int a, int b) noexcept
{
    return __vimax3_s32_relu(a, b, b);
}

inline int __vimin_s32_relu(int a, int b) noexcept
{
    return __vimin3_s32_relu(a, b, b);
}

inline unsigned int __vimax_s16x2_relu(unsigned int a, unsigned int b) noexcept
{
    return __vimax3_s16x2_relu(a, b, b);
}

inline unsigned int __vimin_s16x2_relu(unsigned int a, unsigned int b) noexcept
{
    return __vimin3_s16x2_relu(a, b, b);
}

// The chosen one and whether it was the first.
#define PLUGINKIT_CPU_WITH_CHOICE(name, sign, Whole, Half, comparison)                                                 \
    inline Whole __##name##_##sign##32(Whole a, Whole b, bool* first) noexcept                                         \
    {                                                                                                                  \
        return pluginkit_cpu::chosen(a, b, a comparison b, first);                                                     \
    }                                                                                                                  \
    inline unsigned int __##name##_##sign##16x2(unsigned int a, unsigned int b, bool* high, bool* low) noexcept        \
    {                                                                                                                  \
        bool* first = low;                                                                                             \
        return pluginkit_cpu::eachHalf<Half>(a, b, 0,                                                                  \
                                             [&first, high](Half x, Half y, Half /*none*/)                             \
                                             {                                                                         \
                                                 bool* const mine = first;                                             \
                                                 first = high;                                                         \
                                                 return pluginkit_cpu::chosen(x, y, x comparison y, mine);             \
                                             });                                                                       \
    }

PLUGINKIT_CPU_WITH_CHOICE(vibmax, s, int, int16_t, >=)
PLUGINKIT_CPU_WITH_CHOICE(vibmax, u, unsigned int, uint16_t, >=)
PLUGINKIT_CPU_WITH_CHOICE(vibmin, s, int, int16_t, <=)
PLUGINKIT_CPU_WITH_CHOICE(vibmin, u, unsigned int, uint16_t, <=)
#undef PLUGINKIT_CPU_WITH_CHOICE
