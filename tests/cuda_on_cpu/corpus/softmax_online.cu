// Softmax in one pass over the row: each thread keeps (largest, sum), merged over warps by shuffles, then in shared
// memory.
#include "corpus.h"

#include <math_constants.h>

namespace softmax_online
{
struct __align__(8) Running
{
    float largest;
    float sum;
};

__device__ __forceinline__ Running merge(Running a, Running b)
{
    bool const aIsLarger = a.largest > b.largest;
    Running const larger = aIsLarger ? a : b;
    Running const smaller = aIsLarger ? b : a;
    if (smaller.largest == -CUDART_INF_F)
    {
        return larger;
    }
    return {larger.largest, larger.sum + smaller.sum * expf(smaller.largest - larger.largest)};
}

__device__ Running warpMerge(Running value)
{
#pragma unroll
    for (int offset = warpSize / 2; offset > 0; offset /= 2)
    {
        Running other;
        other.largest = __shfl_down_sync(0xffffffff, value.largest, offset);
        other.sum = __shfl_down_sync(0xffffffff, value.sum, offset);
        value = merge(value, other);
    }
    return value;
}

template <int THREADS>
__launch_bounds__(THREADS) __global__
    void kernel(float const* __restrict__ input, float* __restrict__ output, int columns)
{
    constexpr int kWARPS = THREADS / 32;
    __shared__ Running partial[kWARPS];
    __shared__ Running total;

    size_t const row = static_cast<size_t>(blockIdx.x) * columns;
    Running mine{-CUDART_INF_F, 0.0f};
    for (int i = threadIdx.x; i < columns; i += THREADS)
    {
        mine = merge(mine, Running{__ldg(input + row + i), 1.0f});
    }
    mine = warpMerge(mine);
    if ((threadIdx.x & 31) == 0)
    {
        partial[threadIdx.x >> 5] = mine;
    }
    __syncthreads();
    if (threadIdx.x < 32)
    {
        Running value = threadIdx.x < kWARPS ? partial[threadIdx.x] : Running{-CUDART_INF_F, 0.0f};
        value = warpMerge(value);
        if (threadIdx.x == 0)
        {
            total = value;
        }
    }
    __syncthreads();

    float const largest = total.largest;
    float const inverse = __fdividef(1.0f, total.sum);
    for (int i = threadIdx.x; i < columns; i += THREADS)
    {
        output[row + i] = expf(__ldg(&input[row + i]) - largest) * inverse;
    }
}
} // namespace softmax_online

CORPUS_EXPORT int run_softmax_online(float const* x, float* y, int rows, int columns)
{
    size_t const count = static_cast<size_t>(rows) * columns;
    corpus::Device<float> const input(x, count);
    corpus::Device<float> const output(count);
    if (columns <= 64)
    {
        softmax_online::kernel<64><<<rows, 64>>>(input.get(), output.get(), columns);
    }
    else
    {
        softmax_online::kernel<256><<<rows, 256>>>(input.get(), output.get(), columns);
    }
    return output.copyTo(y);
}
