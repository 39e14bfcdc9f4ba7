// The k largest of each row, in order: k rounds of a block-wide maximum over a copy in dynamic shared memory.
#include "corpus.h"

namespace
{
template <typename T, int THREADS>
__global__ void topKKernel(T const* __restrict__ input, T* __restrict__ values, int* __restrict__ indices, int columns,
                           int k)
{
    extern __shared__ unsigned char topKStorage[];
    T* const row = reinterpret_cast<T*>(topKStorage);
    __shared__ T bestValue[THREADS];
    __shared__ int bestIndex[THREADS];
    unsigned const tid = threadIdx.x;

    for (int i = tid; i < columns; i += THREADS)
    {
        row[i] = input[static_cast<size_t>(blockIdx.x) * columns + i];
    }
    __syncthreads();
    for (int round = 0; round < k; ++round)
    {
        int mine = -1;
        for (int i = tid; i < columns; i += THREADS)
        {
            if (mine < 0 || row[i] > row[mine])
            {
                mine = i;
            }
        }
        bestIndex[tid] = mine;
        bestValue[tid] = mine < 0 ? -INFINITY : row[mine];
        __syncthreads();
#pragma unroll
        for (unsigned stride = THREADS / 2; stride != 0; stride /= 2)
        {
            if (tid < stride)
            {
                bool const better = bestValue[tid + stride] > bestValue[tid];
                bool const earlier =
                    bestValue[tid + stride] == bestValue[tid] &&
                    static_cast<unsigned>(bestIndex[tid + stride]) < static_cast<unsigned>(bestIndex[tid]);
                if (better || earlier)
                {
                    bestValue[tid] = bestValue[tid + stride];
                    bestIndex[tid] = bestIndex[tid + stride];
                }
            }
            __syncthreads();
        }
        if (tid == 0)
        {
            values[static_cast<size_t>(blockIdx.x) * k + round] = bestValue[0];
            indices[static_cast<size_t>(blockIdx.x) * k + round] = bestIndex[0];
            row[bestIndex[0]] = -INFINITY;
        }
        __syncthreads();
    }
}
} // namespace

CORPUS_EXPORT int run_top_k(float const* x, float* values, int* indices, int rows, int columns, int k)
{
    corpus::Device<float> const input(x, static_cast<size_t>(rows) * columns);
    corpus::Device<float> const largest(static_cast<size_t>(rows) * k);
    corpus::Device<int> const at(static_cast<size_t>(rows) * k);
    size_t const shared = columns * sizeof(float);
    topKKernel<float, 64><<<rows, 64, shared>>>(input.get(), largest.get(), at.get(), columns, k);
    int const error = largest.copyTo(values);
    return error ? error : at.copyTo(indices);
}
