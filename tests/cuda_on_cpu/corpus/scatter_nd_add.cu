// ScatterND that adds slices: atomicAdd on float, double and half2; the index tuples multiplied out with __constant__
// strides.
#include "corpus.h"

#include <cuda_fp16.h>

namespace
{
__constant__ int scatterStrides[4];

__device__ long long sliceOffset(int const* tuple, int depth)
{
    long long offset = 0;
    for (int d = 0; d < depth; ++d)
    {
        offset += static_cast<long long>(tuple[d]) * scatterStrides[d];
    }
    return offset;
}

template <typename T>
__global__ void scatterNdAdd(T* out, int const* indices, T const* updates, int depth, int slice)
{
    T* to = out + sliceOffset(indices + blockIdx.x * depth, depth);
    for (int i = threadIdx.x; i < slice; i += blockDim.x)
    {
        atomicAdd(to + i, updates[blockIdx.x * slice + i]);
    }
}

__global__ void scatterNdAddHalf2(__half2* out, int const* indices, __half2 const* updates, int depth, int slice)
{
    long long const offset = sliceOffset(indices + blockIdx.x * depth, depth);
    for (int i = threadIdx.x; i < slice / 2; i += blockDim.x)
    {
        atomicAdd(out + offset / 2 + i, updates[blockIdx.x * (slice / 2) + i]);
    }
}
} // namespace

CORPUS_EXPORT int run_scatter_nd_add(float* data, double* wide, __half* narrow, int const* indices,
                                     float const* updates, double const* wideUpdates, __half const* narrowUpdates,
                                     int size, int tuples, int depth, int slice, int const* strides)
{
    corpus::Device<float> const dData(data, size), dUpdates(updates, tuples * slice);
    corpus::Device<double> const dWide(wide, size), dWideUpdates(wideUpdates, tuples * slice);
    corpus::Device<__half> const dNarrow(narrow, size), dNarrowUpdates(narrowUpdates, tuples * slice);
    corpus::Device<int> const dIndices(indices, tuples * depth);
    for (int d = 0; d < depth; ++d) // one at a time, at an offset
    {
        cudaMemcpyToSymbol(scatterStrides, strides + d, sizeof(int), d * sizeof(int));
    }
    scatterNdAdd<<<tuples, 32>>>(dData.get(), dIndices.get(), dUpdates.get(), depth, slice);
    scatterNdAdd<double><<<tuples, 40>>>(dWide.get(), dIndices.get(), dWideUpdates.get(), depth, slice);
    scatterNdAddHalf2<<<tuples, 32>>>(reinterpret_cast<__half2*>(dNarrow.get()), dIndices.get(),
                                      reinterpret_cast<__half2 const*>(dNarrowUpdates.get()), depth, slice);
    int error = dData.copyTo(data);
    error = error ? error : dWide.copyTo(wide);
    return error ? error : dNarrow.copyTo(narrow);
}
