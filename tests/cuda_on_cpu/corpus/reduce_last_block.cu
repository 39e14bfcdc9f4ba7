// Sum in one launch: each block stores its part, __threadfence, and the last one, told by atomicInc, adds them up in
// order.
#include "corpus.h"

__device__ unsigned int finishedBlocks = 0;

namespace
{
__device__ float sumOfBlock(float value)
{
    __shared__ float data[128];
    data[threadIdx.x] = value;
    __syncthreads();
    for (int half = 64; half > 0; half /= 2)
    {
        if (static_cast<int>(threadIdx.x) < half)
        {
            data[threadIdx.x] += data[threadIdx.x + half];
        }
        __syncthreads();
    }
    float const sum = data[0];
    __syncthreads();
    return sum;
}

__global__ void reduceLastBlock(float const* x, int n, float volatile* partial, float* sum)
{
    __shared__ bool isLast;
    float mine = 0.f;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    {
        mine += x[i];
    }
    float const blockSum = sumOfBlock(mine);
    if (threadIdx.x == 0)
    {
        partial[blockIdx.x] = blockSum;
        __threadfence();
        unsigned const ticket = atomicInc(&finishedBlocks, gridDim.x - 1); // back at 0 after the last
        isLast = ticket == gridDim.x - 1;
    }
    __syncthreads();
    if (isLast)
    {
        mine = 0.f;
        for (unsigned i = threadIdx.x; i < gridDim.x; i += blockDim.x)
        {
            mine += partial[i];
        }
        float const total = sumOfBlock(mine);
        if (threadIdx.x == 0)
        {
            *sum = total;
        }
    }
}
} // namespace

CORPUS_EXPORT int run_reduce_last_block(float const* x, float* sums, int n)
{
    int const blocks = 13;
    corpus::Device<float> const input(x, n), partial(blocks), result(2);
    reduceLastBlock<<<blocks, 128>>>(input.get(), n, partial.get(), result.get());
    reduceLastBlock<<<blocks, 128>>>(input.get(), n / 2, partial.get(), result.get() + 1); // the counter serves again
    return result.copyTo(sums);
}
