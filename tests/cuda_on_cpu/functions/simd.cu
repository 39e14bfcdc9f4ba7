// Two 16-bit or four 8-bit numbers in a word.

#include "elementwise.h"

static __device__ int s(unsigned int x)
{
    return static_cast<int>(x);
}

//! What a function says of its choice, mixed into its result so that both are seen.
static __device__ unsigned int mixed(unsigned int result, bool high, bool low)
{
    return result ^ (high ? 0x50000000U : 0U) ^ (low ? 0x5000U : 0U);
}

#define COMPARISONS(X, n, name)                                                                                        \
    X(vcmp##name##n, __vcmp##name##n(a, b))                                                                            \
    X(vset##name##n, __vset##name##n(a, b))

#define PARTS(X, n)                                                                                                    \
    X(vabs##n, __vabs##n(a))                                                                                           \
    X(vabsss##n, __vabsss##n(a))                                                                                       \
    X(vneg##n, __vneg##n(a))                                                                                           \
    X(vnegss##n, __vnegss##n(a))                                                                                       \
    X(vadd##n, __vadd##n(a, b))                                                                                        \
    X(vaddss##n, __vaddss##n(a, b))                                                                                    \
    X(vaddus##n, __vaddus##n(a, b))                                                                                    \
    X(vsub##n, __vsub##n(a, b))                                                                                        \
    X(vsubss##n, __vsubss##n(a, b))                                                                                    \
    X(vsubus##n, __vsubus##n(a, b))                                                                                    \
    X(vavgs##n, __vavgs##n(a, b))                                                                                      \
    X(vavgu##n, __vavgu##n(a, b))                                                                                      \
    X(vhaddu##n, __vhaddu##n(a, b))                                                                                    \
    X(vabsdiffs##n, __vabsdiffs##n(a, b))                                                                              \
    X(vabsdiffu##n, __vabsdiffu##n(a, b))                                                                              \
    X(vmaxs##n, __vmaxs##n(a, b))                                                                                      \
    X(vmaxu##n, __vmaxu##n(a, b))                                                                                      \
    X(vmins##n, __vmins##n(a, b))                                                                                      \
    X(vminu##n, __vminu##n(a, b))                                                                                      \
    X(vsads##n, __vsads##n(a, b))                                                                                      \
    X(vsadu##n, __vsadu##n(a, b))                                                                                      \
    COMPARISONS(X, n, eq)                                                                                              \
    COMPARISONS(X, n, ne)                                                                                              \
    COMPARISONS(X, n, ges)                                                                                             \
    COMPARISONS(X, n, geu)                                                                                             \
    COMPARISONS(X, n, gts)                                                                                             \
    COMPARISONS(X, n, gtu)                                                                                             \
    COMPARISONS(X, n, les)                                                                                             \
    COMPARISONS(X, n, leu)                                                                                             \
    COMPARISONS(X, n, lts)                                                                                             \
    COMPARISONS(X, n, ltu)

#define TWO(X) PARTS(X, 2)
#define FOUR(X) PARTS(X, 4)

#define THREE(X)                                                                                                       \
    X(vimax3_s32, __vimax3_s32(s(a), s(b), s(c)))                                                                      \
    X(vimin3_s32, __vimin3_s32(s(a), s(b), s(c)))                                                                      \
    X(viaddmax_s32, __viaddmax_s32(s(a), s(b), s(c)))                                                                  \
    X(viaddmin_s32, __viaddmin_s32(s(a), s(b), s(c)))                                                                  \
    X(vimax3_u32, __vimax3_u32(a, b, c))                                                                               \
    X(vimin3_u32, __vimin3_u32(a, b, c))                                                                               \
    X(viaddmax_u32, __viaddmax_u32(a, b, c))                                                                           \
    X(viaddmin_u32, __viaddmin_u32(a, b, c))                                                                           \
    X(vimax3_s32_relu, __vimax3_s32_relu(s(a), s(b), s(c)))                                                            \
    X(vimin3_s32_relu, __vimin3_s32_relu(s(a), s(b), s(c)))                                                            \
    X(viaddmax_s32_relu, __viaddmax_s32_relu(s(a), s(b), s(c)))                                                        \
    X(viaddmin_s32_relu, __viaddmin_s32_relu(s(a), s(b), s(c)))                                                        \
    X(vimax3_s16x2, __vimax3_s16x2(a, b, c))                                                                           \
    X(vimin3_s16x2, __vimin3_s16x2(a, b, c))                                                                           \
    X(viaddmax_s16x2, __viaddmax_s16x2(a, b, c))                                                                       \
    X(viaddmin_s16x2, __viaddmin_s16x2(a, b, c))                                                                       \
    X(vimax3_u16x2, __vimax3_u16x2(a, b, c))                                                                           \
    X(vimin3_u16x2, __vimin3_u16x2(a, b, c))                                                                           \
    X(viaddmax_u16x2, __viaddmax_u16x2(a, b, c))                                                                       \
    X(viaddmin_u16x2, __viaddmin_u16x2(a, b, c))                                                                       \
    X(vimax3_s16x2_relu, __vimax3_s16x2_relu(a, b, c))                                                                 \
    X(vimin3_s16x2_relu, __vimin3_s16x2_relu(a, b, c))                                                                 \
    X(viaddmax_s16x2_relu, __viaddmax_s16x2_relu(a, b, c))                                                             \
    X(viaddmin_s16x2_relu, __viaddmin_s16x2_relu(a, b, c))                                                             \
    X(vimax_s32_relu, __vimax_s32_relu(s(a), s(b)))                                                                    \
    X(vimin_s16x2_relu, __vimin_s16x2_relu(a, b))

static __device__ unsigned int vibmax_s32(unsigned int a, unsigned int b)
{
    bool first = false;
    auto const result = static_cast<unsigned int>(__vibmax_s32(s(a), s(b), &first));
    return mixed(result, first, false);
}

static __device__ unsigned int vibmin_u32(unsigned int a, unsigned int b)
{
    bool first = false;
    unsigned int const result = __vibmin_u32(a, b, &first);
    return mixed(result, first, false);
}

static __device__ unsigned int vibmax_u16x2(unsigned int a, unsigned int b)
{
    bool high = false;
    bool low = false;
    unsigned int const result = __vibmax_u16x2(a, b, &high, &low);
    return mixed(result, high, low);
}

static __device__ unsigned int vibmin_s16x2(unsigned int a, unsigned int b)
{
    bool high = false;
    bool low = false;
    unsigned int const result = __vibmin_s16x2(a, b, &high, &low);
    return mixed(result, high, low);
}

#define CHOSEN(X)                                                                                                      \
    X(vibmax_s32, vibmax_s32(a, b))                                                                                    \
    X(vibmin_u32, vibmin_u32(a, b))                                                                                    \
    X(vibmax_u16x2, vibmax_u16x2(a, b))                                                                                \
    X(vibmin_s16x2, vibmin_s16x2(a, b))

FAMILY(two, unsigned int, unsigned int, TWO)
FAMILY(four, unsigned int, unsigned int, FOUR)
FAMILY(three, unsigned int, unsigned int, THREE)
FAMILY(chosen, unsigned int, unsigned int, CHOSEN)
