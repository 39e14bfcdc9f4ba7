// Leaky ReLU for float, half, bfloat16 and int8: one template, conversions by specialized traits, a switch on the type.
#include "corpus.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>

namespace leaky_relu
{
template <typename T>
struct Convert
{
    static __host__ __device__ __forceinline__ float load(T x)
    {
        return static_cast<float>(x);
    }
    static __host__ __device__ __forceinline__ T store(float x)
    {
        return static_cast<T>(x);
    }
};

template <>
struct Convert<__nv_bfloat16>
{
    static __device__ float load(__nv_bfloat16 x)
    {
        return __bfloat162float(x);
    }
    static __device__ __nv_bfloat16 store(float x)
    {
        return __float2bfloat16(x);
    }
};

template <>
struct Convert<int8_t>
{
    static __device__ float load(int8_t x)
    {
        return x;
    }
    static __device__ int8_t store(float x)
    {
        return static_cast<int8_t>(__float2int_rn(x));
    }
};

template <unsigned nthdsPerCTA, typename T>
__launch_bounds__(nthdsPerCTA) __global__
    void pReLUKernel(int const n, float const negativeSlope, T const* input, T* output)
{
    for (int i = blockIdx.x * nthdsPerCTA + threadIdx.x; i < n; i += gridDim.x * nthdsPerCTA)
    {
        float const x = Convert<T>::load(input[i]);
        output[i] = x > 0 ? input[i] : Convert<T>::store(x * negativeSlope);
    }
}

template <typename T>
int run(void const* x, void* y, float slope, int n)
{
    corpus::Device<T> const input(static_cast<T const*>(x), n);
    corpus::Device<T> const output(n);
    int const blockSize = 224;
    int const gridSize = (n + blockSize - 1) / blockSize;
    pReLUKernel<blockSize, T><<<gridSize, blockSize>>>(n, slope, input.get(), output.get());
    return output.copyTo(static_cast<T*>(y));
}
} // namespace leaky_relu

CORPUS_EXPORT int run_leaky_relu(void const* x, void* y, float slope, int n, int type)
{
    switch (type)
    {
    case 0:
        return leaky_relu::run<float>(x, y, slope, n);
    case 1:
        return leaky_relu::run<__half>(x, y, slope, n);
    case 2:
        return leaky_relu::run<__nv_bfloat16>(x, y, slope, n);
    case 3:
        return leaky_relu::run<int8_t>(x, y, slope, n);
    default:
        return -1;
    }
}
