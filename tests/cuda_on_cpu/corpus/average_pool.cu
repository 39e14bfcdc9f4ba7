// Average pooling of half in NHWC with half2 (two channels a thread), counting the padding or not; and a global
// average.
#include "corpus.h"

#include <cuda_fp16.h>

namespace average_pool
{
template <bool COUNT_PADDING>
__global__ void pool(__half2 const* x, __half2* y, int height, int width, int pairs, int2 out, int kernel, int stride,
                     int padding)
{
    int const pair = threadIdx.x + blockIdx.x * blockDim.x;
    if (pair >= pairs)
    {
        return;
    }
    int const oy = blockIdx.y / out.x, ox = blockIdx.y % out.x;
    float2 sum{};
    int count = 0;
    for (int ky = 0; ky < kernel; ++ky)
    {
        int const iy = oy * stride - padding + ky;
        if (iy < 0 || iy >= height)
        {
            continue;
        }
        for (int kx = 0; kx < kernel; ++kx)
        {
            int const ix = ox * stride - padding + kx;
            if (static_cast<unsigned>(ix) < static_cast<unsigned>(width))
            {
                float2 const value = __half22float2(x[((blockIdx.z * height + iy) * width + ix) * pairs + pair]);
                sum.x += value.x;
                sum.y += value.y;
                ++count;
            }
        }
    }
    float const inverse = 1.f / (COUNT_PADDING ? kernel * kernel : max(count, 1));
    y[((blockIdx.z * out.y + oy) * out.x + ox) * pairs + pair] = __floats2half2_rn(sum.x * inverse, sum.y * inverse);
}

__global__ void globalPool(__half const* x, float* y, int pixels, int channels)
{
    // blockDim.y rows of threads share out the pixels of one channel.
    __shared__ float sums[8][33];
    int const channel = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0.f;
    if (channel < channels)
    {
        for (int p = threadIdx.y; p < pixels; p += blockDim.y)
        {
            sum += __half2float(x[(static_cast<size_t>(blockIdx.y) * pixels + p) * channels + channel]);
        }
    }
    sums[threadIdx.y][threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.y == 0 && channel < channels)
    {
        for (int row = 1; row < 8; ++row)
        {
            sum += sums[row][threadIdx.x];
        }
        y[blockIdx.y * channels + channel] = __fdividef(sum, pixels);
    }
}
} // namespace average_pool

CORPUS_EXPORT int run_average_pool(__half const* x, __half* y, float* all, int batch, int height, int width,
                                   int channels, int kernel, int stride, int padding, int countPadding)
{
    using namespace average_pool;
    int2 const out =
        make_int2((width + 2 * padding - kernel) / stride + 1, (height + 2 * padding - kernel) / stride + 1);
    corpus::Device<__half> const dx(x, static_cast<size_t>(batch) * height * width * channels);
    corpus::Device<__half> const dy(static_cast<size_t>(batch) * out.x * out.y * channels);
    corpus::Device<float> const dAll(static_cast<size_t>(batch) * channels);
    int const pairs = channels / 2;
    dim3 const grid(corpus::ceilDiv(pairs, 32), out.x * out.y, batch);
    auto* const kernelOfType = countPadding ? &pool<true> : &pool<false>;
    kernelOfType<<<grid, 32>>>(reinterpret_cast<__half2 const*>(dx.get()), reinterpret_cast<__half2*>(dy.get()), height,
                               width, pairs, out, kernel, stride, padding);
    globalPool<<<dim3(corpus::ceilDiv(channels, 32), batch), dim3(32, 8)>>>(dx.get(), dAll.get(), height * width,
                                                                            channels);
    int const error = dy.copyTo(y);
    return error ? error : dAll.copyTo(all);
}
