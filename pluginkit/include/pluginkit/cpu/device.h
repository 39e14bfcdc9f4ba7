//! Functions of device code beyond what CUDA's headers give to a host compiler.
//!
//! Atomics are atomic between host threads too. What makes threads of a launch wait for one another is declared, so
//! that the compiler can say that target cpu does not have it yet.
#pragma once

#include <cuda_runtime.h>

#include <cmath>
#include <cstring>
#include <type_traits>

namespace pluginkit_cpu
{

inline namespace v1
{

//! Replaces *address by change(old) at once, and gives old. T is any type of 4 or 8 bytes.
template <typename T, typename Change>
T atomically(T* address, Change const& change) noexcept
{
    using Bits = std::conditional_t<sizeof(T) == 8, unsigned long long, unsigned int>;
    static_assert(sizeof(T) == sizeof(Bits), "atomics of target cpu take types of 4 and 8 bytes");
    auto* const bits = reinterpret_cast<Bits*>(address);
    Bits old = __atomic_load_n(bits, __ATOMIC_SEQ_CST);
    while (true)
    {
        T value;
        std::memcpy(&value, &old, sizeof(value));
        T const changed = change(value);
        Bits wanted;
        std::memcpy(&wanted, &changed, sizeof(wanted));
        if (__atomic_compare_exchange_n(bits, &old, wanted, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
        {
            return value;
        }
    }
}

//! The parameter's type as written for the address: the value converts to it, as with CUDA's overloads.
template <typename T>
struct Same
{
    using Type = T;
};

template <typename T>
using SameT = typename Same<T>::Type;

} // namespace v1

} // namespace pluginkit_cpu

template <typename T>
T atomicAdd(T* address, pluginkit_cpu::SameT<T> value) noexcept
{
    return pluginkit_cpu::atomically(address, [value](T old) { return static_cast<T>(old + value); });
}

template <typename T>
T atomicSub(T* address, pluginkit_cpu::SameT<T> value) noexcept
{
    return pluginkit_cpu::atomically(address, [value](T old) { return static_cast<T>(old - value); });
}

template <typename T>
T atomicMin(T* address, pluginkit_cpu::SameT<T> value) noexcept
{
    return pluginkit_cpu::atomically(address, [value](T old) { return value < old ? value : old; });
}

template <typename T>
T atomicMax(T* address, pluginkit_cpu::SameT<T> value) noexcept
{
    return pluginkit_cpu::atomically(address, [value](T old) { return old < value ? value : old; });
}

template <typename T>
T atomicExch(T* address, pluginkit_cpu::SameT<T> value) noexcept
{
    return pluginkit_cpu::atomically(address, [value](T /*old*/) { return value; });
}

template <typename T>
T atomicAnd(T* address, pluginkit_cpu::SameT<T> value) noexcept
{
    return pluginkit_cpu::atomically(address, [value](T old) { return static_cast<T>(old & value); });
}

template <typename T>
T atomicOr(T* address, pluginkit_cpu::SameT<T> value) noexcept
{
    return pluginkit_cpu::atomically(address, [value](T old) { return static_cast<T>(old | value); });
}

template <typename T>
T atomicXor(T* address, pluginkit_cpu::SameT<T> value) noexcept
{
    return pluginkit_cpu::atomically(address, [value](T old) { return static_cast<T>(old ^ value); });
}

template <typename T>
T atomicCAS(T* address, pluginkit_cpu::SameT<T> compare, pluginkit_cpu::SameT<T> value) noexcept
{
    return pluginkit_cpu::atomically(address,
                                     [=](T old) { return std::memcmp(&old, &compare, sizeof(T)) == 0 ? value : old; });
}

template <typename T>
T __ldg(T const* address) noexcept
{
    return *address;
}

inline float __expf(float x) noexcept
{
    return std::exp(x);
}

inline float __logf(float x) noexcept
{
    return std::log(x);
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

inline float __log2f(float x) noexcept
{
    return std::log2(x);
}

inline float __log10f(float x) noexcept
{
    return std::log10(x);
}

inline float __powf(float x, float y) noexcept
{
    return std::pow(x, y);
}

inline float __fdividef(float x, float y) noexcept
{
    return x / y;
}

inline float __frcp_rn(float x) noexcept
{
    return 1.0F / x;
}

inline float __saturatef(float x) noexcept
{
    // A NaN becomes 0, as on a GPU.
    return x > 0.0F ? (x < 1.0F ? x : 1.0F) : 0.0F;
}

inline int __popc(unsigned int x) noexcept
{
    return __builtin_popcount(x);
}

inline int __popcll(unsigned long long x) noexcept
{
    return __builtin_popcountll(x);
}

inline int __clz(int x) noexcept
{
    return x == 0 ? 32 : __builtin_clz(static_cast<unsigned int>(x));
}

inline int __clzll(long long x) noexcept
{
    return x == 0 ? 64 : __builtin_clzll(static_cast<unsigned long long>(x));
}

inline int __ffs(int x) noexcept
{
    return __builtin_ffs(x);
}

//! A value as an integer, by one of the four roundings; out of range it is the nearest limit and NaN is 0 (CUDA C++
//! Programming Guide: conversions saturate).
inline int __float2int_rn(float x) noexcept
{
    float const rounded = std::nearbyint(x);
    if (!(rounded >= -2147483648.0F))
    {
        return x != x ? 0 : -2147483647 - 1;
    }
    return rounded >= 2147483648.0F ? 2147483647 : static_cast<int>(rounded);
}

inline int __float2int_rz(float x) noexcept
{
    return __float2int_rn(std::trunc(x));
}

inline int __float2int_ru(float x) noexcept
{
    return __float2int_rn(std::ceil(x));
}

inline int __float2int_rd(float x) noexcept
{
    return __float2int_rn(std::floor(x));
}

inline int __float_as_int(float x) noexcept
{
    int bits;
    std::memcpy(&bits, &x, sizeof(bits));
    return bits;
}

inline float __int_as_float(int bits) noexcept
{
    float x;
    std::memcpy(&x, &bits, sizeof(x));
    return x;
}
