// Quantize to int8 per tensor: float4 to char4, __float2int_rn, the scale from an absolute maximum by atomicMax on
// float bits.
#include "corpus.h"

#include <cstdint>

namespace quantize_int8
{
__device__ float absoluteMaximum = 0.f; // only ever larger: as an int its bits have the same order

__global__ void findMaximum(float const* x, int n)
{
    __shared__ int blockMaximum;
    if (threadIdx.x == 0)
    {
        blockMaximum = 0;
    }
    __syncthreads();
    float mine = 0.f;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    {
        mine = fmaxf(mine, fabsf(x[i]));
    }
    atomicMax(&blockMaximum, __float_as_int(mine));
    __syncthreads();
    if (threadIdx.x == 0)
    {
        atomicMax(reinterpret_cast<int*>(&absoluteMaximum), blockMaximum);
    }
}

__device__ __forceinline__ int8_t quantize(float x, float inverseScale)
{
    int const rounded = __float2int_rn(x * inverseScale);
    return static_cast<int8_t>(min(max(rounded, -128), 127));
}

__global__ void quantizeVector(float4 const* __restrict__ x, char4* __restrict__ y, int quads)
{
    int const i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < quads)
    {
        float const inverse = 127.f / absoluteMaximum;
        float4 const v = x[i];
        y[i] =
            make_char4(quantize(v.x, inverse), quantize(v.y, inverse), quantize(v.z, inverse), quantize(v.w, inverse));
    }
}

__global__ void quantizeRest(float const* x, int8_t* y, int first, int n)
{
    int const i = first + threadIdx.x;
    if (i < n)
    {
        y[i] = quantize(x[i], 127.f / absoluteMaximum);
    }
}
} // namespace quantize_int8

CORPUS_EXPORT int run_quantize_int8(float const* x, int8_t* y, float* maximum, int n)
{
    using namespace quantize_int8;
    corpus::Device<float> const dx(x, n);
    corpus::Device<int8_t> const dy(n);
    float const zero = 0.f;
    cudaMemcpyToSymbol(absoluteMaximum, &zero, sizeof zero);
    findMaximum<<<4, 96>>>(dx.get(), n);
    if (n >= 4)
    {
        quantizeVector<<<corpus::ceilDiv(n / 4, 64), 64>>>(reinterpret_cast<float4 const*>(dx.get()),
                                                           reinterpret_cast<char4*>(dy.get()), n / 4);
    }
    if (n % 4 != 0)
    {
        quantizeRest<<<1, 4>>>(dx.get(), dy.get(), n / 4 * 4, n);
    }
    int const error = dy.copyTo(y);
    return error ? error : static_cast<int>(cudaMemcpyFromSymbol(maximum, absoluteMaximum, sizeof(float)));
}
