// Depthwise convolution with strides: weights in __constant__ memory, a tile with its border in a 2D shared array,
// templates.
#include "corpus.h"

namespace conv_depthwise
{
constexpr int kMAX_WEIGHTS = 1024;
__constant__ float weights[kMAX_WEIGHTS];

template <int KERNEL, int STRIDE, int TILE>
__global__ void convolve(float const* input, float* output, int channels, int height, int width, int outHeight,
                         int outWidth)
{
    constexpr int kSPAN = (TILE - 1) * STRIDE + KERNEL;
    __shared__ float tile[kSPAN][kSPAN];
    int const plane = blockIdx.z;
    int const channel = plane % channels;
    int const top = blockIdx.y * TILE * STRIDE - KERNEL / 2;
    int const left = blockIdx.x * TILE * STRIDE - KERNEL / 2;
    for (int y = threadIdx.y; y < kSPAN; y += TILE)
    {
        for (int x = threadIdx.x; x < kSPAN; x += TILE)
        {
            int const iy = top + y, ix = left + x;
            bool const inside = iy >= 0 && iy < height && ix >= 0 && ix < width;
            tile[y][x] = inside ? input[(static_cast<size_t>(plane) * height + iy) * width + ix] : 0.f;
        }
    }
    __syncthreads();
    int const oy = blockIdx.y * TILE + threadIdx.y, ox = blockIdx.x * TILE + threadIdx.x;
    if (oy < outHeight && ox < outWidth)
    {
        float sum = 0.f;
#pragma unroll
        for (int ky = 0; ky < KERNEL; ++ky)
        {
#pragma unroll
            for (int kx = 0; kx < KERNEL; ++kx)
            {
                sum += tile[threadIdx.y * STRIDE + ky][threadIdx.x * STRIDE + kx] *
                       weights[(channel * KERNEL + ky) * KERNEL + kx];
            }
        }
        output[(static_cast<size_t>(plane) * outHeight + oy) * outWidth + ox] = sum;
    }
}
} // namespace conv_depthwise

CORPUS_EXPORT int run_conv_depthwise(float const* input, float const* weights, float* output, int batch, int channels,
                                     int height, int width, int kernel, int stride)
{
    constexpr int kTILE = 8;
    int const outHeight = (height - 1) / stride + 1, outWidth = (width - 1) / stride + 1;
    corpus::Device<float> const in(input, static_cast<size_t>(batch) * channels * height * width);
    corpus::Device<float> const out(static_cast<size_t>(batch) * channels * outHeight * outWidth);
    cudaMemcpyToSymbol(conv_depthwise::weights, weights, channels * kernel * kernel * sizeof(float));
    dim3 const grid(corpus::ceilDiv(outWidth, kTILE), corpus::ceilDiv(outHeight, kTILE), batch * channels);
    dim3 const block(kTILE, kTILE);
    auto const launch = [&](auto function)
    { function<<<grid, block>>>(in.get(), out.get(), channels, height, width, outHeight, outWidth); };
    if (kernel == 3 && stride == 1)
        launch(conv_depthwise::convolve<3, 1, kTILE>);
    else if (kernel == 3 && stride == 2)
        launch(conv_depthwise::convolve<3, 2, kTILE>);
    else if (kernel == 5 && stride == 1)
        launch(conv_depthwise::convolve<5, 1, kTILE>);
    else
        return static_cast<int>(cudaErrorInvalidValue);
    return out.copyTo(output);
}
