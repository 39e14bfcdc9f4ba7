// Sum and product in the CUDA samples' dress: a SharedMemory<T> class around extern __shared__, cg::sync, coalesced
// groups.
#include "corpus.h"

#include <cooperative_groups.h>

namespace cg = cooperative_groups;

template <class T>
struct SharedMemory
{
    __device__ inline operator T*()
    {
        extern __shared__ int __smem[];
        return (T*)__smem;
    }

    __device__ inline operator T const*() const
    {
        extern __shared__ int __smem[];
        return (T*)__smem;
    }
};

// Doubles have storage of their own, for the alignment.
template <>
struct SharedMemory<double>
{
    __device__ inline operator double*()
    {
        extern __shared__ double __smem_d[];
        return (double*)__smem_d;
    }
};

template <class T, unsigned int blockSize, bool nIsPow2>
__global__ void sampleReduce(T const* __restrict__ g_idata, T* __restrict__ g_odata, unsigned int n)
{
    cg::thread_block cta = cg::this_thread_block();
    T* sdata = SharedMemory<T>();
    unsigned int tid = threadIdx.x;
    unsigned int gridSize = blockSize * gridDim.x;
    T mySum = 0;
    if (nIsPow2)
    {
        unsigned int i = blockIdx.x * blockSize * 2 + threadIdx.x;
        gridSize = gridSize << 1;
        while (i < n)
        {
            mySum += g_idata[i];
            if ((i + blockSize) < n)
            {
                mySum += g_idata[i + blockSize];
            }
            i += gridSize;
        }
    }
    else
    {
        for (unsigned int i = blockIdx.x * blockSize + threadIdx.x; i < n; i += gridSize)
        {
            mySum += g_idata[i];
        }
    }
    sdata[tid] = mySum;
    cg::sync(cta);
    if ((blockSize >= 256) && (tid < 128))
    {
        sdata[tid] = mySum = mySum + sdata[tid + 128];
    }
    cg::sync(cta);
    if ((blockSize >= 128) && (tid < 64))
    {
        sdata[tid] = mySum = mySum + sdata[tid + 64];
    }
    cg::sync(cta);
    cg::thread_block_tile<32> tile32 = cg::tiled_partition<32>(cta);
    if (cta.thread_rank() < 32)
    {
        if (blockSize >= 64)
            mySum += sdata[tid + 32];
        for (int offset = tile32.size() / 2; offset > 0; offset /= 2)
        {
            mySum += tile32.shfl_down(mySum, offset);
        }
    }
    if (cta.thread_rank() == 0)
        g_odata[blockIdx.x] = mySum;
}

// How many are above the limit; those of a warp that are go up together.
__global__ void countAbove(float const* x, float limit, int* count, int* order, int n)
{
    int const i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && x[i] > limit)
    {
        cg::coalesced_group active = cg::coalesced_threads();
        int first = 0;
        if (active.thread_rank() == 0)
        {
            first = atomicAdd(count, static_cast<int>(active.size()));
        }
        first = active.shfl(first, 0);
        order[first + active.thread_rank()] = i;
    }
}

template <class T>
static int sampleRun(T const* x, T* sum, int n)
{
    int const blocks = 5;
    corpus::Device<T> const in(x, n), partial(blocks), out(1);
    sampleReduce<T, 256, true><<<blocks, 256, 256 * sizeof(T)>>>(in.get(), partial.get(), n);
    sampleReduce<T, 64, false><<<1, 64, 64 * sizeof(T)>>>(partial.get(), out.get(), blocks);
    return out.copyTo(sum);
}

CORPUS_EXPORT int run_reduce_sample(float const* x, double const* wide, int const* whole, float* sum, double* wideSum,
                                    int* wholeSum, int* seen, float limit, int n)
{
    int error = sampleRun(x, sum, n);
    error = error ? error : sampleRun(wide, wideSum, n);
    error = error ? error : sampleRun(whole, wholeSum, n);
    if (error)
    {
        return error;
    }
    corpus::Device<float> const in(x, n);
    corpus::Device<int> count(1), order(n);
    count.zero();
    order.zero();
    countAbove<<<(n + 127) / 128, 128>>>(in.get(), limit, count.get(), order.get(), n);
    int counted = 0;
    int* host = new int[n];
    error = count.copyTo(&counted);
    error = error ? error : order.copyTo(host);
    for (int k = 0; k < counted; ++k)
    {
        ++seen[host[k]];
    }
    delete[] host;
    return error;
}
