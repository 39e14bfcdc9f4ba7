//! Scans of short rows that aren't made of packs, by way of shared memory; for scan.cuh.
#pragma once

#include <pluginkit/kernels/scan_pieces.cuh>
#include <pluginkit/kernels/staged.cuh>
#include <pluginkit/kernels/tensors.cuh>

#include <cstdint>

namespace pluginkit::kernels::detail
{

constexpr uint32_t kStagedThreads = 128; //!< of a block

//! A block has neighbouring rows, `lanes` threads of a warp each of them, and a thread Each neighbouring elements: an
//! odd number, so that threads side by side read different banks of shared memory. Results take the elements' place
//! there.
template <int32_t Each, typename Operation, typename Out, typename In>
__global__ void __launch_bounds__(kStagedThreads)
    stagedScanKernel(int64_t rows, int64_t columns, uint32_t lanes, Operation const operation, Output<Out> const out,
                     Input<In> const in)
{
    extern __shared__ uint4 pluginkitStaged[];
    auto const inBlock = static_cast<int64_t>(blockDim.x / lanes);
    int64_t const first = blockIdx.x * inBlock;
    int64_t const some = rows - first < inBlock ? rows - first : inBlock;
    int64_t const begin = first * columns;
    int64_t const end = begin + some * columns;
    Part<In> const part{begin, end, rows * columns};
    part.load(in.data, pluginkitStaged);
    __syncthreads();
    auto const row = static_cast<int32_t>(threadIdx.x / lanes);
    auto const from = static_cast<int32_t>(threadIdx.x % lanes) * Each;
    auto const width = static_cast<int32_t>(columns);
    int32_t const mine = row < some ? width - from : 0; // below Each at a row's end, above 0 for its elements
    int32_t const at = mine > 0 ? part.offset() + row * width + from : part.offset();
    auto const* const elements = reinterpret_cast<In const*>(pluginkitStaged) + at;
    int32_t const last = mine > 1 ? mine - 1 : 0;
    float numbers[Each];
#pragma unroll
    for (int32_t j = 0; j < Each; ++j)
    {
        // Behind a row's end the last one again: only threads behind, which have none, get its sums. They read none,
        // for another thread may have written there already.
        numbers[j] = mine > 0 ? toNumber(elements[j < last ? j : last], in.scale) : Operation::kIdentity;
    }
    scanChunk(operation, numbers);
    float const before = scanOfGroup(numbers[Each - 1], operation, threadIdx.x % lanes, lanes);
    auto* const results = reinterpret_cast<Out*>(pluginkitStaged) + at;
#pragma unroll
    for (int32_t j = 0; j < Each; ++j)
    {
        Out element;
        toElement(element, operation(before, numbers[j]), out.inverse);
        if (j < mine)
        {
            results[j] = element;
        }
    }
    __syncthreads();
    Part<Out>{begin, end, rows * columns}.store(out.data, pluginkitStaged);
}

template <int32_t Each, typename Operation, typename Out, typename In>
bool launchStagedOf(cudaStream_t stream, int64_t rows, int64_t columns, uint32_t lanes, Operation operation,
                    Output<Out> out, Input<In> in) noexcept
{
    if (static_cast<int64_t>(lanes) * Each < columns)
    {
        return false;
    }
    int64_t const inBlock = kStagedThreads / lanes;
    auto const bytes = static_cast<size_t>(inBlock * columns) * sizeof(In) + 2 * kPackBytes;
    auto const blocks = static_cast<uint32_t>((rows + inBlock - 1) / inBlock);
    stagedScanKernel<Each>
        <<<blocks, kStagedThreads, bytes / kPackBytes * kPackBytes, stream>>>(rows, columns, lanes, operation, out, in);
    return true;
}

//! False for rows that are as fast without this: of very few elements, of more than 32 threads can have, and of wider
//! elements.
template <typename Operation, typename Out, typename In>
bool launchStagedScan([[maybe_unused]] cudaStream_t stream, [[maybe_unused]] int64_t rows,
                      [[maybe_unused]] int64_t columns, [[maybe_unused]] Operation operation,
                      [[maybe_unused]] Output<Out> out, [[maybe_unused]] Input<In> in) noexcept
{
    if constexpr (sizeof(In) == sizeof(Out) && sizeof(In) <= 2)
    {
        constexpr int64_t kLeast = 33;
        constexpr int64_t kMost = sizeof(In) == 1 ? int64_t{33} * kLanes : 256;
        if (columns < kLeast || columns > kMost)
        {
            return false;
        }
        for (uint32_t lanes = 4; lanes <= kLanes; lanes *= 2)
        {
            if (launchStagedOf<17>(stream, rows, columns, lanes, operation, out, in) ||
                launchStagedOf<25>(stream, rows, columns, lanes, operation, out, in) ||
                launchStagedOf<33>(stream, rows, columns, lanes, operation, out, in))
            {
                return true;
            }
        }
    }
    return false;
}

} // namespace pluginkit::kernels::detail
