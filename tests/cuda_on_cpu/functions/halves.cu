// Functions of half and bfloat16; both go in and out as their bits.

#include "elementwise.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

using Half = __half;
using Bfloat = __nv_bfloat16;
using Half2 = __half2;
using Bfloat2 = __nv_bfloat162;

static __device__ Half halfOf(unsigned short bits)
{
    return __ushort_as_half(bits);
}

static __device__ Bfloat bfloatOf(unsigned short bits)
{
    return __ushort_as_bfloat16(bits);
}

static __device__ unsigned short bitsOf(Half x)
{
    return __half_as_ushort(x);
}

static __device__ unsigned short bitsOf(Bfloat x)
{
    return __bfloat16_as_ushort(x);
}

static __device__ unsigned int pair(Half2 x)
{
    return bitsOf(__low2half(x)) | static_cast<unsigned int>(bitsOf(__high2half(x))) << 16;
}

static __device__ unsigned int pair(Bfloat2 x)
{
    return bitsOf(__low2bfloat16(x)) | static_cast<unsigned int>(bitsOf(__high2bfloat16(x))) << 16;
}

#define UNARY(X, of, name) X(h##name, bitsOf(h##name(of(a))))

#define FUNCTIONS(X, of)                                                                                               \
    UNARY(X, of, trunc)                                                                                                \
    UNARY(X, of, ceil)                                                                                                 \
    UNARY(X, of, floor)                                                                                                \
    UNARY(X, of, rint)                                                                                                 \
    UNARY(X, of, sqrt)                                                                                                 \
    UNARY(X, of, rsqrt)                                                                                                \
    UNARY(X, of, rcp)                                                                                                  \
    UNARY(X, of, log)                                                                                                  \
    UNARY(X, of, log2)                                                                                                 \
    UNARY(X, of, log10)                                                                                                \
    UNARY(X, of, exp)                                                                                                  \
    UNARY(X, of, exp2)                                                                                                 \
    UNARY(X, of, exp10)                                                                                                \
    UNARY(X, of, cos)                                                                                                  \
    UNARY(X, of, sin)                                                                                                  \
    UNARY(X, of, tanh)                                                                                                 \
    X(hfma, bitsOf(__hfma(of(a), of(b), of(c))))                                                                       \
    X(hfma_sat, bitsOf(__hfma_sat(of(a), of(b), of(c))))                                                               \
    X(hfma_relu, bitsOf(__hfma_relu(of(a), of(b), of(c))))                                                             \
    X(hadd, bitsOf(__hadd(of(a), of(b))))                                                                              \
    X(hmul, bitsOf(__hmul(of(a), of(b))))                                                                              \
    X(hdiv, bitsOf(__hdiv(of(a), of(b))))                                                                              \
    X(hmax, bitsOf(__hmax(of(a), of(b))))                                                                              \
    X(hmin_nan, bitsOf(__hmin_nan(of(a), of(b))))                                                                      \
    X(ldg, bitsOf(__ldg(reinterpret_cast<decltype(of(a)) const*>(as) + i)))

#define HALF_FUNCTIONS(X) FUNCTIONS(X, halfOf)
#define BFLOAT_FUNCTIONS(X) FUNCTIONS(X, bfloatOf)

// Two at once: a and b, each with c.
#define PAIRS(X, of, make)                                                                                             \
    X(h2exp, pair(h2exp(make(of(a), of(b)))))                                                                          \
    X(h2floor, pair(h2floor(make(of(a), of(b)))))                                                                      \
    X(h2rcp, pair(h2rcp(make(of(a), of(b)))))                                                                          \
    X(hfma2, pair(__hfma2(make(of(a), of(b)), make(of(b), of(c)), make(of(c), of(a)))))                                \
    X(hfma2_sat, pair(__hfma2_sat(make(of(a), of(b)), make(of(b), of(c)), make(of(c), of(a)))))                        \
    X(hfma2_relu, pair(__hfma2_relu(make(of(a), of(b)), make(of(b), of(c)), make(of(c), of(a)))))                      \
    X(hcmadd, pair(__hcmadd(make(of(a), of(b)), make(of(b), of(c)), make(of(c), of(a)))))                              \
    X(hadd2, pair(__hadd2(make(of(a), of(b)), make(of(b), of(c)))))                                                    \
    X(hgtu2_mask, __hgtu2_mask(make(of(a), of(b)), make(of(b), of(c))))

