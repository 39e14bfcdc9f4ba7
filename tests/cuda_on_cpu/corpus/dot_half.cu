// Dot product in fp16 with sums in fp32: half2 loads unrolled by 4, shuffles, a float atomicAdd; beside it __hfma2 in
// fp16.
#include "corpus.h"

#include <cuda_fp16.h>

namespace
{
__global__ void dotKernel(__half2 const* __restrict__ a, __half2 const* __restrict__ b, int pairs, float* result)
{
    float sums[4] = {0.f, 0.f, 0.f, 0.f};
    int const first = (blockIdx.x * blockDim.x + threadIdx.x) * 4;
    int const step = gridDim.x * blockDim.x * 4;
    for (int i = first; i < pairs; i += step)
    {
#pragma unroll
        for (int u = 0; u < 4; ++u)
        {
            if (i + u < pairs)
            {
                float2 const x = __half22float2(__ldg(a + i + u)), y = __half22float2(__ldg(b + i + u));
                sums[u] = fmaf(x.x, y.x, fmaf(x.y, y.y, sums[u]));
            }
        }
    }
    float sum = (sums[0] + sums[1]) + (sums[2] + sums[3]);
#pragma unroll
    for (int offset = 16; offset; offset >>= 1)
        sum += __shfl_xor_sync(0xffffffffu, sum, offset);
    if ((threadIdx.x & 31u) == 0u)
        atomicAdd(result, sum);
}

// All in half, by one warp: what a kernel loses that doesn't sum in float.
__global__ void dotInHalf(__half2 const* a, __half2 const* b, int pairs, __half* result)
{
    __half2 sum = __float2half2_rn(0.f);
    for (int i = threadIdx.x; i < pairs; i += 32)
    {
        sum = __hfma2(a[i], b[i], sum);
    }
    for (int offset = 16; offset; offset >>= 1)
    {
        sum = __hadd2(sum, __shfl_down_sync(0xffffffffu, sum, offset));
    }
    if (threadIdx.x == 0)
    {
        *result = __hadd(__low2half(sum), __high2half(sum));
    }
}
} // namespace

CORPUS_EXPORT int run_dot_half(__half const* a, __half const* b, float* wide, __half* narrow, int n)
{
    corpus::Device<__half> const da(a, n), db(b, n), inHalf(1);
    corpus::Device<float> result(1);
    result.zero();
    auto const* pairsA = reinterpret_cast<__half2 const*>(da.get());
    auto const* pairsB = reinterpret_cast<__half2 const*>(db.get());
    dotKernel<<<3, 64>>>(pairsA, pairsB, n / 2, result.get());
    dotInHalf<<<1, 32>>>(pairsA, pairsB, n / 2, inHalf.get());
    int const error = result.copyTo(wide);
    return error ? error : inHalf.copyTo(narrow);
}
