//! Arithmetic in the four directions of rounding, without a change of the processor's mode.
//!
//! An operation on floats is done in double, its last bit set if something was lost ("rounded to odd"); rounding that
//! to float in any direction is exact. For double the sign of what was lost says which neighbour is right. Not exact:
//! the directed forms of double's __fma_r* where the product alone over- or underflows.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

namespace pluginkit_cpu
{

inline namespace v2
{

enum class Rounding
{
    kNEAREST,
    kZERO,
    kUP,
    kDOWN,
};

//! The value, which a compiler that may contract a * b + c must not merge with what uses it.
template <typename T>
T uncontracted(T x) noexcept
{
#if defined(__FMA__)
    __asm__("" : "+x"(x));
#elif defined(__aarch64__)
    __asm__("" : "+w"(x));
#endif
    return x;
}

//! From the value to the nearest and the sign of what is missing: the value rounded as asked.
template <Rounding Direction, typename T>
T directed(T nearest, double missing) noexcept
{
    constexpr T kINFINITY = std::numeric_limits<T>::infinity();
    bool const up = Direction == Rounding::kUP || (Direction == Rounding::kZERO && nearest < 0);
    bool const down = Direction == Rounding::kDOWN || (Direction == Rounding::kZERO && nearest > 0);
    if (up && missing > 0)
    {
        return std::nextafter(nearest, kINFINITY);
    }
    return down && missing < 0 ? std::nextafter(nearest, -kINFINITY) : nearest;
}

template <Rounding Direction>
float narrowed(double x) noexcept
{
    auto const nearest = static_cast<float>(x);
    return directed<Direction>(nearest, x - static_cast<double>(nearest));
}

//! x, nearest to x + missing, as the odd one of the two doubles around that.
inline double odd(double x, double missing) noexcept
{
    uint64_t bits;
    std::memcpy(&bits, &x, sizeof(bits));
    if (!(missing > 0 || missing < 0) || (bits & 1U) != 0)
    {
        return x;
    }
    bits = (missing > 0) == (x > 0) ? bits + 1 : bits - 1;
    std::memcpy(&x, &bits, sizeof(x));
    return x;
}

//! What a + b lost; for a sum that overflowed, its sign.
inline double lostBySum(double a, double b, double sum) noexcept
{
    if (!std::isfinite(sum))
    {
        return std::isfinite(a) && std::isfinite(b) ? -sum : 0.0;
    }
    bool const swapped = std::fabs(a) < std::fabs(b);
    double const large = swapped ? b : a;
    double const small = swapped ? a : b;
    return small - uncontracted(sum - large);
}

//! The sign of a - quotient * b, for numbers whose exponents differ too much to multiply them.
inline double lostByProduct(double a, double factor, double b) noexcept
{
    int exponent = 0;
    int exponents = 0;
    double const x = std::frexp(factor, &exponent);
    exponents += exponent;
    double const y = std::frexp(b, &exponent);
    exponents += exponent;
    return std::fma(-x, y, std::ldexp(a, -exponents));
}

//! The sign of a sum of four, exactly: as a sum of numbers that don't overlap (Shewchuk, "Adaptive precision
//! floating-point arithmetic and fast robust geometric predicates", 1997), of which the last that isn't 0 decides.
inline double signOfSum(double const (&terms)[4]) noexcept
{
    double parts[4] = {};
    for (int count = 0; count < 4; ++count)
    {
        double rest = terms[count];
        for (int i = 0; i < count; ++i)
        {
            double const sum = uncontracted(rest + parts[i]);
            parts[i] = lostBySum(rest, parts[i], sum);
            rest = sum;
        }
        parts[count] = rest;
    }
    double sign = 0;
    for (double part : parts)
    {
        sign = part == 0 ? sign : part;
    }
    return sign;
}

//! The sign of a * b + c - result, for any finite numbers.
inline double lostByFused(double a, double b, double c, double result) noexcept
{
    // Beyond so many binary digits only a number's sign still counts.
    constexpr int kFAR = 300;
    int first = 0;
    int second = 0;
    double const x = std::frexp(a, &first);
    double const y = std::frexp(b, &second);
    double const product = uncontracted(x * y);
    int const exponent = first + second;
    auto const scaled = [exponent](double number, int far)
    {
        int const size = number == 0 ? 0 : std::ilogb(number) - exponent;
        return size < -far || size > far ? std::copysign(std::ldexp(1.0, size < 0 ? -far : far), number)
                                         : std::ldexp(number, number == 0 ? 0 : -exponent);
    };
    if (product == 0)
    {
        return 0;
    }
    double const addend = scaled(c, kFAR);
    if (std::fabs(addend) == std::ldexp(1.0, kFAR))
    {
        return product;
    }
    return signOfSum({std::fma(x, y, -product), product, addend, -scaled(result, kFAR + 100)});
}

//! A sum of zero is -0 when rounding down, unless both parts are +0.
template <Rounding Direction, typename T>
T signedZero(T sum, T a, T b) noexcept
{
    bool const positive = a == 0 && b == 0 && !std::signbit(a) && !std::signbit(b);
    return Direction == Rounding::kDOWN && sum == 0 && !positive ? -T{0} : sum;
}

template <Rounding Direction>
float sumOf(float a, float b) noexcept
{
    if constexpr (Direction == Rounding::kNEAREST)
    {
        return uncontracted(a + b);
    }
    double const sum = static_cast<double>(a) + b;
    float const result = narrowed<Direction>(odd(sum, lostBySum(a, b, sum)));
    return sum == 0 ? signedZero<Direction>(result, a, b) : result;
}

template <Rounding Direction>
double sumOf(double a, double b) noexcept
{
    double const sum = uncontracted(a + b);
    if constexpr (Direction == Rounding::kNEAREST)
    {
        return sum;
    }
    return signedZero<Direction>(directed<Direction>(sum, lostBySum(a, b, sum)), a, b);
}

template <Rounding Direction>
float productOf(float a, float b) noexcept
{
    if constexpr (Direction == Rounding::kNEAREST)
    {
        return uncontracted(a * b);
    }
    return narrowed<Direction>(static_cast<double>(a) * b);
}

template <Rounding Direction>
double productOf(double a, double b) noexcept
{
    double const product = uncontracted(a * b);
    bool const exact = !std::isfinite(a) || !std::isfinite(b) || a == 0 || b == 0;
    if (Direction == Rounding::kNEAREST || exact)
    {
        return product;
    }
    return directed<Direction>(product, -lostByProduct(product, a, b));
}

template <Rounding Direction>
float quotientOf(float a, float b) noexcept
{
    if constexpr (Direction == Rounding::kNEAREST)
    {
        return a / b;
    }
    double const quotient = static_cast<double>(a) / b;
    bool const exact = !std::isfinite(quotient) || !std::isfinite(b);
    double const missing = exact ? 0.0 : std::fma(-quotient, static_cast<double>(b), static_cast<double>(a));
    return narrowed<Direction>(odd(quotient, b < 0 ? -missing : missing));
}

template <Rounding Direction>
double quotientOf(double a, double b) noexcept
{
    double const quotient = a / b;
    bool const exact = !std::isfinite(a) || !std::isfinite(b) || a == 0 || b == 0;
    if (Direction == Rounding::kNEAREST || exact)
    {
        return quotient;
    }
    if (quotient == 0 || !std::isfinite(quotient))
    {
        // Too small or too large by far.
        double const sign = std::copysign(1.0, quotient);
        return directed<Direction>(quotient, quotient == 0 ? sign : -sign);
    }
    double const missing = lostByProduct(a, quotient, b);
    return directed<Direction>(quotient, b < 0 ? -missing : missing);
}

template <Rounding Direction>
float rootOf(float x) noexcept
{
    if constexpr (Direction == Rounding::kNEAREST)
    {
        return std::sqrt(x);
    }
    double const root = std::sqrt(static_cast<double>(x));
    return narrowed<Direction>(std::isfinite(root) ? odd(root, std::fma(-root, root, static_cast<double>(x))) : root);
}

template <Rounding Direction>
double rootOf(double x) noexcept
{
    double const root = std::sqrt(x);
    if (Direction == Rounding::kNEAREST || !(root > 0) || !std::isfinite(root))
    {
        return root;
    }
    // Small numbers are enlarged: what is missing would underflow.
    double const scale = x < 1.0 ? 0x1p300 : 1.0;
    return directed<Direction>(root, std::fma(-root * scale, root * scale, x * scale * scale));
}

template <Rounding Direction>
float fusedOf(float a, float b, float c) noexcept
{
    if constexpr (Direction == Rounding::kNEAREST)
    {
        return std::fma(a, b, c);
    }
    double const product = static_cast<double>(a) * b;
    double const sum = product + static_cast<double>(c);
    float const result = narrowed<Direction>(odd(sum, lostBySum(product, c, sum)));
    return sum == 0 ? static_cast<float>(signedZero<Direction>(static_cast<double>(result), product, double{c}))
                    : result;
}

template <Rounding Direction>
double fusedOf(double a, double b, double c) noexcept
{
    double const result = std::fma(a, b, c);
    bool const finite = std::isfinite(a) && std::isfinite(b) && std::isfinite(c);
    if (Direction == Rounding::kNEAREST || !finite)
    {
        return result;
    }
    double const missing = std::isfinite(result) ? lostByFused(a, b, c, result) : -result;
    return missing == 0 ? signedZero<Direction>(result, a * b, c) : directed<Direction>(result, missing);
}

} // namespace v2

} // namespace pluginkit_cpu

