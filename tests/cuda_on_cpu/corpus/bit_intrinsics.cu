// Integer intrinsics: reversal, leading zeros, funnel shifts, byte permutation, SIMD in a word, 24-bit and high
// products.
#include "corpus.h"

__global__ void bitKernel(unsigned const* a, unsigned const* b, unsigned* out, int n)
{
    int const i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
    {
        return;
    }
    unsigned const x = a[i], y = b[i];
    unsigned long long const wide = static_cast<unsigned long long>(x) << 32 | y;
    unsigned* to = out + i;
    int k = 0;
    to[k++ * n] = __brev(x);
    to[k++ * n] = __clz(x);
    to[k++ * n] = __ffs(x);
    to[k++ * n] = __popc(x) + 100 * __popcll(wide);
    to[k++ * n] = __clzll(wide) + 100 * __ffsll(wide);
    to[k++ * n] = __funnelshift_l(x, y, y & 31);
    to[k++ * n] = __funnelshift_rc(x, y, y & 63);
    to[k++ * n] = __byte_perm(x, y, 0x5140);
    to[k++ * n] = __vadd4(x, y);
    to[k++ * n] = __vmaxs4(x, y);
    to[k++ * n] = __vabsdiffu4(x, y);
    to[k++ * n] = __usad(x, y, 7u);
    to[k++ * n] = static_cast<unsigned>(__mul24(static_cast<int>(x & 0xffff), static_cast<int>(y & 0x7fff)));
    to[k++ * n] = static_cast<unsigned>(__mulhi(static_cast<int>(x), static_cast<int>(y)));
    to[k++ * n] = static_cast<unsigned>(__umul64hi(wide, wide) >> 32);
    to[k++ * n] = static_cast<unsigned>(__dp4a(static_cast<int>(x), static_cast<int>(y), -5));
    to[k++ * n] = static_cast<unsigned>(__rhadd(static_cast<int>(x >> 1), static_cast<int>(y >> 1)));
    to[k++ * n] = static_cast<unsigned>(__brevll(wide));
}

CORPUS_EXPORT int run_bit_intrinsics(unsigned const* a, unsigned const* b, unsigned* out, int n)
{
    corpus::Device<unsigned> const da(a, n), db(b, n), dOut(18 * static_cast<size_t>(n));
    bitKernel<<<(n + 63) / 64, 64>>>(da.get(), db.get(), dOut.get(), n);
    return dOut.copyTo(out);
}
