// Argmax of rows: pairs reduced by shuffles, ties go to the first; two outputs; 64-bit keys by atomicMax as a second
// way.
#include "corpus.h"

#include <climits>

namespace
{
struct Candidate
{
    float value;
    int index;

    __device__ bool operator<(Candidate const& other) const
    {
        return value < other.value || (value == other.value && index > other.index);
    }
};

__device__ Candidate shuffleDown(unsigned mask, Candidate const& c, int delta)
{
    return Candidate{__shfl_down_sync(mask, c.value, delta), __shfl_down_sync(mask, c.index, delta)};
}

__global__ void argmaxRows(float const* x, float* values, int* indices, int columns)
{
    __shared__ Candidate partial[8];
    Candidate best{-INFINITY, INT_MAX};
    for (int i = threadIdx.x; i < columns; i += blockDim.x)
    {
        Candidate const candidate{x[blockIdx.x * columns + i], i};
        if (best < candidate)
        {
            best = candidate;
        }
    }
    for (int delta = 16; delta; delta /= 2)
    {
        Candidate const other = shuffleDown(0xffffffff, best, delta);
        best = best < other ? other : best;
    }
    if (threadIdx.x % 32 == 0)
    {
        partial[threadIdx.x / 32] = best;
    }
    __syncthreads();
    if (threadIdx.x == 0)
    {
        for (unsigned w = 1; w < blockDim.x / 32; ++w)
        {
            best = best < partial[w] ? partial[w] : best;
        }
        values[blockIdx.x] = best.value;
        indices[blockIdx.x] = best.index;
    }
}

// A float's bits as an unsigned integer of the same order.
__device__ __inline__ unsigned int ordered(float value)
{
    unsigned int const bits = __float_as_uint(value);
    return (bits & 0x80000000u) ? ~bits : bits | 0x80000000u;
}

__global__ void argmaxAll(float const* x, unsigned long long* key, int count)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x)
    {
        unsigned long long const packed =
            (static_cast<unsigned long long>(ordered(x[i])) << 32) | (0xffffffffu - static_cast<unsigned>(i));
        atomicMax(key, packed);
    }
}
} // namespace

CORPUS_EXPORT int run_argmax(float const* x, float* values, int* indices, int* overall, int rows, int columns)
{
    corpus::Device<float> const input(x, static_cast<size_t>(rows) * columns);
    corpus::Device<float> const best(rows);
    corpus::Device<int> const at(rows);
    corpus::Device<unsigned long long> key(1);
    key.zero();
    argmaxRows<<<rows, 96>>>(input.get(), best.get(), at.get(), columns);
    argmaxAll<<<3, 64>>>(input.get(), key.get(), rows * columns);
    unsigned long long packed = 0;
    if (int const error = key.copyTo(&packed))
    {
        return error;
    }
    *overall = static_cast<int>(0xffffffffu - static_cast<unsigned>(packed & 0xffffffffu));
    int const error = best.copyTo(values);
    return error ? error : at.copyTo(indices);
}
