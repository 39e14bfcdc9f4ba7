//! A selection by one block, whose threads hold all marks of a small tensor; for select.cuh.
#pragma once

#include <pluginkit/kernels/launch.cuh>
#include <pluginkit/kernels/select_held.cuh>

#include <cstdint>

namespace pluginkit::kernels::detail
{

constexpr uint32_t kBlockThreads = 512; //!< at most
constexpr int32_t kBlockWarps = static_cast<int32_t>(kBlockThreads / kLanes);

template <int32_t Size, int32_t Turns, typename Predicate, typename T, typename Index>
__global__ void __launch_bounds__(kBlockThreads)
    selectBlockKernel(Predicate const predicate, SelectShape const shape, uint32_t const count, Input<T> const x,
                      int32_t* found, Index* indices)
{
    __shared__ uint16_t lists[kBlockWarps][Held<Size, Turns>::kOfTurn];
    __shared__ int32_t totals[kBlockWarps];
    auto const warp = static_cast<int32_t>(threadIdx.x / kLanes);
    auto const lane = static_cast<int32_t>(threadIdx.x % kLanes);
    waitForStream();
    Held<Size, Turns> held;
    held.look(predicate, x, count, static_cast<uint32_t>(warp) * Turns * kLanes);
    HeldRanks<Size, Turns> ranks{held};
    if (lane == 0)
    {
        totals[warp] = ranks.all;
    }
    __syncthreads();
    int32_t const number = lane < static_cast<int32_t>(blockDim.x / kLanes) ? totals[lane] : 0;
    int32_t const before = sumOfWarp(lane < warp ? number : 0);
    int32_t const all = sumOfWarp(number);
    if (threadIdx.x == 0)
    {
        *found = all;
    }
    writeHeld(shape, held, ranks, warp * Held<Size, Turns>::kElements, before, all, lists[warp], indices);
}

//! Of at most Turns * kBlockThreads packs.
template <int32_t Size, int32_t Turns, typename Predicate, typename T, typename Index>
cudaError_t selectByBlock(cudaStream_t stream, SelectShape const& fromLast, int64_t count, Predicate const& predicate,
                          Input<T> x, Index* indices, int32_t* found) noexcept
{
    constexpr int64_t kOfWarp = Held<Size, Turns>::kElements;
    auto const warps = static_cast<uint32_t>((count + kOfWarp - 1) / kOfWarp);
    launchEarly(selectBlockKernel<Size, Turns, Predicate, T, Index>, dim3{1}, warps * kLanes, stream, predicate,
                fromLast, static_cast<uint32_t>(count), x, found, indices);
    return cudaGetLastError();
}

} // namespace pluginkit::kernels::detail
