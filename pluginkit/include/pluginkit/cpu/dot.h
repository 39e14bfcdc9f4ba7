//! Dot products of four bytes with four bytes, and of two 16-bit numbers with two bytes; sums wrap around.
//!
//! Source of the semantics: CUDA Math API, "Integer Intrinsics"; PTX ISA, dp4a and dp2a.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace pluginkit_cpu
{

inline namespace v2
{

//! Sum + the products of `Count` numbers of type A in a, from the lowest on, and as many of type B in b.
template <typename A, typename B, unsigned int Count>
unsigned int dot(unsigned int a, unsigned int b, unsigned int sum) noexcept
{
    for (unsigned int i = 0; i < Count; ++i)
    {
        auto const x = static_cast<A>(a >> (8 * sizeof(A) * i));
        auto const y = static_cast<B>(b >> (8 * sizeof(B) * i));
        sum += static_cast<unsigned int>(x * y);
    }
    return sum;
}

inline unsigned int word(unsigned int x) noexcept
{
    return x;
}

inline unsigned int word(int x) noexcept
{
    return static_cast<unsigned int>(x);
}

//! A vector's bytes as one number, x lowest.
template <typename Vector>
unsigned int word(Vector const& v) noexcept
{
    static_assert(sizeof(Vector) == sizeof(unsigned int), "dot products take vectors of 4 bytes");
    unsigned int bits;
    __builtin_memcpy(&bits, &v, sizeof(bits));
    return bits;
}

} // namespace v2

} // namespace pluginkit_cpu

// Overloads, not templates: callers convert to these types, as with nvcc.
#define PLUGINKIT_CPU_DOT(R, A, B, Wide, Byte)                                                                         \
    inline R __dp2a_lo(A a, B b, R sum) noexcept                                                                       \
    {                                                                                                                  \
        unsigned int const bytes = pluginkit_cpu::word(b);                                                             \
        return static_cast<R>(                                                                                         \
            pluginkit_cpu::dot<Wide, Byte, 2>(pluginkit_cpu::word(a), bytes, static_cast<unsigned int>(sum)));         \
    }                                                                                                                  \
    inline R __dp2a_hi(A a, B b, R sum) noexcept                                                                       \
    {                                                                                                                  \
        unsigned int const bytes = pluginkit_cpu::word(b) >> 16;                                                       \
        return static_cast<R>(                                                                                         \
            pluginkit_cpu::dot<Wide, Byte, 2>(pluginkit_cpu::word(a), bytes, static_cast<unsigned int>(sum)));         \
    }

PLUGINKIT_CPU_DOT(int, int, int, int16_t, int8_t)
PLUGINKIT_CPU_DOT(unsigned int, unsigned int, unsigned int, uint16_t, uint8_t)
PLUGINKIT_CPU_DOT(int, short2, char4, int16_t, int8_t)
PLUGINKIT_CPU_DOT(unsigned int, ushort2, uchar4, uint16_t, uint8_t)
#undef PLUGINKIT_CPU_DOT

#define PLUGINKIT_CPU_DOT(R, A, Byte)                                                                                  \
    inline R __dp4a(A a, A b, R sum) noexcept                                                                          \
    {                                                                                                                  \
        return static_cast<R>(pluginkit_cpu::dot<Byte, Byte, 4>(pluginkit_cpu::word(a), pluginkit_cpu::word(b),        \
                                                                static_cast<unsigned int>(sum)));                      \
    }

PLUGINKIT_CPU_DOT(int, int, int8_t)
PLUGINKIT_CPU_DOT(unsigned int, unsigned int, uint8_t)
PLUGINKIT_CPU_DOT(int, char4, int8_t)
PLUGINKIT_CPU_DOT(unsigned int, uchar4, uint8_t)
#undef PLUGINKIT_CPU_DOT
