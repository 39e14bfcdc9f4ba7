// Row sums with cooperative groups: a tile of 16 (or 8) threads a row, tile.shfl_down, cg::reduce, block.sync.
#include "corpus.h"

#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>

namespace cg = cooperative_groups;

namespace
{
template <int TILE>
__global__ void tileSums(float const* x, float* sums, int rows, int columns)
{
    cg::thread_block const block = cg::this_thread_block();
    cg::thread_block_tile<TILE> const tile = cg::tiled_partition<TILE>(block);
    int const row = blockIdx.x * tile.meta_group_size() + tile.meta_group_rank();
    if (row >= rows)
    {
        return; // the whole tile
    }
    float sum = 0.f;
    for (int i = tile.thread_rank(); i < columns; i += tile.size())
    {
        sum += x[static_cast<size_t>(row) * columns + i];
    }
    for (int delta = TILE / 2; delta > 0; delta /= 2)
    {
        sum += tile.shfl_down(sum, delta);
    }
    if (tile.thread_rank() == 0)
    {
        sums[row] = sum;
    }
}

__global__ void tileMaxima(float const* x, float* maxima, int columns)
{
    __shared__ float parts[4];
    auto block = cg::this_thread_block();
    auto warp = cg::tiled_partition<32>(block);
    float largest = -INFINITY;
    for (int i = block.thread_rank(); i < columns; i += block.size())
    {
        largest = fmaxf(largest, x[static_cast<size_t>(block.group_index().x) * columns + i]);
    }
    largest = cg::reduce(warp, largest, cg::greater<float>());
    if (warp.thread_rank() == 0)
    {
        parts[warp.meta_group_rank()] = largest;
    }
    block.sync();
    if (block.thread_rank() == 0)
    {
        maxima[blockIdx.x] = fmaxf(fmaxf(parts[0], parts[1]), fmaxf(parts[2], parts[3]));
    }
}
} // namespace

CORPUS_EXPORT int run_reduce_tiles(float const* x, float* sums, float* maxima, int rows, int columns)
{
    corpus::Device<float> const input(x, static_cast<size_t>(rows) * columns);
    corpus::Device<float> const dSums(rows), dMaxima(rows);
    if (columns > 64)
    {
        tileSums<16><<<corpus::ceilDiv(rows, 4), 64>>>(input.get(), dSums.get(), rows, columns);
    }
    else
    {
        tileSums<8><<<corpus::ceilDiv(rows, 8), 64>>>(input.get(), dSums.get(), rows, columns);
    }
    tileMaxima<<<rows, 128>>>(input.get(), dMaxima.get(), columns);
    int const error = dSums.copyTo(sums);
    return error ? error : dMaxima.copyTo(maxima);
}
