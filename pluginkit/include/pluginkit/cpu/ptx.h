//! The instructions of inline PTX, on 64-bit images of the registers' values.
//!
//! Source of what they do: NVIDIA's "Parallel Thread Execution ISA". Which instruction becomes which call is written in
//! cuda_cpu/ptx/instructions.py.
#pragma once

#include <pluginkit/cpu/ptx_memory.h>
#include <pluginkit/cpu/ptx_value.h>
#include <pluginkit/cpu/ptx_warp.h>

#include <cmath>

namespace pluginkit_cpu
{

inline namespace v2
{

namespace ptx
{

// Integers wrap; what is small is computed in unsigned int, so that nothing overflows as a signed number.
template <typename T, typename Function>
uint64_t onIntegers(uint64_t a, uint64_t b, Function function) noexcept
{
    return image(static_cast<T>(function(static_cast<uint64_t>(from<T>(a)), static_cast<uint64_t>(from<T>(b)))));
}

template <typename T, typename Function, typename... Images>
uint64_t onFloats(Function function, Images... images) noexcept
{
    if constexpr (isPair<T>)
    {
        using Half = typename HalfOf<T>::type;
        uint64_t const low = image(narrow<Half>(function(wide(from<Half>(images & 0xFFFFU))...)));
        uint64_t const high = image(narrow<Half>(function(wide(from<Half>(images >> 16U & 0xFFFFU))...)));
        return high << 16U | low;
    }
    else
    {
        return image(narrow<T>(function(wide(from<T>(images))...)));
    }
}

#define PLUGINKIT_CPU_PTX_BINARY(name, onFloat, onInteger)                                                             \
    template <typename T>                                                                                              \
    uint64_t name##_(uint64_t a, uint64_t b) noexcept                                                                  \
    {                                                                                                                  \
        if constexpr (isFloating<T>)                                                                                   \
        {                                                                                                              \
            return onFloats<T>([](auto x, auto y) { return onFloat; }, a, b);                                          \
        }                                                                                                              \
        else                                                                                                           \
        {                                                                                                              \
            return onIntegers<T>(a, b, [](uint64_t x, uint64_t y) { return onInteger; });                              \
        }                                                                                                              \
    }

PLUGINKIT_CPU_PTX_BINARY(add, x + y, x + y)
PLUGINKIT_CPU_PTX_BINARY(sub, x - y, x - y)
#undef PLUGINKIT_CPU_PTX_BINARY

template <typename T>
uint64_t div_(uint64_t a, uint64_t b) noexcept
{
    if constexpr (isFloating<T>)
    {
        return onFloats<T>([](auto x, auto y) { return x / y; }, a, b);
    }
    else
    {
        return image(static_cast<T>(from<T>(a) / from<T>(b)));
    }
}

template <typename T>
uint64_t rem_(uint64_t a, uint64_t b) noexcept
{
    return image(static_cast<T>(from<T>(a) % from<T>(b)));
}

template <typename T>
uint64_t min_(uint64_t a, uint64_t b) noexcept
{
    if constexpr (isFloating<T>)
    {
        return onFloats<T>([](auto x, auto y) { return std::fmin(x, y); }, a, b);
    }
    else
    {
        return from<T>(b) < from<T>(a) ? b : a;
    }
}

template <typename T>
uint64_t max_(uint64_t a, uint64_t b) noexcept
{
    if constexpr (isFloating<T>)
    {
        return onFloats<T>([](auto x, auto y) { return std::fmax(x, y); }, a, b);
    }
    else
    {
        return from<T>(a) < from<T>(b) ? b : a;
    }
}

template <typename T>
uint64_t and_(uint64_t a, uint64_t b) noexcept
{
    return a & b;
}

template <typename T>
uint64_t or_(uint64_t a, uint64_t b) noexcept
{
    return a | b;
}

template <typename T>
uint64_t xor_(uint64_t a, uint64_t b) noexcept
{
    return a ^ b;
}

template <typename T>
uint64_t not_(uint64_t a) noexcept
{
    return std::is_same_v<T, bool> ? a ^ 1U : image(static_cast<T>(~from<T>(a)));
}

template <typename T>
uint64_t cnot_(uint64_t a) noexcept
{
    return from<T>(a) == T{} ? 1 : 0;
}

template <typename T>
uint64_t neg_(uint64_t a) noexcept
{
    if constexpr (isFloating<T>)
    {
        return onFloats<T>([](auto x) { return -x; }, a);
    }
    else
    {
        return onIntegers<T>(0, a, [](uint64_t x, uint64_t y) { return x - y; });
    }
}

template <typename T>
uint64_t abs_(uint64_t a) noexcept
{
    if constexpr (isFloating<T>)
    {
        return onFloats<T>([](auto x) { return std::fabs(x); }, a);
    }
    else
    {
        return from<T>(a) < 0 ? neg_<T>(a) : a;
    }
}

#define PLUGINKIT_CPU_PTX_FUNCTION(name, expression)                                                                   \
    template <typename T>                                                                                              \
    uint64_t name##_(uint64_t a) noexcept                                                                              \
    {                                                                                                                  \
        return onFloats<T>([](auto x) { return expression; }, a);                                                      \
    }

PLUGINKIT_CPU_PTX_FUNCTION(sqrt, std::sqrt(x))
PLUGINKIT_CPU_PTX_FUNCTION(rsqrt, 1 / std::sqrt(x))
PLUGINKIT_CPU_PTX_FUNCTION(rcp, 1 / x)
PLUGINKIT_CPU_PTX_FUNCTION(ex2, std::exp2(x))
PLUGINKIT_CPU_PTX_FUNCTION(lg2, std::log2(x))
PLUGINKIT_CPU_PTX_FUNCTION(sin, std::sin(x))
PLUGINKIT_CPU_PTX_FUNCTION(cos, std::cos(x))
PLUGINKIT_CPU_PTX_FUNCTION(tanh, std::tanh(x))
#undef PLUGINKIT_CPU_PTX_FUNCTION

template <typename T>
uint64_t fma_(uint64_t a, uint64_t b, uint64_t c) noexcept
{
    return onFloats<T>([](auto x, auto y, auto z) { return std::fma(x, y, z); }, a, b, c);
}

template <typename T>
uint64_t sat(uint64_t a) noexcept
{
    // Of floats only: to 0 and 1, and a NaN becomes 0.
    return onFloats<T>([](auto x) { return x > 0 ? (x < 1 ? x : decltype(x){1}) : decltype(x){0}; }, a);
}

template <typename T>
uint64_t relu(uint64_t a) noexcept
{
    return onFloats<T>([](auto x) { return x > 0 || x != x ? x : decltype(x){0}; }, a);
}

template <typename T>
uint64_t mul(uint64_t a, uint64_t b) noexcept
{
    if constexpr (isFloating<T>)
    {
        return onFloats<T>([](auto x, auto y) { return x * y; }, a, b);
    }
    else
    {
        return onIntegers<T>(a, b, [](uint64_t x, uint64_t y) { return x * y; });
    }
}

template <typename T>
uint64_t mulHi(uint64_t a, uint64_t b) noexcept
{
    using Wide = std::conditional_t<std::is_signed_v<T>, __int128, unsigned __int128>;
    return image(static_cast<T>(static_cast<Wide>(from<T>(a)) * static_cast<Wide>(from<T>(b)) >> (8 * sizeof(T))));
}

template <typename T>
uint64_t mulWide(uint64_t a, uint64_t b) noexcept
{
    using Wide = typename Twice<T>::type;
    return image(static_cast<Wide>(static_cast<Wide>(from<T>(a)) * static_cast<Wide>(from<T>(b))));
}

template <typename T>
uint64_t mad(uint64_t a, uint64_t b, uint64_t c) noexcept
{
    if constexpr (isFloating<T>)
    {
        return fma_<T>(a, b, c);
    }
    else
    {
        return add_<T>(mul<T>(a, b), c);
    }
}

template <typename T>
uint64_t madHi(uint64_t a, uint64_t b, uint64_t c) noexcept
{
    return add_<T>(mulHi<T>(a, b), c);
}

template <typename T>
uint64_t madWide(uint64_t a, uint64_t b, uint64_t c) noexcept
{
    return add_<typename Twice<T>::type>(mulWide<T>(a, b), c);
}

template <typename T>
uint64_t sad(uint64_t a, uint64_t b, uint64_t c) noexcept
{
    return add_<T>(from<T>(a) < from<T>(b) ? sub_<T>(b, a) : sub_<T>(a, b), c);
}

#define PLUGINKIT_CPU_PTX_COMPARE(name, expression)                                                                    \
    template <typename T>                                                                                              \
    uint64_t compare_##name(uint64_t a, uint64_t b) noexcept                                                           \
    {                                                                                                                  \
        auto const x = wide(from<T>(a));                                                                               \
        auto const y = wide(from<T>(b));                                                                               \
        return (expression) ? 1 : 0;                                                                                   \
    }

PLUGINKIT_CPU_PTX_COMPARE(eq, x == y)
PLUGINKIT_CPU_PTX_COMPARE(ne, x < y || y < x)
PLUGINKIT_CPU_PTX_COMPARE(lt, x < y)
PLUGINKIT_CPU_PTX_COMPARE(le, x <= y)
PLUGINKIT_CPU_PTX_COMPARE(gt, x > y)
PLUGINKIT_CPU_PTX_COMPARE(ge, x >= y)
PLUGINKIT_CPU_PTX_COMPARE(lo, x < y)
PLUGINKIT_CPU_PTX_COMPARE(ls, x <= y)
PLUGINKIT_CPU_PTX_COMPARE(hi, x > y)
PLUGINKIT_CPU_PTX_COMPARE(hs, x >= y)
PLUGINKIT_CPU_PTX_COMPARE(equ, !(x < y || y < x))
PLUGINKIT_CPU_PTX_COMPARE(neu, !(x == y))
PLUGINKIT_CPU_PTX_COMPARE(ltu, !(x >= y))
PLUGINKIT_CPU_PTX_COMPARE(leu, !(x > y))
PLUGINKIT_CPU_PTX_COMPARE(gtu, !(x <= y))
PLUGINKIT_CPU_PTX_COMPARE(geu, !(x < y))
PLUGINKIT_CPU_PTX_COMPARE(num, x == x && y == y)
PLUGINKIT_CPU_PTX_COMPARE(nan, x != x || y != y)
#undef PLUGINKIT_CPU_PTX_COMPARE

#define PLUGINKIT_CPU_PTX_ATOM(name, expression)                                                                       \
    template <typename T>                                                                                              \
    uint64_t atom_##name(char* pointer, [[maybe_unused]] uint64_t b, [[maybe_unused]] uint64_t c = 0) noexcept         \
    {                                                                                                                  \
        return atomically<T>(pointer, [=]([[maybe_unused]] uint64_t a) { return expression; });                        \
    }

PLUGINKIT_CPU_PTX_ATOM(add, add_<T>(a, b))
PLUGINKIT_CPU_PTX_ATOM(min, min_<T>(a, b))
PLUGINKIT_CPU_PTX_ATOM(max, max_<T>(a, b))
PLUGINKIT_CPU_PTX_ATOM(and, a& b)
PLUGINKIT_CPU_PTX_ATOM(or, a | b)
PLUGINKIT_CPU_PTX_ATOM(xor, a ^ b)
PLUGINKIT_CPU_PTX_ATOM(exch, b)
PLUGINKIT_CPU_PTX_ATOM(cas, a == part(b, 0, 8 * sizeof(T)) ? c : a)
PLUGINKIT_CPU_PTX_ATOM(inc, a >= b ? 0 : a + 1)
PLUGINKIT_CPU_PTX_ATOM(dec, a == 0 || a > b ? b : a - 1)
#undef PLUGINKIT_CPU_PTX_ATOM

} // namespace ptx

} // namespace v2

} // namespace pluginkit_cpu
