// One-hot along an inner axis: every element of the output asks its index; cudaMemset beside it, a negative index
// counts back.
#include "corpus.h"

namespace
{
// One thread an output element.
__global__ void oneHotGather(int const* indices, float* out, int depth, int inner, int total, float on, float off)
{
    int const i = blockDim.x * blockIdx.x + threadIdx.x;
    if (i >= total)
        return;
    int const column = i % inner, d = i / inner % depth, row = i / inner / depth;
    int index = indices[row * inner + column];
    index += index < 0 ? depth : 0;
    out[i] = index == d ? on : off;
}

// One thread an index, over zeros.
__global__ void oneHotScatter(int const* indices, signed char* out, int depth, int count)
{
    int const i = blockDim.x * blockIdx.x + threadIdx.x;
    if (i < count)
    {
        int const index = indices[i] < 0 ? indices[i] + depth : indices[i];
        if (index >= 0 && index < depth)
        {
            out[static_cast<size_t>(i) * depth + index] = 1;
        }
    }
}
} // namespace

CORPUS_EXPORT int run_one_hot(int const* indices, float* inside, signed char* last, int rows, int inner, int depth,
                              float on, float off)
{
    int const count = rows * inner, total = count * depth;
    corpus::Device<int> const dIndices(indices, count);
    corpus::Device<float> const dInside(total);
    corpus::Device<signed char> dLast(total);
    cudaMemsetAsync(dLast.get(), 0, total);
    oneHotGather<<<(total - 1) / 256 + 1, 256>>>(dIndices.get(), dInside.get(), depth, inner, total, on, off);
    oneHotScatter<<<(count - 1) / 256 + 1, 256>>>(dIndices.get(), dLast.get(), depth, count);
    int const error = dInside.copyTo(inside);
    return error ? error : dLast.copyTo(last);
}
