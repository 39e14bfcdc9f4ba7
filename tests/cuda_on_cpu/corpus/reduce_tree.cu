// Sum by trees in shared memory, twice: the textbook's unrolled template with a switch on the block size, blocks summed
// again.
#include "corpus.h"

#include <utility>
#include <vector>

namespace
{
template <unsigned int blockSize>
__device__ void warpReduce(float volatile* data, unsigned int tid)
{
    float value = data[tid];
    if (blockSize >= 64)
    {
        value += data[tid + 32];
        data[tid] = value;
        __syncwarp();
    }
#pragma unroll
    for (unsigned int offset = 16; offset > 0; offset >>= 1)
    {
        float const other = data[tid + offset]; // up to data[47]: read, and of no use to the upper lanes
        __syncwarp();
        value += other;
        data[tid] = value;
        __syncwarp();
    }
}

template <unsigned int blockSize>
__global__ void reduceTree(float const* g_idata, float* g_odata, unsigned int n)
{
    extern __shared__ float treeData[];
    unsigned int tid = threadIdx.x;
    unsigned int i = blockIdx.x * (blockSize * 2) + tid;
    unsigned int gridSize = blockSize * 2 * gridDim.x;
    float sum = 0;
    while (i < n)
    {
        sum += g_idata[i];
        if (i + blockSize < n)
            sum += g_idata[i + blockSize];
        i += gridSize;
    }
    treeData[tid] = sum;
    __syncthreads();
    if (blockSize >= 512)
    {
        if (tid < 256)
        {
            treeData[tid] += treeData[tid + 256];
        }
        __syncthreads();
    }
    if (blockSize >= 256)
    {
        if (tid < 128)
        {
            treeData[tid] += treeData[tid + 128];
        }
        __syncthreads();
    }
    if (blockSize >= 128)
    {
        if (tid < 64)
        {
            treeData[tid] += treeData[tid + 64];
        }
        __syncthreads();
    }
    if (tid < 32)
        warpReduce<blockSize>(treeData, tid);
    if (tid == 0)
        g_odata[blockIdx.x] = treeData[0];
}

void launchReduceTree(int threads, int blocks, float const* in, float* out, unsigned int n)
{
    size_t const shared = (threads + 32) * sizeof(float);
    switch (threads)
    {
    case 512:
        reduceTree<512><<<blocks, threads, shared>>>(in, out, n);
        break;
    case 256:
        reduceTree<256><<<blocks, threads, shared>>>(in, out, n);
        break;
    case 128:
        reduceTree<128><<<blocks, threads, shared>>>(in, out, n);
        break;
    case 64:
        reduceTree<64><<<blocks, threads, shared>>>(in, out, n);
        break;
    default:
        break;
    }
}
} // namespace

CORPUS_EXPORT int run_reduce_tree(float const* x, float* sum, int n, int threads)
{
    int const blocks = 6;
    corpus::Device<float> const input(x, n), partial(blocks), result(1);
    launchReduceTree(threads, blocks, input.get(), partial.get(), n);
    launchReduceTree(64, 1, partial.get(), result.get(), blocks);
    return result.copyTo(sum);
}
