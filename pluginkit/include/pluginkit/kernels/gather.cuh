//! Rows of a table by their numbers, at the speed of the memory: an embedding. Rows are copied byte by byte, whatever
//! their elements are; so INT8 keeps its scale.
//!
//!     kernels::launchGatherRows(stream, count, rowBytes, tableRows, indices, table, y);
#pragma once

#include <pluginkit/kernels/pack.cuh>

#include <algorithm>
#include <cstdint>

namespace pluginkit::kernels
{

namespace detail
{

constexpr uint32_t kGatherThreads = 256;

constexpr int32_t kGatherUnits = 2; //!< of a thread, both loaded before the first is stored

//! A number below 0 counts from the table's end; one that is no row's gives zeros.
template <typename Unit, typename Index>
__global__ void __launch_bounds__(kGatherThreads)
    gatherRowsKernel(int64_t units, int64_t inRow, int64_t tableRows, Index const* indices, Unit const* table, Unit* y)
{
    bool const small = ((static_cast<uint64_t>(units) | static_cast<uint64_t>(inRow)) >> 32U) == 0;
    int64_t const begin = static_cast<int64_t>(blockIdx.x) * kGatherUnits * blockDim.x + threadIdx.x;
    Unit found[kGatherUnits];
#pragma unroll
    for (int32_t k = 0; k < kGatherUnits; ++k)
    {
        int64_t const i = begin + static_cast<int64_t>(k) * blockDim.x;
        found[k] = Unit{};
        if (i < units)
        {
            int64_t const row =
                small ? static_cast<int64_t>(static_cast<uint32_t>(i) / static_cast<uint32_t>(inRow)) : i / inRow;
            auto from = static_cast<int64_t>(indices[row]);
            from += from < 0 ? tableRows : 0;
            if (from >= 0 && from < tableRows)
            {
                found[k] = table[from * inRow + i - row * inRow];
            }
        }
    }
#pragma unroll
    for (int32_t k = 0; k < kGatherUnits; ++k)
    {
        int64_t const i = begin + static_cast<int64_t>(k) * blockDim.x;
        if (i < units)
        {
            y[i] = found[k];
        }
    }
}

template <typename Unit, typename Index>
void launchGather(cudaStream_t stream, int64_t count, int64_t rowBytes, int64_t tableRows, Index const* indices,
                  void const* table, void* y) noexcept
{
    int64_t const inRow = rowBytes / static_cast<int64_t>(sizeof(Unit));
    int64_t const units = count * inRow;
    constexpr int64_t kInBlock = int64_t{kGatherThreads} * kGatherUnits;
    auto const blocks = static_cast<uint32_t>((units + kInBlock - 1) / kInBlock);
    gatherRowsKernel<<<blocks, kGatherThreads, 0, stream>>>(units, inRow, tableRows, indices,
                                                            static_cast<Unit const*>(table), static_cast<Unit*>(y));
}

} // namespace detail

//! Starts the kernel on a stream and returns at once; without elements it starts nothing.
//!
//! Row i of y, of `count` rows of `rowBytes` bytes, becomes row indices[i] of the table; -1 is its last row. An index
//! that is none of the table's rows gives zeros. Index is int32_t or int64_t.
template <typename Index>
cudaError_t launchGatherRows(cudaStream_t stream, int64_t count, int64_t rowBytes, int64_t tableRows,
                             Index const* indices, void const* table, void* y) noexcept
{
    if (count < 0 || rowBytes < 0 || tableRows < 0)
    {
        return cudaErrorInvalidValue;
    }
    if (count == 0 || rowBytes == 0)
    {
        return cudaSuccess; // a launch of no blocks would be an error
    }
    auto const ends =
        reinterpret_cast<uintptr_t>(table) | reinterpret_cast<uintptr_t>(y) | static_cast<uintptr_t>(rowBytes);
    if (ends % kPackBytes == 0)
    {
        detail::launchGather<uint4>(stream, count, rowBytes, tableRows, indices, table, y);
    }
    else if (ends % sizeof(uint32_t) == 0)
    {
        detail::launchGather<uint32_t>(stream, count, rowBytes, tableRows, indices, table, y);
    }
    else if (ends % sizeof(uint16_t) == 0)
    {
        detail::launchGather<uint16_t>(stream, count, rowBytes, tableRows, indices, table, y);
    }
    else
    {
        detail::launchGather<uint8_t>(stream, count, rowBytes, tableRows, indices, table, y);
    }
    return cudaGetLastError();
}

} // namespace pluginkit::kernels
