// Softmax of rows, a block a row: three passes, tree reductions in dynamic shared memory (extern __shared__).
#include "corpus.h"

#include <cfloat>

extern __shared__ float softmaxPartial[];

__global__ void softmaxNaiveKernel(float const* __restrict__ input, float* __restrict__ output, int columns)
{
    float const* x = input + static_cast<size_t>(blockIdx.x) * columns;
    float* y = output + static_cast<size_t>(blockIdx.x) * columns;

    float largest = -FLT_MAX;
    for (int i = threadIdx.x; i < columns; i += blockDim.x)
    {
        largest = fmaxf(largest, x[i]);
    }
    softmaxPartial[threadIdx.x] = largest;
    __syncthreads();
    for (unsigned int half = blockDim.x / 2; half > 0; half >>= 1)
    {
        if (threadIdx.x < half)
        {
            softmaxPartial[threadIdx.x] = fmaxf(softmaxPartial[threadIdx.x], softmaxPartial[threadIdx.x + half]);
        }
        __syncthreads();
    }
    largest = softmaxPartial[0];
    __syncthreads();

    float sum = 0.0f;
    for (int i = threadIdx.x; i < columns; i += blockDim.x)
    {
        sum += __expf(x[i] - largest);
    }
    softmaxPartial[threadIdx.x] = sum;
    __syncthreads();
    for (unsigned int half = blockDim.x / 2; half > 0; half >>= 1)
    {
        if (threadIdx.x < half)
        {
            softmaxPartial[threadIdx.x] += softmaxPartial[threadIdx.x + half];
        }
        __syncthreads();
    }

    float const scale = 1.0f / softmaxPartial[0];
    for (int i = threadIdx.x; i < columns; i += blockDim.x)
    {
        y[i] = __expf(x[i] - largest) * scale;
    }
}

CORPUS_EXPORT int run_softmax_naive(float const* x, float* y, int rows, int columns)
{
    size_t const count = static_cast<size_t>(rows) * columns;
    corpus::Device<float> const input(x, count);
    corpus::Device<float> const output(count);
    int const threads = 128;
    softmaxNaiveKernel<<<rows, threads, threads * sizeof(float)>>>(input.get(), output.get(), columns);
    return output.copyTo(y);
}
