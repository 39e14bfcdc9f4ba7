// Exclusive prefix sum by Blelloch: up-sweep and down-sweep in shared memory padded against bank conflicts, by macros.
#include "corpus.h"

#define NUM_BANKS 32
#define LOG_NUM_BANKS 5
#define CONFLICT_FREE_OFFSET(n) ((n) >> LOG_NUM_BANKS)
#define SHARED_AT(n) temp[(n) + CONFLICT_FREE_OFFSET(n)]

static __global__ void prescan(int* g_odata, int const* g_idata, int* g_sums, int n)
{
    extern __shared__ int temp[];
    int thid = threadIdx.x;
    int width = 2 * blockDim.x;
    int first = blockIdx.x * width;
    int ai = thid, bi = thid + width / 2;
    SHARED_AT(ai) = first + ai < n ? g_idata[first + ai] : 0;
    SHARED_AT(bi) = first + bi < n ? g_idata[first + bi] : 0;

    int offset = 1;
    for (int d = width >> 1; d > 0; d >>= 1)
    {
        __syncthreads();
        if (thid < d)
        {
            int a = offset * (2 * thid + 1) - 1;
            int b = offset * (2 * thid + 2) - 1;
            SHARED_AT(b) += SHARED_AT(a);
        }
        offset *= 2;
    }
    __syncthreads();
    if (thid == 0)
    {
        g_sums[blockIdx.x] = SHARED_AT(width - 1);
        SHARED_AT(width - 1) = 0;
    }
    for (int d = 1; d < width; d *= 2)
    {
        offset >>= 1;
        __syncthreads();
        if (thid < d)
        {
            int a = offset * (2 * thid + 1) - 1;
            int b = offset * (2 * thid + 2) - 1;
            int t = SHARED_AT(a);
            SHARED_AT(a) = SHARED_AT(b);
            SHARED_AT(b) += t;
        }
    }
    __syncthreads();
    if (first + ai < n)
        g_odata[first + ai] = SHARED_AT(ai);
    if (first + bi < n)
        g_odata[first + bi] = SHARED_AT(bi);
}

static __global__ void addSums(int* g_odata, int const* g_sums, int n, int width)
{
    __shared__ int before;
    if (threadIdx.x == 0)
        before = g_sums[blockIdx.x];
    __syncthreads();
    for (int i = threadIdx.x; i < width && (int)(blockIdx.x * width) + i < n; i += blockDim.x)
        g_odata[blockIdx.x * width + i] += before;
}

CORPUS_EXPORT int run_scan_blelloch(int const* x, int* y, int* total, int n)
{
    int const threads = 128, width = 2 * threads;
    int const blocks = corpus::ceilDiv(n, width);
    if (blocks > width)
    {
        return -1;
    }
    corpus::Device<int> const dx(x, n), dy(n), sums(blocks), scanned(blocks), all(1);
    size_t const shared = (width + CONFLICT_FREE_OFFSET(width)) * sizeof(int);
    prescan<<<blocks, threads, shared>>>(dy.get(), dx.get(), sums.get(), n);
    prescan<<<1, threads, shared>>>(scanned.get(), sums.get(), all.get(), blocks);
    addSums<<<blocks, threads>>>(dy.get(), scanned.get(), n, width);
    int const error = dy.copyTo(y);
    return error ? error : all.copyTo(total);
}
