//! Numbers that an output's dimensions are computed of: fields of the plugin, and dimensions that are known.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

namespace pluginkit
{

//! A 64-bit number, or none: what is computed of a division by zero, or of a number beyond 64 bits, is not a number.
class Dimension
{
public:
    constexpr explicit Dimension(int64_t value) noexcept : mValue{value} {}

    //! What is not a number.
    static constexpr Dimension none() noexcept
    {
        Dimension made{-1};
        made.mIsNumber = false;
        return made;
    }

    constexpr bool isNumber() const noexcept
    {
        return mIsNumber;
    }

    //! The number; -1, which is not a dimension, where there is none.
    constexpr int64_t value() const noexcept
    {
        return mIsNumber ? mValue : -1;
    }

    friend Dimension operator+(Dimension a, Dimension b) noexcept
    {
        int64_t sum{};
        bool const fits = !__builtin_add_overflow(a.mValue, b.mValue, &sum);
        return made(sum, a, b, fits);
    }

    friend Dimension operator-(Dimension a, Dimension b) noexcept
    {
        int64_t difference{};
        bool const fits = !__builtin_sub_overflow(a.mValue, b.mValue, &difference);
        return made(difference, a, b, fits);
    }

    friend Dimension operator*(Dimension a, Dimension b) noexcept
    {
        int64_t product{};
        bool const fits = !__builtin_mul_overflow(a.mValue, b.mValue, &product);
        return made(product, a, b, fits);
    }

    //! a / b, rounded down.
    friend Dimension floorQuotient(Dimension a, Dimension b) noexcept
    {
        bool const divides = canDivide(a, b);
        int64_t const divisor = divides ? b.mValue : 1;
        int64_t const rest = a.mValue % divisor;
        int64_t const below = rest != 0 && (rest < 0) != (divisor < 0) ? 1 : 0;
        return made(a.mValue / divisor - below, a, b, divides);
    }

    //! a / b, rounded up.
    friend Dimension ceilQuotient(Dimension a, Dimension b) noexcept
    {
        bool const divides = canDivide(a, b);
        int64_t const divisor = divides ? b.mValue : 1;
        int64_t const rest = a.mValue % divisor;
        int64_t const above = rest != 0 && (rest < 0) == (divisor < 0) ? 1 : 0;
        return made(a.mValue / divisor + above, a, b, divides);
    }

    friend Dimension smaller(Dimension a, Dimension b) noexcept
    {
        return made(std::min(a.mValue, b.mValue), a, b, true);
    }

    friend Dimension larger(Dimension a, Dimension b) noexcept
    {
        return made(std::max(a.mValue, b.mValue), a, b, true);
    }

private:
    static bool canDivide(Dimension a, Dimension b) noexcept
    {
        return b.mValue != 0 && !(a.mValue == std::numeric_limits<int64_t>::min() && b.mValue == -1);
    }

    static Dimension made(int64_t value, Dimension a, Dimension b, bool isNumber) noexcept
    {
        Dimension found{value};
        found.mIsNumber = isNumber && a.mIsNumber && b.mIsNumber;
        return found;
    }

    int64_t mValue;
    bool mIsNumber{true};
};

} // namespace pluginkit
