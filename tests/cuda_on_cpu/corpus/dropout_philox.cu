// Dropout by a counter-based generator: Philox 4x32 with 10 rounds, four numbers a counter, __umulhi, uint4, a kept
// mask.
#include "corpus.h"

namespace philox
{
__device__ __forceinline__ uint4 round(uint4 const c, uint2 const key)
{
    unsigned const high0 = __umulhi(0xD2511F53u, c.x);
    unsigned const low0 = 0xD2511F53u * c.x;
    unsigned const high1 = __umulhi(0xCD9E8D57u, c.z);
    unsigned const low1 = 0xCD9E8D57u * c.z;
    return make_uint4(high1 ^ c.y ^ key.x, low1, high0 ^ c.w ^ key.y, low0);
}

__device__ uint4 generate(uint4 counter, uint2 key)
{
#pragma unroll
    for (int i = 0; i < 10; ++i)
    {
        counter = round(counter, key);
        key.x += 0x9E3779B9u;
        key.y += 0xBB67AE85u;
    }
    return counter;
}

__device__ __forceinline__ float uniform(unsigned int bits)
{
    return (bits >> 8) * 0x1p-24f;
}

__global__ void dropout(float const* x, float* y, unsigned char* mask, int n, float keep, unsigned long long seed)
{
    uint2 const key = make_uint2(static_cast<unsigned>(seed), static_cast<unsigned>(seed >> 32));
    float const scale = __frcp_rn(keep);
    int const threads = gridDim.x * blockDim.x;
    for (int group = blockIdx.x * blockDim.x + threadIdx.x; 4 * group < n; group += threads)
    {
        uint4 const bits = generate(make_uint4(group, 0u, 1u, 0u), key);
        unsigned const each[] = {bits.x, bits.y, bits.z, bits.w};
#pragma unroll
        for (int i = 0; i < 4; i++)
        {
            int const at = 4 * group + i;
            if (at < n)
            {
                bool const kept = uniform(each[i]) < keep;
                mask[at] = kept;
                y[at] = kept ? x[at] * scale : 0.f;
            }
        }
    }
}
} // namespace philox

CORPUS_EXPORT int run_dropout_philox(float const* x, float* y, unsigned char* mask, int n, float keep, int seedLow,
                                     int seedHigh)
{
    corpus::Device<float> const dx(x, n);
    corpus::Device<float> const dy(n);
    corpus::Device<unsigned char> const dMask(n);
    unsigned long long const seed =
        static_cast<unsigned long long>(static_cast<unsigned>(seedHigh)) << 32 | static_cast<unsigned>(seedLow);
    philox::dropout<<<5, 64>>>(dx.get(), dy.get(), dMask.get(), n, keep, seed);
    int const error = dy.copyTo(y);
    return error ? error : dMask.copyTo(mask);
}
