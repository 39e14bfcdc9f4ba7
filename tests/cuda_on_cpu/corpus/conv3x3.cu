// Convolution 3x3, padding 1, NCHW, naive: a thread an output, the kernel unrolled, with a fused bias and ReLU.
#include "corpus.h"

__global__ void conv3x3Kernel(float const* __restrict__ input, float const* __restrict__ weights,
                              float const* __restrict__ bias, float* __restrict__ output, int channels, int filters,
                              int height, int width)
{
    int const x = blockIdx.x * blockDim.x + threadIdx.x;
    int const y = blockIdx.y * blockDim.y + threadIdx.y;
    int const filter = blockIdx.z % filters;
    int const batch = blockIdx.z / filters;
    if (x >= width || y >= height)
        return;

    float sum = bias[filter];
    for (int c = 0; c < channels; ++c)
    {
        float const* plane = input + ((size_t)batch * channels + c) * height * width;
        float const* w = weights + ((size_t)filter * channels + c) * 9;
#pragma unroll
        for (int dy = -1; dy <= 1; ++dy)
        {
#pragma unroll
            for (int dx = -1; dx <= 1; ++dx)
            {
                int const iy = y + dy, ix = x + dx;
                bool const inside = 0 <= iy && iy < height && 0 <= ix && ix < width;
                sum += inside ? plane[iy * width + ix] * __ldg(w + (dy + 1) * 3 + dx + 1) : 0.f;
            }
        }
    }
    output[(((size_t)batch * filters + filter) * height + y) * width + x] = fmaxf(sum, 0.f);
}

CORPUS_EXPORT int run_conv3x3(float const* input, float const* weights, float const* bias, float* output, int batch,
                              int channels, int filters, int height, int width)
{
    size_t const plane = static_cast<size_t>(height) * width;
    corpus::Device<float> const dInput(input, batch * channels * plane), dWeights(weights, filters * channels * 9);
    corpus::Device<float> const dBias(bias, filters), dOutput(batch * filters * plane);
    dim3 block(16, 8, 1);
    dim3 grid((width + block.x - 1) / block.x, (height + block.y - 1) / block.y, batch * filters);
    conv3x3Kernel<<<grid, block>>>(dInput.get(), dWeights.get(), dBias.get(), dOutput.get(), channels, filters, height,
                                   width);
    return dOutput.copyTo(output);
}
