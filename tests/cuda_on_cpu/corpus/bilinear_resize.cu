// Bilinear resize in NHWC of bytes to normalized half in NCHW: mean and deviation in __constant__ arrays, uchar3-like
// pixels.
#include "corpus.h"

#include <cuda_fp16.h>

__constant__ float3 resizeMean;
__constant__ float resizeInverseDeviation[3];

struct Taps
{
    int first, second;
    float weight;
};

__device__ __forceinline__ Taps tapsOf(int out, float scale, int extent)
{
    float const at = fmaxf((out + 0.5f) * scale - 0.5f, 0.f);
    int const first = min(static_cast<int>(at), extent - 1);
    return {first, min(first + 1, extent - 1), at - first};
}

__device__ __forceinline__ float3 lerp3(uchar3 a, uchar3 b, float t)
{
    return make_float3(a.x + (b.x - a.x) * t, a.y + (b.y - a.y) * t, a.z + (b.z - a.z) * t);
}

__global__ void resizeNormalize(uchar3 const* __restrict__ image, __half* __restrict__ out, int height, int width,
                                int outHeight, int outWidth)
{
    unsigned const ox = blockIdx.x * blockDim.x + threadIdx.x, oy = blockIdx.y * blockDim.y + threadIdx.y;
    if (ox >= static_cast<unsigned>(outWidth) || oy >= static_cast<unsigned>(outHeight))
        return;
    Taps const v = tapsOf(oy, static_cast<float>(height) / outHeight, height);
    Taps const h = tapsOf(ox, static_cast<float>(width) / outWidth, width);
    float3 const top = lerp3(image[v.first * width + h.first], image[v.first * width + h.second], h.weight);
    float3 const bottom = lerp3(image[v.second * width + h.first], image[v.second * width + h.second], h.weight);
    size_t const plane = static_cast<size_t>(outHeight) * outWidth, at = static_cast<size_t>(oy) * outWidth + ox;
    out[at] = __float2half((top.x + (bottom.x - top.x) * v.weight - resizeMean.x) * resizeInverseDeviation[0]);
    out[at + plane] = __float2half((top.y + (bottom.y - top.y) * v.weight - resizeMean.y) * resizeInverseDeviation[1]);
    out[at + 2 * plane] =
        __float2half((top.z + (bottom.z - top.z) * v.weight - resizeMean.z) * resizeInverseDeviation[2]);
}

CORPUS_EXPORT int run_bilinear_resize(unsigned char const* image, float const* mean, float const* inverseDeviation,
                                      __half* out, int height, int width, int outHeight, int outWidth)
{
    corpus::Device<uchar3> const dImage(reinterpret_cast<uchar3 const*>(image), static_cast<size_t>(height) * width);
    corpus::Device<__half> const dOut(3 * static_cast<size_t>(outHeight) * outWidth);
    cudaStream_t stream;
    cudaStreamCreate(&stream);
    cudaMemcpyToSymbolAsync(resizeMean, mean, sizeof(float3), 0, cudaMemcpyHostToDevice, stream);
    cudaMemcpyToSymbolAsync(resizeInverseDeviation, inverseDeviation, 3 * sizeof(float), 0, cudaMemcpyHostToDevice,
                            stream);
    dim3 const block(16, 6);
    dim3 const grid((outWidth + block.x - 1) / block.x, (outHeight + block.y - 1) / block.y);
    resizeNormalize<<<grid, block, 0, stream>>>(dImage.get(), dOut.get(), height, width, outHeight, outWidth);
    int const error = dOut.copyTo(out);
    cudaStreamDestroy(stream);
    return error;
}