#define HALF_PAIRS(X) PAIRS(X, halfOf, __halves2half2)
#define BFLOAT_PAIRS(X) PAIRS(X, bfloatOf, __halves2bfloat162)

#define DIRECTIONS(X, name, ...)                                                                                       \
    X(name##_rn, __##name##_rn(__VA_ARGS__))                                                                           \
    X(name##_ru, __##name##_ru(__VA_ARGS__))                                                                           \
    X(name##_rd, __##name##_rd(__VA_ARGS__))                                                                           \
    X(name##_rz, __##name##_rz(__VA_ARGS__))

#define TO_INTEGERS(X)                                                                                                 \
    DIRECTIONS(X, half2int, halfOf(a))                                                                                 \
    DIRECTIONS(X, half2uint, halfOf(a))                                                                                \
    DIRECTIONS(X, half2short, halfOf(a))                                                                               \
    DIRECTIONS(X, half2ushort, halfOf(a))                                                                              \
    DIRECTIONS(X, half2ll, halfOf(a))                                                                                  \
    DIRECTIONS(X, half2ull, halfOf(a))                                                                                 \
    DIRECTIONS(X, bfloat162int, bfloatOf(a))                                                                           \
    DIRECTIONS(X, bfloat162uint, bfloatOf(a))                                                                          \
    DIRECTIONS(X, bfloat162short, bfloatOf(a))                                                                         \
    DIRECTIONS(X, bfloat162ushort, bfloatOf(a))                                                                        \
    DIRECTIONS(X, bfloat162ll, bfloatOf(a))                                                                            \
    DIRECTIONS(X, bfloat162ull, bfloatOf(a))

#define ROUNDED(X, to, from, T)                                                                                        \
    X(from##2##to##_rn, bitsOf(__##from##2##to##_rn(static_cast<T>(a))))                                               \
    X(from##2##to##_rz, bitsOf(__##from##2##to##_rz(static_cast<T>(a))))                                               \
    X(from##2##to##_ru, bitsOf(__##from##2##to##_ru(static_cast<T>(a))))                                               \
    X(from##2##to##_rd, bitsOf(__##from##2##to##_rd(static_cast<T>(a))))

#define FROM_INTEGERS(X)                                                                                               \
    ROUNDED(X, half, int, int)                                                                                         \
    ROUNDED(X, half, uint, unsigned int)                                                                               \
    ROUNDED(X, half, short, short)                                                                                     \
    ROUNDED(X, half, ushort, unsigned short)                                                                           \
    ROUNDED(X, half, ll, long long)                                                                                    \
    ROUNDED(X, half, ull, unsigned long long)                                                                          \
    ROUNDED(X, bfloat16, int, int)                                                                                     \
    ROUNDED(X, bfloat16, uint, unsigned int)                                                                           \
    ROUNDED(X, bfloat16, short, short)                                                                                 \
    ROUNDED(X, bfloat16, ushort, unsigned short)                                                                       \
    ROUNDED(X, bfloat16, ll, long long)                                                                                \
    ROUNDED(X, bfloat16, ull, unsigned long long)

FAMILY(half_functions, unsigned short, unsigned short, HALF_FUNCTIONS)
FAMILY(bfloat_functions, unsigned short, unsigned short, BFLOAT_FUNCTIONS)
FAMILY(half_pairs, unsigned int, unsigned short, HALF_PAIRS)
FAMILY(bfloat_pairs, unsigned int, unsigned short, BFLOAT_PAIRS)
FAMILY(to_integers, long long, unsigned short, TO_INTEGERS)
FAMILY(from_integers, unsigned short, long long, FROM_INTEGERS)
