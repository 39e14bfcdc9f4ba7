// GELU by erf on half2 with a bias added; the odd last element by half.
#include "corpus.h"

#include <cuda_fp16.h>

namespace
{
__device__ __forceinline__ float geluErf(float x)
{
    return x * normcdff(x);
}

__device__ __forceinline__ half2 geluErf(half2 x)
{
    float2 const wide = __half22float2(x);
    return __floats2half2_rn(0.5f * wide.x * (1.f + erff(wide.x * 0.70710678f)),
                             0.5f * wide.y * erfcf(-wide.y * 0.70710678f));
}

__global__ void geluErfHalf2Kernel(half2 const* x, half2 const* bias, half2* y, int pairs, int pairsOfBias)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < pairs; i += blockDim.x * gridDim.x)
    {
        half2 const sum = __hadd2(x[i], bias[i % pairsOfBias]);
        y[i] = geluErf(sum);
    }
}

__global__ void geluErfHalfKernel(half const* x, half const* bias, half* y, int count, int countOfBias)
{
    int const i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
    {
        y[i] = __float2half(geluErf(__half2float(x[i] + bias[i % countOfBias])));
    }
}
} // namespace

CORPUS_EXPORT int run_gelu_erf_half2(half const* x, half const* bias, half* y, int rows, int width)
{
    int const count = rows * width;
    corpus::Device<half> const input(x, count), dBias(bias, width);
    corpus::Device<half> const output(count);
    if (width % 2 == 0)
    {
        geluErfHalf2Kernel<<<3, 64>>>(reinterpret_cast<half2 const*>(input.get()),
                                      reinterpret_cast<half2 const*>(dBias.get()),
                                      reinterpret_cast<half2*>(output.get()), count / 2, width / 2);
    }
    else
    {
        geluErfHalfKernel<<<(count + 127) / 128, 128>>>(input.get(), dBias.get(), output.get(), count, width);
    }
    return output.copyTo(y);
}
