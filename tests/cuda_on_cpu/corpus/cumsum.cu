// Cumulative sum along a middle axis, exclusive and reverse as ONNX has them: a block a line, tiles with a carry.
#include "corpus.h"

namespace cumsum
{
__device__ float blockInclusive(float value, float* warpSums, float& total)
{
    int const lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    for (int delta = 1; delta < 32; delta *= 2)
    {
        float const other = __shfl_up_sync(0xffffffff, value, delta);
        value += lane >= delta ? other : 0.f;
    }
    if (lane == 31)
    {
        warpSums[warp] = value;
    }
    __syncthreads();
    float before = 0.f;
    total = 0.f;
    for (unsigned w = 0; w < blockDim.x / 32; ++w)
    {
        before += w < static_cast<unsigned>(warp) ? warpSums[w] : 0.f;
        total += warpSums[w];
    }
    __syncthreads();
    return before + value;
}

__global__ void kernel(float const* __restrict__ x, float* __restrict__ y, int length, int inner, bool exclusive,
                       bool reverse)
{
    __shared__ float warpSums[32];
    size_t const base = static_cast<size_t>(blockIdx.y) * length * inner + blockIdx.x;
    float carry = 0.f;
    for (int first = 0; first < length; first += blockDim.x)
    {
        int const i = first + threadIdx.x;
        int const at = reverse ? length - 1 - i : i;
        float const mine = i < length ? x[base + static_cast<size_t>(at) * inner] : 0.f;
        float total;
        float const sum = carry + blockInclusive(mine, warpSums, total);
        if (i < length)
        {
            y[base + static_cast<size_t>(at) * inner] = exclusive ? sum - mine : sum;
        }
        carry += total;
    }
}
} // namespace cumsum

CORPUS_EXPORT int run_cumsum(float const* x, float* y, int outer, int length, int inner, int exclusive, int reverse)
{
    size_t const count = static_cast<size_t>(outer) * length * inner;
    corpus::Device<float> const dx(x, count), dy(count);
    cumsum::kernel<<<dim3(inner, outer), 64>>>(dx.get(), dy.get(), length, inner, exclusive != 0, reverse != 0);
    return dy.copyTo(y);
}
