// Bitonic sort of key-value pairs: large steps in global memory, small ones in shared memory; padded with infinities.
#include "corpus.h"

#include <vector>

namespace
{
constexpr int kSHARED = 256; // pairs a block sorts in shared memory, two a thread

__device__ __forceinline__ void compareSwap(float& keyA, int& valueA, float& keyB, int& valueB, bool ascending)
{
    if ((keyA > keyB) == ascending && keyA != keyB)
    {
        float const key = keyA;
        keyA = keyB;
        keyB = key;
        int const value = valueA;
        valueA = valueB;
        valueB = value;
    }
}

// All steps with strides below kSHARED / 2, of the sizes from `size` to `lastSize`.
__global__ void bitonicShared(float* keys, int* values, unsigned size, unsigned lastSize)
{
    __shared__ float sKeys[kSHARED];
    __shared__ int sValues[kSHARED];
    unsigned const first = blockIdx.x * kSHARED;
    for (unsigned i = threadIdx.x; i < kSHARED; i += blockDim.x)
    {
        sKeys[i] = keys[first + i];
        sValues[i] = values[first + i];
    }
    for (; size <= lastSize; size <<= 1)
    {
        for (unsigned stride = min(size / 2, static_cast<unsigned>(kSHARED / 2)); stride > 0; stride >>= 1)
        {
            __syncthreads();
            unsigned const at = 2 * threadIdx.x - (threadIdx.x & (stride - 1));
            bool const ascending = ((first + at) & size) == 0;
            compareSwap(sKeys[at], sValues[at], sKeys[at + stride], sValues[at + stride], ascending);
        }
    }
    __syncthreads();
    for (unsigned i = threadIdx.x; i < kSHARED; i += blockDim.x)
    {
        keys[first + i] = sKeys[i];
        values[first + i] = sValues[i];
    }
}

__global__ void bitonicGlobal(float* keys, int* values, unsigned size, unsigned stride)
{
    unsigned const thread = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned const at = 2 * thread - (thread & (stride - 1));
    compareSwap(keys[at], values[at], keys[at + stride], values[at + stride], (at & size) == 0);
}
} // namespace

CORPUS_EXPORT int run_bitonic_sort(float const* keys, int const* values, float* sortedKeys, int* sortedValues, int n)
{
    unsigned padded = kSHARED;
    while (padded < static_cast<unsigned>(n))
    {
        padded *= 2;
    }
    std::vector<float> hostKeys(padded, INFINITY);
    std::vector<int> hostValues(padded, -1);
    for (int i = 0; i < n; ++i)
    {
        hostKeys[i] = keys[i];
        hostValues[i] = values[i];
    }
    corpus::Device<float> const dKeys(hostKeys.data(), padded);
    corpus::Device<int> const dValues(hostValues.data(), padded);
    unsigned const blocks = padded / kSHARED;
    bitonicShared<<<blocks, kSHARED / 2>>>(dKeys.get(), dValues.get(), 2, kSHARED);
    for (unsigned size = 2 * kSHARED; size <= padded; size <<= 1)
    {
        for (unsigned stride = size / 2; stride >= kSHARED; stride >>= 1)
        {
            bitonicGlobal<<<blocks, kSHARED / 2>>>(dKeys.get(), dValues.get(), size, stride);
        }
        bitonicShared<<<blocks, kSHARED / 2>>>(dKeys.get(), dValues.get(), size, size);
    }
    int error = dKeys.copyTo(hostKeys.data());
    error = error ? error : dValues.copyTo(hostValues.data());
    for (int i = 0; i < n; ++i)
    {
        sortedKeys[i] = hostKeys[i];
        sortedValues[i] = hostValues[i];
    }
    return error;
}