// A function's four forms; the last argument is the call without its direction.
#define PLUGINKIT_CPU_DIRECTED(T, name, parameters, function, arguments)                                               \
    inline T name##_rn parameters noexcept                                                                             \
    {                                                                                                                  \
        return pluginkit_cpu::function<pluginkit_cpu::Rounding::kNEAREST> arguments;                                   \
    }                                                                                                                  \
    inline T name##_rz parameters noexcept                                                                             \
    {                                                                                                                  \
        return pluginkit_cpu::function<pluginkit_cpu::Rounding::kZERO> arguments;                                      \
    }                                                                                                                  \
    inline T name##_ru parameters noexcept                                                                             \
    {                                                                                                                  \
        return pluginkit_cpu::function<pluginkit_cpu::Rounding::kUP> arguments;                                        \
    }                                                                                                                  \
    inline T name##_rd parameters noexcept                                                                             \
    {                                                                                                                  \
        return pluginkit_cpu::function<pluginkit_cpu::Rounding::kDOWN> arguments;                                      \
    }

PLUGINKIT_CPU_DIRECTED(float, __fadd, (float a, float b), sumOf, (a, b))
PLUGINKIT_CPU_DIRECTED(float, __fsub, (float a, float b), sumOf, (a, -b))
PLUGINKIT_CPU_DIRECTED(float, __fmul, (float a, float b), productOf, (a, b))
PLUGINKIT_CPU_DIRECTED(float, __fdiv, (float a, float b), quotientOf, (a, b))
PLUGINKIT_CPU_DIRECTED(float, __frcp, (float x), quotientOf, (1.0F, x))
PLUGINKIT_CPU_DIRECTED(float, __fsqrt, (float x), rootOf, (x))
PLUGINKIT_CPU_DIRECTED(float, __fmaf, (float a, float b, float c), fusedOf, (a, b, c))
PLUGINKIT_CPU_DIRECTED(float, __fmaf_ieee, (float a, float b, float c), fusedOf, (a, b, c))
PLUGINKIT_CPU_DIRECTED(double, __dadd, (double a, double b), sumOf, (a, b))
PLUGINKIT_CPU_DIRECTED(double, __dsub, (double a, double b), sumOf, (a, -b))
PLUGINKIT_CPU_DIRECTED(double, __dmul, (double a, double b), productOf, (a, b))
PLUGINKIT_CPU_DIRECTED(double, __ddiv, (double a, double b), quotientOf, (a, b))
PLUGINKIT_CPU_DIRECTED(double, __drcp, (double x), quotientOf, (1.0, x))
PLUGINKIT_CPU_DIRECTED(double, __dsqrt, (double x), rootOf, (x))
PLUGINKIT_CPU_DIRECTED(double, __fma, (double a, double b, double c), fusedOf, (a, b, c))

//! 1 / sqrt(x), the nearest float.
inline float __frsqrt_rn(float x) noexcept
{
    double const exact = 1.0 / std::sqrt(static_cast<double>(x));
    auto const guess = static_cast<float>(exact);
    if (!std::isfinite(guess) || guess == 0)
    {
        return guess;
    }
    // The guess is wrong only if the middle between it and its neighbour lies on the other side of the true value.
    float const neighbour = std::nextafter(guess, exact < static_cast<double>(guess) ? 0.0F : HUGE_VALF);
    double const middle = (static_cast<double>(guess) + neighbour) / 2;
    double const excess = std::fma(middle * middle, static_cast<double>(x), -1.0);
    bool const beyond = neighbour > guess ? excess < 0 : excess > 0;
    return beyond ? neighbour : guess;
}
