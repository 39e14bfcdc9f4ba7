// Per channel: float to int8 with a zero point and back to half; scales in __constant__ memory; a bool template
// parameter.
#include "corpus.h"

#include <cuda_fp16.h>

#include <cstdint>

constexpr int kMAX_CHANNELS = 128;
__constant__ float channelScales[kMAX_CHANNELS];
__constant__ int8_t channelZeros[kMAX_CHANNELS];

template <bool SYMMETRIC>
__global__ void quantizeChannels(float const* x, int8_t* y, int channels, int inner)
{
    int const channel = blockIdx.y;
    int const i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= inner)
    {
        return;
    }
    size_t const at = (static_cast<size_t>(blockIdx.z) * channels + channel) * inner + i;
    float const q = rintf(__fdiv_rn(x[at], channelScales[channel])) + (SYMMETRIC ? 0.f : channelZeros[channel]);
    y[at] = static_cast<int8_t>(fminf(fmaxf(q, -128.f), 127.f));
}

template <bool SYMMETRIC>
__global__ void dequantizeChannels(int8_t const* x, __half* y, int channels, int inner)
{
    int const channel = blockIdx.y;
    int const i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < inner)
    {
        size_t const at = (static_cast<size_t>(blockIdx.z) * channels + channel) * inner + i;
        int value = x[at];
        if (!SYMMETRIC)
        {
            value -= channelZeros[channel];
        }
        y[at] = __float2half_rn(__int2float_rn(value) * channelScales[channel]);
    }
}

CORPUS_EXPORT int run_quantize_per_channel(float const* x, float const* scales, int8_t const* zeros, int8_t* quantized,
                                           __half* back, int batch, int channels, int inner, int symmetric)
{
    size_t const count = static_cast<size_t>(batch) * channels * inner;
    corpus::Device<float> const dx(x, count);
    corpus::Device<int8_t> const dQuantized(count);
    corpus::Device<__half> const dBack(count);
    cudaMemcpyToSymbol(channelScales, scales, channels * sizeof(float));
    cudaMemcpyToSymbol(channelZeros, zeros, channels * sizeof(int8_t), 0, cudaMemcpyHostToDevice);
    dim3 const grid(corpus::ceilDiv(inner, 32), channels, batch);
    if (symmetric)
    {
        quantizeChannels<true><<<grid, 32>>>(dx.get(), dQuantized.get(), channels, inner);
        dequantizeChannels<true><<<grid, 32>>>(dQuantized.get(), dBack.get(), channels, inner);
    }
    else
    {
        quantizeChannels<false><<<grid, 32>>>(dx.get(), dQuantized.get(), channels, inner);
        dequantizeChannels<false><<<grid, 32>>>(dQuantized.get(), dBack.get(), channels, inner);
    }
    int const error = dQuantized.copyTo(quantized);
    return error ? error : dBack.copyTo(back);
}
