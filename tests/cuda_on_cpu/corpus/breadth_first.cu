// Breadth-first search over a graph in CSR: a launch a level, frontiers by atomics, the host reads a flag between
// launches.
#include "corpus.h"

#include <utility>

namespace
{
__device__ int nextFrontierSize;

__global__ void expandFrontier(int const* offsets, int const* edges, int* levels, int const* frontier, int size,
                               int* next, int level)
{
    // A warp a node: its lanes share out the edges.
    int const warp = (blockIdx.x * blockDim.x + threadIdx.x) / warpSize;
    int const lane = threadIdx.x % warpSize;
    if (warp >= size)
    {
        return;
    }
    int const node = __shfl_sync(0xffffffff, lane == 0 ? frontier[warp] : 0, 0);
    for (int e = offsets[node] + lane; e < offsets[node + 1]; e += warpSize)
    {
        int const neighbour = edges[e];
        if (atomicCAS(levels + neighbour, -1, level) == -1)
        {
            next[atomicAdd(&nextFrontierSize, 1)] = neighbour;
        }
    }
}
} // namespace

CORPUS_EXPORT int run_breadth_first(int const* offsets, int const* edges, int* levels, int nodes, int edgeCount,
                                    int source)
{
    corpus::Device<int> const dOffsets(offsets, nodes + 1), dEdges(edges, edgeCount), dLevels(nodes);
    corpus::Device<int> const first(nodes), second(nodes);
    cudaMemset(dLevels.get(), 0xff, nodes * sizeof(int));
    int const zero = 0;
    cudaMemcpy(dLevels.get() + source, &zero, sizeof(int), cudaMemcpyHostToDevice);
    cudaMemcpy(first.get(), &source, sizeof(int), cudaMemcpyHostToDevice);
    int *now = first.get(), *next = second.get();
    int size = 1;
    for (int level = 1; size > 0; ++level)
    {
        cudaMemcpyToSymbol(nextFrontierSize, &zero, sizeof(int));
        expandFrontier<<<(size + 3) / 4, 128>>>(dOffsets.get(), dEdges.get(), dLevels.get(), now, size, next, level);
        if (cudaError_t const error = cudaMemcpyFromSymbol(&size, nextFrontierSize, sizeof(int)))
        {
            return static_cast<int>(error);
        }
        std::swap(now, next);
    }
    return dLevels.copyTo(levels);
}
