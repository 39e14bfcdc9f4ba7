//! Two 16-bit or four 8-bit numbers in one 32-bit word: the __v*2 and __v*4 functions.
//!
//! Source of the semantics: CUDA Math API, "SIMD Intrinsics"; PTX ISA, "SIMD Video Instructions".
#pragma once

#include <cstdint>
#include <limits>
#include <type_traits>

namespace pluginkit_cpu
{

inline namespace v2
{

//! The word whose parts of type T are change(part of a, part of b), cut to T's width.
template <typename T, typename Change>
unsigned int eachPart(unsigned int a, unsigned int b, Change const& change) noexcept
{
    using Bits = std::make_unsigned_t<T>;
    unsigned int result = 0;
    for (unsigned int shift = 0; shift < 32; shift += 8 * sizeof(T))
    {
        int const part =
            change(static_cast<int>(static_cast<T>(a >> shift)), static_cast<int>(static_cast<T>(b >> shift)));
        result |= static_cast<unsigned int>(static_cast<Bits>(part)) << shift;
    }
    return result;
}

template <typename T>
int saturated(int x) noexcept
{
    int const lowest = std::numeric_limits<T>::min();
    int const highest = std::numeric_limits<T>::max();
    return x < lowest ? lowest : x > highest ? highest : x;
}

inline int distance(int a, int b) noexcept
{
    return a < b ? b - a : a - b;
}

//! The sum of |part of a - part of b|.
template <typename T>
unsigned int sumOfDistances(unsigned int a, unsigned int b) noexcept
{
    unsigned int sum = 0;
    eachPart<T>(a, b,
                [&sum](int x, int y)
                {
                    sum += static_cast<unsigned int>(distance(x, y));
                    return 0;
                });
    return sum;
}

//! An average to the nearest; halves go away from zero.
inline int roundedAverage(int a, int b) noexcept
{
    int const sum = a + b;
    return (sum >= 0 ? sum + 1 : sum) >> 1;
}

} // namespace v2

} // namespace pluginkit_cpu

#define PLUGINKIT_CPU_BINARY(name, T, expression)                                                                      \
    inline unsigned int name(unsigned int a, unsigned int b) noexcept                                                  \
    {                                                                                                                  \
        return pluginkit_cpu::eachPart<T>(a, b, [](int x, int y) { return expression; });                              \
    }

#define PLUGINKIT_CPU_UNARY(name, T, expression)                                                                       \
    inline unsigned int name(unsigned int a) noexcept                                                                  \
    {                                                                                                                  \
        return pluginkit_cpu::eachPart<T>(a, 0, [](int x, int /*y*/) { return expression; });                          \
    }

// A comparison gives a mask of ones (__vcmp) or a one (__vset) in each part where it holds.
#define PLUGINKIT_CPU_COMPARISON(name, T, operation)                                                                   \
    PLUGINKIT_CPU_BINARY(__vcmp##name, T, x operation y ? -1 : 0)                                                      \
    PLUGINKIT_CPU_BINARY(__vset##name, T, x operation y ? 1 : 0)

#define PLUGINKIT_CPU_PARTS(n, S, U)                                                                                   \
    PLUGINKIT_CPU_UNARY(__vabs##n, S, x < 0 ? -x : x)                                                                  \
    PLUGINKIT_CPU_UNARY(__vabsss##n, S, pluginkit_cpu::saturated<S>(x < 0 ? -x : x))                                   \
    PLUGINKIT_CPU_UNARY(__vneg##n, S, -x)                                                                              \
    PLUGINKIT_CPU_UNARY(__vnegss##n, S, pluginkit_cpu::saturated<S>(-x))                                               \
    PLUGINKIT_CPU_BINARY(__vadd##n, U, x + y)                                                                          \
    PLUGINKIT_CPU_BINARY(__vaddss##n, S, pluginkit_cpu::saturated<S>(x + y))                                           \
    PLUGINKIT_CPU_BINARY(__vaddus##n, U, pluginkit_cpu::saturated<U>(x + y))                                           \
    PLUGINKIT_CPU_BINARY(__vsub##n, U, x - y)                                                                          \
    PLUGINKIT_CPU_BINARY(__vsubss##n, S, pluginkit_cpu::saturated<S>(x - y))                                           \
    PLUGINKIT_CPU_BINARY(__vsubus##n, U, pluginkit_cpu::saturated<U>(x - y))                                           \
    PLUGINKIT_CPU_BINARY(__vavgs##n, S, pluginkit_cpu::roundedAverage(x, y))                                           \
    PLUGINKIT_CPU_BINARY(__vavgu##n, U, (x + y + 1) >> 1)                                                              \
    PLUGINKIT_CPU_BINARY(__vhaddu##n, U, (x + y) >> 1)                                                                 \
    PLUGINKIT_CPU_BINARY(__vabsdiffs##n, S, pluginkit_cpu::distance(x, y))                                             \
    PLUGINKIT_CPU_BINARY(__vabsdiffu##n, U, pluginkit_cpu::distance(x, y))                                             \
    PLUGINKIT_CPU_BINARY(__vmaxs##n, S, x < y ? y : x)                                                                 \
    PLUGINKIT_CPU_BINARY(__vmaxu##n, U, x < y ? y : x)                                                                 \
    PLUGINKIT_CPU_BINARY(__vmins##n, S, y < x ? y : x)                                                                 \
    PLUGINKIT_CPU_BINARY(__vminu##n, U, y < x ? y : x)                                                                 \
    PLUGINKIT_CPU_COMPARISON(eq##n, U, ==)                                                                             \
    PLUGINKIT_CPU_COMPARISON(ne##n, U, !=)                                                                             \
    PLUGINKIT_CPU_COMPARISON(ges##n, S, >=)                                                                            \
    PLUGINKIT_CPU_COMPARISON(geu##n, U, >=)                                                                            \
    PLUGINKIT_CPU_COMPARISON(gts##n, S, >)                                                                             \
    PLUGINKIT_CPU_COMPARISON(gtu##n, U, >)                                                                             \
    PLUGINKIT_CPU_COMPARISON(les##n, S, <=)                                                                            \
    PLUGINKIT_CPU_COMPARISON(leu##n, U, <=)                                                                            \
    PLUGINKIT_CPU_COMPARISON(lts##n, S, <)                                                                             \
    PLUGINKIT_CPU_COMPARISON(ltu##n, U, <)                                                                             \
    inline unsigned int __vsads##n(unsigned int a, unsigned int b) noexcept                                            \
    {                                                                                                                  \
        return pluginkit_cpu::sumOfDistances<S>(a, b);                                                                 \
    }                                                                                                                  \
    inline unsigned int __vsadu##n(unsigned int a, unsigned int b) noexcept                                            \
    {                                                                                                                  \
        return pluginkit_cpu::sumOfDistances<U>(a, b);                                                                 \
    }

PLUGINKIT_CPU_PARTS(2, int16_t, uint16_t)
PLUGINKIT_CPU_PARTS(4, int8_t, uint8_t)
#undef PLUGINKIT_CPU_PARTS
#undef PLUGINKIT_CPU_COMPARISON
#undef PLUGINKIT_CPU_UNARY
#undef PLUGINKIT_CPU_BINARY
