// Integer functions, elementwise on words; a signed one takes and gives the same bits.

#include "elementwise.h"

static __device__ int s(unsigned int x)
{
    return static_cast<int>(x);
}

template <typename V>
static __device__ V bytes(unsigned int x)
{
    V v;
    v.x = static_cast<decltype(v.x)>(x & 0xFFU);
    v.y = static_cast<decltype(v.y)>(x >> 8 & 0xFFU);
    v.z = static_cast<decltype(v.z)>(x >> 16 & 0xFFU);
    v.w = static_cast<decltype(v.w)>(x >> 24);
    return v;
}

template <typename V>
static __device__ V shorts(unsigned int x)
{
    V v;
    v.x = static_cast<decltype(v.x)>(x & 0xFFFFU);
    v.y = static_cast<decltype(v.y)>(x >> 16);
    return v;
}

#define WORDS(X)                                                                                                       \
    X(popc, __popc(a))                                                                                                 \
    X(clz, __clz(s(a)))                                                                                                \
    X(ffs, __ffs(s(a)))                                                                                                \
    X(brev, __brev(a))                                                                                                 \
    X(bswap16, __nv_bswap16(static_cast<unsigned short>(a)))                                                           \
    X(bswap32, __nv_bswap32(a))                                                                                        \
    X(byte_perm, __byte_perm(a, b, c))                                                                                 \
    X(funnelshift_l, __funnelshift_l(a, b, c))                                                                         \
    X(funnelshift_r, __funnelshift_r(a, b, c))                                                                         \
    X(funnelshift_lc, __funnelshift_lc(a, b, c))                                                                       \
    X(funnelshift_rc, __funnelshift_rc(a, b, c))                                                                       \
    X(fns, __fns(a, b & 31U, s(c) % 34))                                                                               \
    X(mulhi, __mulhi(s(a), s(b)))                                                                                      \
    X(umulhi, __umulhi(a, b))                                                                                          \
    X(mul24, __mul24(s(a), s(b)))                                                                                      \
    X(umul24, __umul24(a, b))                                                                                          \
    X(sad, __sad(s(a), s(b), c))                                                                                       \
    X(usad, __usad(a, b, c))                                                                                           \
    X(hadd, __hadd(s(a), s(b)))                                                                                        \
    X(rhadd, __rhadd(s(a), s(b)))                                                                                      \
    X(uhadd, __uhadd(a, b))                                                                                            \
    X(urhadd, __urhadd(a, b))                                                                                          \
    X(dp4a, __dp4a(s(a), s(b), s(c)))                                                                                  \
    X(udp4a, __dp4a(a, b, c))                                                                                          \
    X(dp4a_char4, __dp4a(bytes<char4>(a), bytes<char4>(b), s(c)))                                                      \
    X(dp4a_uchar4, __dp4a(bytes<uchar4>(a), bytes<uchar4>(b), c))                                                      \
    X(dp2a_lo, __dp2a_lo(s(a), s(b), s(c)))                                                                            \
    X(udp2a_lo, __dp2a_lo(a, b, c))                                                                                    \
    X(dp2a_hi, __dp2a_hi(s(a), s(b), s(c)))                                                                            \
    X(udp2a_hi, __dp2a_hi(a, b, c))                                                                                    \
    X(dp2a_lo_short2, __dp2a_lo(shorts<short2>(a), bytes<char4>(b), s(c)))                                             \
    X(dp2a_hi_ushort2, __dp2a_hi(shorts<ushort2>(a), bytes<uchar4>(b), c))                                             \
    X(min_int, min(s(a), s(b)))                                                                                        \
    X(max_int, max(s(a), s(b)))                                                                                        \
    X(min_unsigned, min(a, b))                                                                                         \
    X(max_mixed, max(s(a), b))                                                                                         \
    X(min_mixed, min(a, s(b)))                                                                                         \
    X(umax, umax(a, b))                                                                                                \
    X(abs, abs(s(a)))

#define LONGS(X)                                                                                                       \
    X(popcll, __popcll(a))                                                                                             \
    X(clzll, __clzll(static_cast<long long>(a)))                                                                       \
    X(ffsll, __ffsll(static_cast<long long>(a)))                                                                       \
    X(brevll, __brevll(a))                                                                                             \
    X(bswap64, __nv_bswap64(a))                                                                                        \
    X(umul64hi, __umul64hi(a, b))                                                                                      \
    X(mul64hi, __mul64hi(static_cast<long long>(a), static_cast<long long>(b)))                                        \
    X(llmin, llmin(static_cast<long long>(a), static_cast<long long>(b)))                                              \
    X(ullmax, ullmax(a, b))                                                                                            \
    X(max_long, max(static_cast<long>(a), static_cast<long>(b)))                                                       \
    X(min_mixed, min(a, static_cast<long long>(b)))

FAMILY(words, unsigned int, unsigned int, WORDS)
FAMILY(longs, unsigned long long, unsigned long long, LONGS)
