//! Integer intrinsics: bits, wide products, averages, dot products of bytes.
//!
//! Source of the semantics: CUDA Math API, "Integer Intrinsics"; PTX ISA, "Integer Arithmetic Instructions".
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

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

inline int __ffsll(long long x) noexcept
{
    return __builtin_ffsll(x);
}

inline unsigned int __brev(unsigned int x) noexcept
{
    x = (x >> 1 & 0x55555555U) | (x & 0x55555555U) << 1;
    x = (x >> 2 & 0x33333333U) | (x & 0x33333333U) << 2;
    x = (x >> 4 & 0x0F0F0F0FU) | (x & 0x0F0F0F0FU) << 4;
    return __builtin_bswap32(x);
}

inline unsigned long long __brevll(unsigned long long x) noexcept
{
    unsigned long long const low = __brev(static_cast<unsigned int>(x));
    return low << 32 | __brev(static_cast<unsigned int>(x >> 32));
}

inline unsigned short __nv_bswap16(unsigned short x) noexcept
{
    return __builtin_bswap16(x);
}

inline unsigned int __nv_bswap32(unsigned int x) noexcept
{
    return __builtin_bswap32(x);
}

inline unsigned long long __nv_bswap64(unsigned long long x) noexcept
{
    return __builtin_bswap64(x);
}

//! Four of the eight bytes of y:x, chosen by the lowest three bits of the selector's four nibbles.
inline unsigned int __byte_perm(unsigned int x, unsigned int y, unsigned int selector) noexcept
{
    uint64_t const bytes = uint64_t{y} << 32 | x;
    unsigned int result = 0;
    for (unsigned int byte = 0; byte < 4; ++byte)
    {
        unsigned int const from = selector >> (4 * byte) & 7U;
        result |= static_cast<unsigned int>(bytes >> (8 * from) & 0xFFU) << (8 * byte);
    }
    return result;
}

//! The high half of high:low shifted left; the shift is taken modulo 32, in the forms ending in c at most 32.
inline unsigned int __funnelshift_l(unsigned int low, unsigned int high, unsigned int shift) noexcept
{
    return static_cast<unsigned int>((uint64_t{high} << 32 | low) << (shift & 31U) >> 32);
}

inline unsigned int __funnelshift_lc(unsigned int low, unsigned int high, unsigned int shift) noexcept
{
    return static_cast<unsigned int>((uint64_t{high} << 32 | low) << (shift < 32 ? shift : 32U) >> 32);
}

//! The low half of high:low shifted right.
inline unsigned int __funnelshift_r(unsigned int low, unsigned int high, unsigned int shift) noexcept
{
    return static_cast<unsigned int>((uint64_t{high} << 32 | low) >> (shift & 31U));
}

inline unsigned int __funnelshift_rc(unsigned int low, unsigned int high, unsigned int shift) noexcept
{
    return static_cast<unsigned int>((uint64_t{high} << 32 | low) >> (shift < 32 ? shift : 32U));
}

//! The place of the n-th set bit of `mask`, counted from bit `base`: upwards for n > 0, downwards for n < 0. -1 if
//! there is none; for n = 0 `base` itself if its bit is set.
inline unsigned int __fns(unsigned int mask, unsigned int base, int n) noexcept
{
    int const step = n < 0 ? -1 : 1;
    int left = n == 0 ? 1 : n * step;
    for (auto bit = static_cast<int>(base); bit >= 0 && bit < 32; bit += step)
    {
        left -= static_cast<int>(mask >> bit & 1U);
        if (left == 0)
        {
            return static_cast<unsigned int>(bit);
        }
        if (n == 0)
        {
            break;
        }
    }
    return 0xFFFFFFFFU;
}

inline int __mulhi(int x, int y) noexcept
{
    return static_cast<int>(int64_t{x} * y >> 32);
}

inline unsigned int __umulhi(unsigned int x, unsigned int y) noexcept
{
    return static_cast<unsigned int>(uint64_t{x} * y >> 32);
}

inline unsigned long long __umul64hi(unsigned long long x, unsigned long long y) noexcept
{
    __extension__ using Wide = unsigned __int128;
    return static_cast<unsigned long long>(static_cast<Wide>(x) * y >> 64);
}

inline long long __mul64hi(long long x, long long y) noexcept
{
    __extension__ using Wide = __int128;
    return static_cast<long long>(static_cast<Wide>(x) * y >> 64);
}

//! The names that the functions above have without underscores.
inline int mulhi(int x, int y) noexcept
{
    return __mulhi(x, y);
}

inline unsigned int mulhi(unsigned int x, unsigned int y) noexcept
{
    return __umulhi(x, y);
}

inline unsigned int mulhi(int x, unsigned int y) noexcept
{
    return __umulhi(static_cast<unsigned int>(x), y);
}

inline unsigned int mulhi(unsigned int x, int y) noexcept
{
    return __umulhi(x, static_cast<unsigned int>(y));
}

inline long long mul64hi(long long x, long long y) noexcept
{
    return __mul64hi(x, y);
}

inline unsigned long long mul64hi(unsigned long long x, unsigned long long y) noexcept
{
    return __umul64hi(x, y);
}

inline unsigned long long mul64hi(long long x, unsigned long long y) noexcept
{
    return __umul64hi(static_cast<unsigned long long>(x), y);
}

inline unsigned long long mul64hi(unsigned long long x, long long y) noexcept
{
    return __umul64hi(x, static_cast<unsigned long long>(y));
}

//! The low 32 bits of the product of the lowest 24 bits of each.
inline unsigned int __umul24(unsigned int x, unsigned int y) noexcept
{
    return (x & 0xFFFFFFU) * (y & 0xFFFFFFU);
}

inline int __mul24(int x, int y) noexcept
{
    int64_t const a = static_cast<int>(static_cast<unsigned int>(x) << 8) >> 8;
    int64_t const b = static_cast<int>(static_cast<unsigned int>(y) << 8) >> 8;
    return static_cast<int>(a * b);
}

inline int mul24(int x, int y) noexcept
{
    return __mul24(x, y);
}

inline unsigned int umul24(unsigned int x, unsigned int y) noexcept
{
    return __umul24(x, y);
}

//! |x - y| + z.
inline unsigned int __usad(unsigned int x, unsigned int y, unsigned int z) noexcept
{
    return (x < y ? y - x : x - y) + z;
}

inline unsigned int __sad(int x, int y, unsigned int z) noexcept
{
    int64_t const difference = int64_t{x} - y;
    return static_cast<unsigned int>(difference < 0 ? -difference : difference) + z;
}

//! Averages whose sum doesn't overflow: rounded down, and (r) to the nearest, halves up.
inline int __hadd(int x, int y) noexcept
{
    return static_cast<int>((int64_t{x} + y) >> 1);
}

inline int __rhadd(int x, int y) noexcept
{
    return static_cast<int>((int64_t{x} + y + 1) >> 1);
}

inline unsigned int __uhadd(unsigned int x, unsigned int y) noexcept
{
    return static_cast<unsigned int>((uint64_t{x} + y) >> 1);
}

inline unsigned int __urhadd(unsigned int x, unsigned int y) noexcept
{
    return static_cast<unsigned int>((uint64_t{x} + y + 1) >> 1);
}
