//! Rows of a table by their numbers, at the speed of the memory: an embedding. Rows are copied byte by byte, whatever
//! their elements are; quantized ones are converted, where the tensors' scales differ.
//!
//!     kernels::launchGatherRows(stream, count, rowBytes, tableRows, indices, table, y);
//!     kernels::launchGatherRows(stream, count, columns, tableRows, indices, kernels::output<int8_t>(y, yScale),
//!                               kernels::input<int8_t>(table, tableScale));
#pragma once

#include <pluginkit/kernels/launch.cuh>
#include <pluginkit/kernels/tensors.cuh>
#include <pluginkit/kernels/tuning.cuh>

#include <algorithm>
#include <cstdint>

namespace pluginkit::kernels
{

namespace detail
{

constexpr uint32_t kGatherThreads = 256;
constexpr int64_t kMostDivided = 0x7FFFFFFF; //!< by a `Divisor`

constexpr int32_t kGatherUnits = 2; //!< of a thread

//! A number below 0 counts from the table's end; one that is not a row's gives zeros. Of each row the units of
//! `columns` are taken, of a table whose rows are `inRow` units apart. All of a thread's numbers are under way at once,
//! then all of its units.
template <uint32_t Threads, int32_t Units, typename Unit, typename Index, typename Change>
__global__ void __launch_bounds__(Threads)
    gatherRowsKernel(bool early, uint32_t units, Divisor columns, int64_t inRow, int64_t tableRows, Change change,
                     Index const* indices, Unit const* table, Unit* y)
{
    uint32_t const begin = blockIdx.x * (Units * Threads) + threadIdx.x;
    int64_t from[Units];
    uint32_t unit[Units];
    waitForStream(early);
#pragma unroll
    for (int32_t k = 0; k < Units; ++k)
    {
        uint32_t const i = min(begin + k * Threads, units - 1); // loads without branches
        auto const row = static_cast<uint32_t>(columns.quotient(static_cast<int32_t>(i)));
        unit[k] = i - row * columns.divisor;
        from[k] = static_cast<int64_t>(indices[row]);
    }
    Unit found[Units];
#pragma unroll
    for (int32_t k = 0; k < Units; ++k)
    {
        from[k] += from[k] < 0 ? tableRows : 0;
        found[k] = Unit{};
        if (static_cast<uint64_t>(from[k]) < static_cast<uint64_t>(tableRows))
        {
            found[k] = table[from[k] * inRow + unit[k]];
        }
    }
#pragma unroll
    for (int32_t k = 0; k < Units; ++k)
    {
        uint32_t const i = begin + k * Threads;
        if (i < units)
        {
            change(found[k]);
            y[i] = found[k];
        }
    }
}

//! Rows of `inRow` units. A launch has 2^31 - 1 units at most: some of the rows, or a part of one.
template <typename Unit, typename Stream, typename Index, typename Change>
cudaError_t gather(Stream const& stream, int64_t count, int64_t inRow, int64_t tableRows, Change change,
                   Index const* indices, void const* table, void* y) noexcept
{
    int64_t const most = std::max<int64_t>(kMostDivided / inRow, 1);
    return launchWith(stream,
                      [&](cudaStream_t on, auto values)
                      {
                          using Values = decltype(values);
                          constexpr uint32_t kThreads = Values::kThreads > 0 ? Values::kThreads : kGatherThreads;
                          constexpr int32_t kUnits = Values::kPacks > 0 ? Values::kPacks : kGatherUnits;
                          constexpr int64_t kInBlock = int64_t{kThreads} * kUnits;
                          for (int64_t done = 0; done < count; done += most)
                          {
                              int64_t const rows = std::min(count - done, most);
                              for (int64_t column = 0; column < inRow; column += kMostDivided)
                              {
                                  int64_t const columns = std::min(inRow - column, kMostDivided);
                                  int64_t const units = rows * columns;
                                  auto const blocks = static_cast<uint32_t>((units + kInBlock - 1) / kInBlock);
                                  launchEarlyIfFew(gatherRowsKernel<kThreads, kUnits, Unit, Index, Change>, blocks,
                                                   kThreads, on, static_cast<uint32_t>(units), divisorOf(columns),
                                                   inRow, tableRows, change, indices + done,
                                                   static_cast<Unit const*>(table) + column,
                                                   static_cast<Unit*>(y) + done * inRow + column);
                              }
                          }
                          return cudaGetLastError();
                      });
}

//! Rows of bytes, moved in the largest units that they are made of.
template <typename Stream, typename Index>
cudaError_t gatherBytes(Stream const& stream, int64_t count, int64_t rowBytes, int64_t tableRows, Index const* indices,
                        void const* table, void* y) noexcept
{
    auto const ends =
        reinterpret_cast<uintptr_t>(table) | reinterpret_cast<uintptr_t>(y) | static_cast<uintptr_t>(rowBytes);
    if (ends % kPackBytes == 0)
    {
        return gather<uint4>(stream, count, rowBytes / int64_t{kPackBytes}, tableRows, Moved{}, indices, table, y);
    }
    if (ends % sizeof(uint32_t) == 0)
    {
        return gather<uint32_t>(stream, count, rowBytes / 4, tableRows, Moved{}, indices, table, y);
    }
    if (ends % sizeof(uint16_t) == 0)
    {
        return gather<uint16_t>(stream, count, rowBytes / 2, tableRows, Moved{}, indices, table, y);
    }
    return gather<uint8_t>(stream, count, rowBytes, tableRows, Moved{}, indices, table, y);
}

} // namespace detail

//! Starts the kernel on a stream, which may be `tuned` (tuning.cuh), and returns at once; without elements it starts
//! nothing.
//!
//! Row i of y, of `count` rows of `rowBytes` bytes, becomes row indices[i] of the table; -1 is its last row. An index
//! that is not one of the table's rows gives zeros. Index is int32_t or int64_t.
template <typename Stream, typename Index>
cudaError_t launchGatherRows(Stream const& stream, int64_t count, int64_t rowBytes, int64_t tableRows,
                             Index const* indices, void const* table, void* y) noexcept
{
    if (count < 0 || rowBytes < 0 || tableRows < 0)
    {
        return cudaErrorInvalidValue;
    }
    if (count == 0 || rowBytes == 0)
    {
        return cudaSuccess; // a launch of no blocks is an error
    }
    return detail::gatherBytes(stream, count, rowBytes, tableRows, indices, table, y);
}

//! The same of rows of `columns` numbers: quantized elements are converted where the scales differ.
template <typename Stream, typename Index, typename T>
cudaError_t launchGatherRows(Stream const& stream, int64_t count, int64_t columns, int64_t tableRows,
                             Index const* indices, Output<T> y, Input<T> table) noexcept
{
    if constexpr (kScaled<T>)
    {
        if (count > 0 && columns > 0 && tableRows >= 0 && !detail::sameScale(y, table))
        {
            detail::Rescaled<T> const change{table.scale, y.inverse};
            if (columns % Pack<T>::kSize == 0 && canPack(y.data, table.data))
            {
                return detail::gather<uint4>(stream, count, columns / Pack<T>::kSize, tableRows, change, indices,
                                             table.data, y.data);
            }
            return detail::gather<T>(stream, count, columns, tableRows, change, indices, table.data, y.data);
        }
    }
    return launchGatherRows(stream, count, columns * static_cast<int64_t>(sizeof(T)), tableRows, indices,
                            static_cast<void const*>(table.data), static_cast<void*>(y.data));
}

} // namespace pluginkit::kernels
