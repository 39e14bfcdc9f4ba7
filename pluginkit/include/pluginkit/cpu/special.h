//! Mathematical functions that neither C nor C++ has: the inverses of erf, the normal distribution, Bessel's I.
//!
//! In double, to a few units in the last place.
#pragma once

#include <cmath>
#include <limits>

namespace pluginkit_cpu
{

inline namespace v2
{

constexpr double kPI = 3.14159265358979323846;
constexpr double kINVERSE_SQRT_PI = 0.56418958354775628695;

//! sin(pi x).
inline double sineOfTurns(double x) noexcept
{
    // What is left, in [-0.5, 0.5], is exact.
    double const nearest = std::nearbyint(x);
    double const rest = x - nearest;
    if (rest == 0)
    {
        return std::copysign(0.0, x);
    }
    double const sine =
        std::fabs(rest) > 0.25 ? std::copysign(std::cos(kPI * (0.5 - std::fabs(rest))), rest) : std::sin(kPI * rest);
    return std::fmod(nearest, 2.0) == 0 ? sine : -sine;
}

//! cos(pi x).
inline double cosineOfTurns(double x) noexcept
{
    double const nearest = std::nearbyint(x);
    double const rest = std::fabs(x - nearest);
    double const cosine = rest > 0.25 ? std::sin(kPI * (0.5 - rest)) : std::cos(kPI * rest);
    return std::fmod(nearest, 2.0) == 0 || cosine == 0 ? cosine : -cosine;
}

//! exp(x * x), with what the square loses.
inline double expOfSquare(double x) noexcept
{
    double const square = x * x;
    return std::exp(square) * (1.0 + std::fma(x, x, -square));
}

//! exp(x * x) erfc(x).
inline double scaledErfc(double x) noexcept
{
    if (x < -26.7)
    {
        return HUGE_VAL;
    }
    if (!(x >= 8.0))
    {
        return expOfSquare(x) * std::erfc(x);
    }
    // A continued fraction (NIST Digital Library of Mathematical Functions, 7.9.1).
    double below = x;
    for (int k = 40; k > 0; --k)
    {
        below = x + k * 0.5 / below;
    }
    return kINVERSE_SQRT_PI / below;
}

//! (1 + erf(x / sqrt(2))) / 2.
inline double normalDistribution(double x) noexcept
{
    // The quotient as a sum of two doubles: far from zero erfc multiplies its error.
    constexpr double kHIGH = 0.70710678118654757;
    constexpr double kLOW = -4.8336466567264567e-17;
    double const high = -x * kHIGH;
    double const low = std::fma(-x, kHIGH, -high) - x * kLOW;
    double const tail = std::erfc(high);
    double const slope = std::isfinite(x) ? 2.0 * kINVERSE_SQRT_PI * std::exp(-high * high) * low : 0.0;
    return 0.5 * (tail - slope);
}

//! A number whose erfc is `tail`, 0 < tail <= 1, to three digits (Winitzki, "A handy approximation for the error
//! function and its inverse", 2008).
inline double roughInverseErfc(double tail) noexcept
{
    constexpr double kA = 0.147;
    double const logarithm = std::log(tail) + std::log1p(1.0 - tail);
    double const half = 2.0 / (kPI * kA) + logarithm / 2.0;
    double const root = std::sqrt(half * half - logarithm / kA) - half;
    return std::sqrt(root > 0 ? root : 0.0);
}

//! x with erf(x) = y, for |y| <= 0.5.
inline double inverseErfNearZero(double y) noexcept
{
    double const size = std::fabs(y);
    if (size < 1e-8)
    {
        return y / (2.0 * kINVERSE_SQRT_PI);
    }
    double x = roughInverseErfc(1.0 - size);
    // Halley's steps.
    for (int step = 0; step < 4; ++step)
    {
        double const newton = (size - std::erf(x)) / (2.0 * kINVERSE_SQRT_PI * std::exp(-x * x));
        x += newton / (1.0 - x * newton);
    }
    return std::copysign(x, y);
}

//! x with erfc(x) = tail, for 0 < tail <= 0.5.
inline double inverseErfcOfTail(double tail) noexcept
{
    double x = roughInverseErfc(tail);
    // Halley's steps. Scaled by exp(x * x), both sides stay in range.
    for (int step = 0; step < 4; ++step)
    {
        double const scaled = scaledErfc(x) - std::exp(x * x + std::log(tail));
        double const newton = scaled / (2.0 * kINVERSE_SQRT_PI);
        x += newton / (1.0 - x * newton);
    }
    return x;
}

//! x with erfc(x) = y.
inline double inverseErfc(double y) noexcept
{
    if (!(y > 0 && y < 2))
    {
        return y == 0 ? HUGE_VAL : y == 2 ? -HUGE_VAL : std::numeric_limits<double>::quiet_NaN();
    }
    if (y < 0.5)
    {
        return inverseErfcOfTail(y);
    }
    return y > 1.5 ? -inverseErfcOfTail(2.0 - y) : inverseErfNearZero(1.0 - y);
}

//! x with erf(x) = y.
inline double inverseErf(double y) noexcept
{
    double const size = std::fabs(y);
    return size <= 0.5 ? inverseErfNearZero(y) : std::copysign(inverseErfc(1.0 - size), y);
}

//! The modified Bessel function of the first kind, of order 0 or 1.
inline double modifiedBessel(int order, double x) noexcept
{
    double const size = std::fabs(x);
    if (size > 800.0)
    {
        return order == 1 ? std::copysign(HUGE_VAL, x) : HUGE_VAL;
    }
    double sum = 1.0;
    double term = 1.0;
    if (size < 30.0)
    {
        // The power series, all of whose terms are positive (DLMF 10.25.2).
        for (int k = 1; term > sum * 1e-17; ++k)
        {
            term *= size / 2.0 / k * (size / 2.0 / (k + order));
            sum += term;
        }
        sum *= order == 0 ? 1.0 : size / 2.0;
    }
    else
    {
        // The asymptotic series (DLMF 10.40.1); for these x its terms fall below a double's precision.
        for (int k = 1; k < 60 && std::fabs(term) > 1e-17; ++k)
        {
            double const odd = 2.0 * k - 1.0;
            term *= (odd * odd - 4.0 * order) / (8.0 * k * size);
            sum += term;
        }
        // Two halves: exp(x) may overflow where the quotient doesn't.
        double const half = std::exp(size / 2.0);
        sum *= half / std::sqrt(2.0 * kPI * size) * half;
    }
    return order == 1 && x < 0 ? -sum : sum;
}

//! The length of a vector, or 1 / it, which may be in a double's range where the length isn't. Infinity wins over NaN.
inline double length(double const* values, int count, bool inverse) noexcept
{
    double largest = 0;
    bool unordered = false;
    for (int i = 0; i < count; ++i)
    {
        double const size = std::fabs(values[i]);
        largest = size > largest ? size : largest;
        unordered = unordered || size != size;
    }
    if (std::isinf(largest) || (largest == 0 && !unordered))
    {
        return inverse ? 1.0 / largest : largest;
    }
    int const exponent = largest == 0 ? 0 : std::ilogb(largest);
    double sum = 0;
    for (int i = 0; i < count; ++i)
    {
        double const scaled = std::ldexp(values[i], -exponent);
        sum += scaled * scaled;
    }
    return inverse ? std::ldexp(1.0 / std::sqrt(sum), -exponent) : std::ldexp(std::sqrt(sum), exponent);
}

//! As `length`; the squares of floats don't overflow in double.
inline double length(float const* values, int count, bool inverse) noexcept
{
    double sum = 0;
    bool infinite = false;
    for (int i = 0; i < count; ++i)
    {
        sum += static_cast<double>(values[i]) * values[i];
        infinite = infinite || std::isinf(values[i]);
    }
    double const result = infinite ? HUGE_VAL : std::sqrt(sum);
    return inverse ? 1.0 / result : result;
}

} // namespace v2

} // namespace pluginkit_cpu
