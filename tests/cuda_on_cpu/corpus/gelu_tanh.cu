// GELU by tanh: grid-stride loop over float4 with the last elements one by one; constants as constexpr and #define.
#include "corpus.h"

#define GELU_CUBE 0.044715f

namespace
{
constexpr float kSQRT_2_PI = 0.7978845608028654f;

__device__ __forceinline__ float geluTanh(float const x)
{
    return 0.5f * x * (1.0f + tanhf(kSQRT_2_PI * (x + GELU_CUBE * x * x * x)));
}

__device__ __forceinline__ float4 geluTanh(float4 const v)
{
    return make_float4(geluTanh(v.x), geluTanh(v.y), geluTanh(v.z), geluTanh(v.w));
}

__global__ void geluTanhKernel(float const* __restrict__ x, float* __restrict__ y, int n)
{
    int const index = blockIdx.x * blockDim.x + threadIdx.x;
    int const stride = gridDim.x * blockDim.x;
    for (int i = index; i < n / 4; i += stride)
    {
        reinterpret_cast<float4*>(y)[i] = geluTanh(__ldg(reinterpret_cast<float4 const*>(x) + i));
    }
    for (int i = n / 4 * 4 + index; i < n; i += stride)
    {
        y[i] = geluTanh(x[i]);
    }
}
} // namespace

CORPUS_EXPORT int run_gelu_tanh(float const* x, float* y, int n)
{
    corpus::Device<float> const input(x, n);
    corpus::Device<float> const output(n);
    geluTanhKernel<<<7, 96>>>(input.get(), output.get(), n);
    return output.copyTo(y);
}
