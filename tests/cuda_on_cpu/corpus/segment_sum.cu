// Sums of sorted segments: by offsets (a warp a segment), and by ids with __match_any_sync adding up equal ids in a
// warp first.
#include "corpus.h"

namespace
{
__global__ void byOffsets(float const* values, int const* columns, float const* dense, int const* offsets, float* out,
                          int rows)
{
    int const warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    int const lane = threadIdx.x & 31;
    if (warp >= rows)
    {
        return;
    }
    float sum = 0.f;
    for (int i = offsets[warp] + lane; i < offsets[warp + 1]; i += 32)
    {
        sum += values[i] * __ldg(&dense[columns[i]]);
    }
    for (int offset = 16; offset > 0; offset /= 2)
    {
        sum += __shfl_down_sync(0xffffffff, sum, offset);
    }
    if (lane == 0)
    {
        out[warp] = sum;
    }
}

__global__ void byIds(float const* values, int const* ids, float* sums, int* counts, int n)
{
    int const i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned const active = __ballot_sync(0xffffffff, i < n);
    if (i >= n)
    {
        return;
    }
    int const id = ids[i];
    unsigned const peers = __match_any_sync(active, id);
    int const leader = __ffs(peers) - 1;
    int const lane = threadIdx.x % 32;
    // Every lane goes through all of its peers, so that equal masks stay together.
    float sum = 0.f;
    for (unsigned rest = peers; rest != 0; rest &= rest - 1)
    {
        sum += __shfl_sync(peers, values[i], __ffs(rest) - 1);
    }
    if (lane == leader)
    {
        atomicAdd(sums + id, sum);
        atomicAdd(counts + id, __popc(peers));
    }
}
} // namespace

CORPUS_EXPORT int run_segment_sum(float const* values, int const* columns, float const* dense, int const* offsets,
                                  int const* ids, float* product, float* sums, int* counts, int n, int rows, int width)
{
    corpus::Device<float> const dValues(values, n), dDense(dense, width), dProduct(rows);
    corpus::Device<int> const dColumns(columns, n), dOffsets(offsets, rows + 1), dIds(ids, n);
    corpus::Device<float> dSums(rows);
    corpus::Device<int> dCounts(rows);
    dSums.zero();
    dCounts.zero();
    byOffsets<<<corpus::ceilDiv(rows, 4), 128>>>(dValues.get(), dColumns.get(), dDense.get(), dOffsets.get(),
                                                 dProduct.get(), rows);
    byIds<<<corpus::ceilDiv(n, 128), 128>>>(dValues.get(), dIds.get(), dSums.get(), dCounts.get(), n);
    int error = dProduct.copyTo(product);
    error = error ? error : dSums.copyTo(sums);
    return error ? error : dCounts.copyTo(counts);
}
