// Counts not-a-numbers and infinities and prints the first of a block with printf; isnan and isinf.
#include "corpus.h"

#include <cassert>
#include <cstdio>

namespace
{
__global__ void reportKernel(float const* x, int* counts, int n, bool loud)
{
    __shared__ int first;
    if (threadIdx.x == 0)
        first = n;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    {
        bool const bad = isnan(x[i]) || isinf(x[i]);
        if (bad)
        {
            atomicAdd(&counts[isnan(x[i]) ? 0 : 1], 1);
            atomicMin(&first, i);
        }
        assert(i < n);
    }
    __syncthreads();
    if (loud && threadIdx.x == 0 && first < n)
    {
        printf("corpus: block %d: element %d is %s (%.1f%%)\n", (int)blockIdx.x, first,
               isnan(x[first]) ? "NaN" : "infinite", 100.0f * first / n);
    }
}
} // namespace

CORPUS_EXPORT int run_printed_report(float const* x, int* counts, int n, int loud)
{
    corpus::Device<float> const in(x, n);
    corpus::Device<int> dCounts(2);
    dCounts.zero();
    reportKernel<<<2, 64>>>(in.get(), dCounts.get(), n, loud != 0);
    int const error = dCounts.copyTo(counts);
    fflush(stdout);
    return error;
}
