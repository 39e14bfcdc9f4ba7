// Softmax of short rows, a warp a row held in registers: templates on elements a lane, xor shuffles, several rows a
// block.
#include "corpus.h"

#include <cstdint>

namespace
{
constexpr unsigned int kFULL_WARP = 0xffffffffu;

struct Add
{
    __device__ __forceinline__ float operator()(float a, float b) const
    {
        return a + b;
    }
};

struct Max
{
    __device__ __forceinline__ float operator()(float a, float b) const
    {
        return a < b ? b : a;
    }
};

template <typename Operator>
__device__ __forceinline__ float warpAllReduce(float value)
{
    Operator const combine{};
#pragma unroll
    for (int laneMask = 16; laneMask > 0; laneMask >>= 1)
    {
        value = combine(value, __shfl_xor_sync(kFULL_WARP, value, laneMask, 32));
    }
    return value;
}

template <int ELEMENTS, bool LOG>
__global__ void __launch_bounds__(128) softmaxWarpKernel(float* dst, float const* src, int rows, int columns)
{
    int const row = blockIdx.x * blockDim.y + threadIdx.y;
    if (row >= rows) // the same for the whole warp
    {
        return;
    }
    src += static_cast<int64_t>(row) * columns;
    dst += static_cast<int64_t>(row) * columns;

    float values[ELEMENTS];
    float largest = -INFINITY;
#pragma unroll
    for (int i = 0; i < ELEMENTS; ++i)
    {
        int const column = threadIdx.x + i * 32;
        values[i] = column < columns ? src[column] : -INFINITY;
        largest = fmaxf(largest, values[i]);
    }
    largest = warpAllReduce<Max>(largest);
    float sum = 0.0f;
#pragma unroll
    for (int i = 0; i < ELEMENTS; ++i)
    {
        if constexpr (LOG)
        {
            sum += expf(values[i] - largest);
        }
        else
        {
            values[i] = expf(values[i] - largest);
            sum += values[i];
        }
    }
    sum = warpAllReduce<Add>(sum);
    float const logSum = logf(sum);
#pragma unroll
    for (int i = 0; i < ELEMENTS; ++i)
    {
        int const column = threadIdx.x + i * 32;
        if (column < columns)
        {
            dst[column] = LOG ? values[i] - largest - logSum : values[i] / sum;
        }
    }
}

template <bool LOG>
void launchSoftmaxWarp(float* dst, float const* src, int rows, int columns)
{
    dim3 const block(32, 4);
    dim3 const grid((rows + block.y - 1) / block.y);
#define SOFTMAX_WARP_CASE(ELEMENTS)                                                                                    \
    case ELEMENTS:                                                                                                     \
        softmaxWarpKernel<ELEMENTS, LOG><<<grid, block, 0, nullptr>>>(dst, src, rows, columns);                        \
        break
    switch (corpus::ceilDiv(columns, 32))
    {
        SOFTMAX_WARP_CASE(1);
        SOFTMAX_WARP_CASE(2);
        SOFTMAX_WARP_CASE(3);
        SOFTMAX_WARP_CASE(4);
    default:
        softmaxWarpKernel<32, LOG><<<grid, block>>>(dst, src, rows, columns);
        break;
    }
#undef SOFTMAX_WARP_CASE
}
} // namespace

CORPUS_EXPORT int run_softmax_warp(float const* x, float* y, int rows, int columns, int logarithm)
{
    size_t const count = static_cast<size_t>(rows) * columns;
    corpus::Device<float> const input(x, count);
    corpus::Device<float> const output(count);
    if (logarithm)
    {
        launchSoftmaxWarp<true>(output.get(), input.get(), rows, columns);
    }
    else
    {
        launchSoftmaxWarp<false>(output.get(), input.get(), rows, columns);
    }
    return output.copyTo(y);
}
