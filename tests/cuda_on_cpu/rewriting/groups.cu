// Cooperative groups: a block, tiles of it, the lanes that came together, and the whole grid.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>

#include <cuda/barrier>

namespace cg = cooperative_groups;

__global__ void groups(int* sums, int* scans, int* counts)
{
    __shared__ int seen[64];
    cg::thread_block const block = cg::this_thread_block();
    auto const tile = cg::tiled_partition<8>(block);
    int const rank = static_cast<int>(block.thread_rank());
    seen[rank] = rank;
    block.sync();
    int const other = seen[(rank + 1) % 64];
    int sum = other;
    for (unsigned int step = tile.size() / 2; step > 0; step /= 2)
    {
        sum += tile.shfl_down(sum, step);
    }
    int const whole = cg::reduce(tile, other, cg::plus<int>());
    if (tile.thread_rank() == 0)
    {
        sums[rank / 8] = sum == whole ? sum : -1;
    }
    scans[rank] = cg::inclusive_scan(tile, 1);
    if (rank % 3 == 0)
    {
        cg::coalesced_group const active = cg::coalesced_threads();
        counts[rank / 3] = static_cast<int>(active.size() * 100 + active.thread_rank());
    }
}

//! A barrier of libcu++'s, at which threads wait by asking the clock.
__global__ void turned(int* out)
{
#pragma nv_diag_suppress static_var_with_dynamic_init
    __shared__ cuda::barrier<cuda::thread_scope_block> barrier;
    __shared__ int seen[64];
    if (threadIdx.x == 0)
    {
        init(&barrier, blockDim.x);
    }
    __syncthreads();
    int const t = static_cast<int>(threadIdx.x);
    int sum = 0;
    for (int round = 0; round < 3; ++round)
    {
        seen[t] = t + round;
        barrier.arrive_and_wait();
        sum += seen[63 - t];
        barrier.arrive_and_wait();
    }
    out[t] = sum;
}

//! Every block hands a number on to the next one, three times; a barrier of all blocks lies between.
__global__ void grid(int* numbers, int* out)
{
    cg::grid_group const all = cg::this_grid();
    unsigned int const blocks = gridDim.x;
    if (threadIdx.x == 0)
    {
        numbers[blockIdx.x] = static_cast<int>(blockIdx.x);
    }
    for (int round = 0; round < 3; ++round)
    {
        all.sync();
        int const number = numbers[(blockIdx.x + 1) % blocks];
        all.sync();
        if (threadIdx.x == 0)
        {
            numbers[blockIdx.x] = number;
        }
    }
    all.sync();
    if (all.thread_rank() == 0)
    {
        *out = numbers[0] + 10 * static_cast<int>(all.num_blocks());
    }
}

extern "C" __attribute__((visibility("default"))) int run()
{
    int *sums, *scans, *counts;
    cudaMallocManaged(&sums, 8 * sizeof(int));
    cudaMallocManaged(&scans, 64 * sizeof(int));
    cudaMallocManaged(&counts, 22 * sizeof(int));
    groups<<<1, 64>>>(sums, scans, counts);
    if (cudaDeviceSynchronize() != cudaSuccess)
    {
        return __LINE__;
    }
    for (int i = 0; i < 64; ++i)
    {
        int expected = 0;
        for (int j = 0; j < 8; ++j)
        {
            expected += (i / 8 * 8 + j + 1) % 64;
        }
        if (sums[i / 8] != expected || scans[i] != i % 8 + 1)
        {
            return __LINE__;
        }
    }
    // Of lanes 0 to 31 every third came: 11 (0, 3, ... 30); of 32 to 63 too: 33, 36, ... 63.
    for (int i = 0; i < 22; ++i)
    {
        if (counts[i] != 1100 + i % 11)
        {
            return __LINE__;
        }
    }
    int *numbers, *out;
    cudaMallocManaged(&numbers, 5 * sizeof(int));
    cudaMallocManaged(&out, sizeof(int));
    void* arguments[] = {&numbers, &out};
    cudaLaunchCooperativeKernel(reinterpret_cast<void*>(grid), dim3(5), dim3(33), arguments, 0, nullptr);
    if (cudaDeviceSynchronize() != cudaSuccess || *out != 3 + 10 * 5)
    {
        return __LINE__;
    }
    int* turns = nullptr;
    cudaMallocManaged(&turns, 64 * sizeof(int));
    turned<<<1, 64>>>(turns);
    if (cudaDeviceSynchronize() != cudaSuccess)
    {
        return __LINE__;
    }
    for (int t = 0; t < 64; ++t)
    {
        if (turns[t] != 3 * (63 - t) + 3)
        {
            return __LINE__;
        }
    }
    return 0;
}
