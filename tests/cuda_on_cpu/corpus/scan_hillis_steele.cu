// Inclusive prefix sum by Hillis and Steele: two halves of a dynamic shared buffer in turn, then the blocks' offsets
// added.
#include "corpus.h"

namespace
{
template <typename T>
__global__ void scanBlocks(T const* in, T* out, T* totals, int n)
{
    extern __shared__ __align__(16) unsigned char scanStorage[];
    T* temp = reinterpret_cast<T*>(scanStorage);
    int const tid = threadIdx.x;
    int const width = blockDim.x;
    int const i = blockIdx.x * width + tid;
    int pout = 0, pin = 1;
    temp[tid] = i < n ? in[i] : T(0);
    __syncthreads();
    for (int offset = 1; offset < width; offset <<= 1)
    {
        pout = 1 - pout;
        pin = 1 - pout;
        if (tid >= offset)
            temp[pout * width + tid] = temp[pin * width + tid] + temp[pin * width + tid - offset];
        else
            temp[pout * width + tid] = temp[pin * width + tid];
        __syncthreads();
    }
    if (i < n)
    {
        out[i] = temp[pout * width + tid];
    }
    if (totals != nullptr && tid == width - 1)
    {
        totals[blockIdx.x] = temp[pout * width + tid];
    }
}

template <typename T>
__global__ void addOffsets(T* out, T const* scannedTotals, int n)
{
    int const i = (blockIdx.x + 1) * blockDim.x + threadIdx.x;
    if (i < n)
    {
        out[i] += scannedTotals[blockIdx.x];
    }
}

template <typename T>
void scan(T const* in, T* out, int n)
{
    int const threads = 96;
    int const blocks = corpus::ceilDiv(n, threads);
    if (blocks == 1)
    {
        scanBlocks<T><<<1, threads, 2 * threads * sizeof(T)>>>(in, out, (T*)NULL, n);
        return;
    }
    corpus::Device<T> const totals(blocks), scanned(blocks);
    scanBlocks<T><<<blocks, threads, 2 * threads * sizeof(T)>>>(in, out, totals.get(), n);
    scan(totals.get(), scanned.get(), blocks);
    addOffsets<T><<<blocks - 1, threads>>>(out, scanned.get(), n);
}
} // namespace

CORPUS_EXPORT int run_scan_hillis_steele(float const* x, float* sums, long long const* integers, long long* wide, int n)
{
    corpus::Device<float> const dx(x, n), dSums(n);
    corpus::Device<long long> const dIntegers(integers, n), dWide(n);
    scan(dx.get(), dSums.get(), n);
    scan(dIntegers.get(), dWide.get(), n);
    int const error = dSums.copyTo(sums);
    return error ? error : dWide.copyTo(wide);
}
