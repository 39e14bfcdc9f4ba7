// Concatenates three inputs along a middle axis: device pointers in a struct by value; and the same by
// cudaMemcpy2DAsync.
#include "corpus.h"

#include <array>

namespace
{
template <int N>
struct ConcatInputs
{
    float const* data[N];
    int lengths[N]; // of the axis times what is inside it
};

template <int N>
__global__ void concatKernel(ConcatInputs<N> inputs, float* out, int outer, int total)
{
    int const i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= outer * total)
        return;
    int const row = i / total;
    int column = i % total;
#pragma unroll
    for (int k = 0; k < N; ++k)
    {
        if (column < inputs.lengths[k])
        {
            out[i] = inputs.data[k][row * inputs.lengths[k] + column];
            return;
        }
        column -= inputs.lengths[k];
    }
}
} // namespace

CORPUS_EXPORT int run_concat(float const* a, float const* b, float const* c, float* byKernel, float* byCopies,
                             int outer, int la, int lb, int lc)
{
    int const total = la + lb + lc;
    corpus::Device<float> const da(a, outer * la), db(b, outer * lb), dc(c, outer * lc);
    corpus::Device<float> const out(outer * total), copied(outer * total);
    ConcatInputs<3> const inputs{{da.get(), db.get(), dc.get()}, {la, lb, lc}};
    concatKernel<<<corpus::ceilDiv(outer * total, 128), 128>>>(inputs, out.get(), outer, total);
    int at = 0;
    for (int k = 0; k < 3; ++k)
    {
        size_t const bytes = inputs.lengths[k] * sizeof(float);
        cudaMemcpy2DAsync(copied.get() + at, total * sizeof(float), inputs.data[k], bytes, bytes, outer,
                          cudaMemcpyDeviceToDevice, nullptr);
        at += inputs.lengths[k];
    }
    int const error = out.copyTo(byKernel);
    return error ? error : copied.copyTo(byCopies);
}
