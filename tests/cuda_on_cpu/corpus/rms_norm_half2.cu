// RMS norm on half2: a row's squares summed in float, half2 multiplication; an odd width ends in a single half.
#include "corpus.h"

#include <cuda_fp16.h>

template <int kThreads>
__global__ void __launch_bounds__(kThreads, 2)
    rmsNormHalf2Kernel(__half* __restrict__ y, __half const* __restrict__ x, __half const* __restrict__ weight,
                       float eps, int width)
{
    __shared__ float warpSums[kThreads / 32];
    __half const* row = x + (size_t)blockIdx.x * width;
    __half* out = y + (size_t)blockIdx.x * width;
    bool const aligned = (((size_t)blockIdx.x * width) & 1) == 0; // a half2 must lie at a multiple of 4 bytes

    float sum = 0.f;
    if (aligned)
    {
        __half2 const* row2 = (__half2 const*)row;
        for (int i = threadIdx.x; i < width / 2; i += kThreads)
        {
            float2 const f = __half22float2(row2[i]);
            sum = fmaf(f.x, f.x, fmaf(f.y, f.y, sum));
        }
        if ((width & 1) && threadIdx.x == 0)
        {
            float const f = __half2float(row[width - 1]);
            sum += f * f;
        }
    }
    else
    {
        for (int i = threadIdx.x; i < width; i += kThreads)
        {
            sum += __half2float(row[i]) * __half2float(row[i]);
        }
    }
    for (int offset = 16; offset > 0; offset >>= 1)
    {
        sum += __shfl_down_sync(0xffffffffu, sum, offset);
    }
    if (threadIdx.x % 32 == 0)
    {
        warpSums[threadIdx.x / 32] = sum;
    }
    __syncthreads();
    float total = 0.f;
#pragma unroll
    for (int w = 0; w < kThreads / 32; ++w)
    {
        total += warpSums[w];
    }
    __half const inverse = __float2half(rsqrtf(total / width + eps));
    if (aligned)
    {
        __half2 const inverse2 = __half2half2(inverse);
        for (int i = threadIdx.x; i < width / 2; i += kThreads)
        {
            __half2 const w = __halves2half2(weight[2 * i], weight[2 * i + 1]);
            ((__half2*)out)[i] = __hmul2(__hmul2(((__half2 const*)row)[i], inverse2), w);
        }
        if ((width & 1) && threadIdx.x == kThreads - 1)
        {
            out[width - 1] = __hmul(__hmul(row[width - 1], inverse), weight[width - 1]);
        }
    }
    else
    {
        for (int i = threadIdx.x; i < width; i += kThreads)
        {
            out[i] = row[i] * inverse * weight[i];
        }
    }
}

CORPUS_EXPORT int run_rms_norm_half2(__half const* x, __half const* weight, __half* y, int rows, int width, float eps)
{
    size_t const count = static_cast<size_t>(rows) * width;
    corpus::Device<__half> const dx(x, count), dWeight(weight, width);
    corpus::Device<__half> const dy(count);
    rmsNormHalf2Kernel<128><<<rows, 128>>>(dy.get(), dx.get(), dWeight.get(), eps, width);
    return dy.copyTo(y);
}
