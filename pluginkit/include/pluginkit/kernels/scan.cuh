//! Running sums and the like along each row of a matrix, at the speed of the memory: element i of a row's result is the
//! operation over elements 0 to i.
//!
//!     kernels::launchScan(stream, rows, columns, kernels::Sum{}, kernels::output<__half>(y),
//!     kernels::input<__half>(x));
#pragma once

#include <pluginkit/kernels/row_inputs.cuh>
#include <pluginkit/kernels/rows.cuh>
#include <pluginkit/kernels/tensors.cuh>
#include <pluginkit/kernels/tuning.cuh>

#include <algorithm>
#include <cstdint>

namespace pluginkit::kernels
{

//! What comes before this thread's value in its group of Lanes neighbouring threads: `operation` over the values of the
//! group's threads below. `total` is that of all in the group. All 32 threads of the warp must call it.
template <uint32_t Lanes, typename Operation>
__device__ float warpScan(float value, Operation operation, float& total)
{
    uint32_t const lane = threadIdx.x % Lanes;
    float sum = value;
#pragma unroll
    for (uint32_t distance = 1; distance < Lanes; distance *= 2)
    {
        float const other = __shfl_up_sync(kWholeWarp, sum, distance, static_cast<int>(Lanes));
        sum = lane >= distance ? operation(other, sum) : sum;
    }
    total = __shfl_sync(kWholeWarp, sum, static_cast<int>(Lanes - 1), static_cast<int>(Lanes));
    float const before = __shfl_up_sync(kWholeWarp, sum, 1, static_cast<int>(Lanes));
    return lane > 0 ? before : Operation::kIdentity;
}

//! The same in a block of one dimension, a multiple of 32 threads, all of which must call it. `scratch` is shared
//! memory of `kWarps` floats; it may be used again at once.
template <typename Operation>
__device__ float blockScan(float value, Operation operation, float* scratch, float& total)
{
    uint32_t const lane = threadIdx.x % kLanes;
    uint32_t const warp = threadIdx.x / kLanes;
    uint32_t const warps = blockDim.x / kLanes;
    float ofWarp = 0.0F;
    float const before = warpScan<kLanes>(value, operation, ofWarp);
    if (lane == 0)
    {
        scratch[warp] = ofWarp;
    }
    __syncthreads();
    float const mine = lane < warps ? scratch[lane] : Operation::kIdentity;
    float const beforeWarps = warpScan<kLanes>(mine, operation, total);
    float const start = __shfl_sync(kWholeWarp, beforeWarps, static_cast<int>(warp));
    __syncthreads(); // nobody writes to scratch again before all have read it
    return operation(start, before);
}

namespace detail
{

constexpr int32_t kMostScanThreads = 512; //!< of a block

//! A group scans its row in turns of a chunk a thread: what the turns before gave is carried on. Elements of a chunk
//! that are of other rows count as none.
template <int32_t Size, bool Whole, uint32_t Lanes, bool Block, typename Operation, typename Out, typename In>
__global__ void __launch_bounds__(kMostScanThreads)
    scanKernel(int64_t rows, int64_t columns, Operation const operation, Output<Out> const out, Input<In> const in)
{
    __shared__ float scratch[kWarps];
    uint32_t const threads = Block ? blockDim.x : Lanes;
    uint32_t const thread = Block ? threadIdx.x : threadIdx.x % Lanes;
    int64_t const row =
        Block ? blockIdx.x : static_cast<int64_t>(blockIdx.x) * (blockDim.x / Lanes) + threadIdx.x / Lanes;
    auto const place = placeOfRow<Size, Whole>(row, rows, columns);
    int64_t const most = Whole ? columns / Size : (columns + Size - 2) / Size + 1;
    float carried = Operation::kIdentity;
    // Every thread takes as many turns as each other row's could, or it would miss exchanges of its warp.
    for (int64_t begin = 0; begin < most; begin += threads)
    {
        bool const has = begin + thread < place.chunks;
        auto const chunk = place.at(begin + thread);
        float numbers[Size];
#pragma unroll
        for (int32_t j = 0; j < Size; ++j)
        {
            numbers[j] = Operation::kIdentity;
        }
        if (has)
        {
            loadOne(in, chunk, numbers);
            if (!chunk.full())
            {
#pragma unroll
                for (int32_t j = 0; j < Size; ++j)
                {
                    numbers[j] = chunk.has(j) ? numbers[j] : Operation::kIdentity;
                }
            }
        }
#pragma unroll
        for (int32_t j = 1; j < Size; ++j)
        {
            numbers[j] = operation(numbers[j - 1], numbers[j]);
        }
        float total = 0.0F;
        float before = 0.0F;
        if constexpr (Block)
        {
            before = blockScan(numbers[Size - 1], operation, scratch, total);
        }
        else
        {
            before = warpScan<Lanes>(numbers[Size - 1], operation, total);
        }
        before = operation(carried, before);
        carried = operation(carried, total);
        if (has)
        {
#pragma unroll
            for (int32_t j = 0; j < Size; ++j)
            {
                numbers[j] = operation(before, numbers[j]);
            }
            storeOne(out, chunk, numbers);
        }
    }
}

template <typename Values, int32_t Size, bool Whole, uint32_t Lanes, typename Operation, typename Out, typename In>
void launchShortScan(cudaStream_t stream, int64_t rows, int64_t columns, Operation operation, Output<Out> out,
                     Input<In> in) noexcept
{
    constexpr uint32_t kThreads = Values::kThreads > 0 ? std::min(Values::kThreads, kMostScanThreads) : 256;
    constexpr int64_t kInBlock = kThreads / Lanes;
    scanKernel<Size, Whole, Lanes, false>
        <<<static_cast<uint32_t>((rows + kInBlock - 1) / kInBlock), kThreads, 0, stream>>>(rows, columns, operation,
                                                                                           out, in);
}

template <typename Values, int32_t Size, bool Whole, typename Operation, typename Out, typename In>
void launchScanOf(cudaStream_t stream, int64_t rows, int64_t columns, Operation operation, Output<Out> out,
                  Input<In> in) noexcept
{
    int64_t const chunks = Whole ? columns / Size : (columns + Size - 2) / Size + 1;
    if (chunks <= 2 && Whole)
    {
        launchShortScan<Values, Size, Whole, 2>(stream, rows, columns, operation, out, in);
    }
    else if (chunks <= 4 && Whole)
    {
        launchShortScan<Values, Size, Whole, 4>(stream, rows, columns, operation, out, in);
    }
    else if (chunks <= 8)
    {
        launchShortScan<Values, Size, Whole, 8>(stream, rows, columns, operation, out, in);
    }
    else if (chunks <= 16 && Whole)
    {
        launchShortScan<Values, Size, Whole, 16>(stream, rows, columns, operation, out, in);
    }
    else if (chunks <= kLanes)
    {
        launchShortScan<Values, Size, Whole, kLanes>(stream, rows, columns, operation, out, in);
    }
    else
    {
        constexpr int64_t kMost =
            Values::kThreads > 0 ? std::min(Values::kThreads, kMostScanThreads) : kMostScanThreads;
        auto const threads = static_cast<uint32_t>(std::min((chunks + kLanes - 1) / kLanes * kLanes, kMost));
        scanKernel<Size, Whole, kLanes, true>
            <<<static_cast<uint32_t>(rows), threads, 0, stream>>>(rows, columns, operation, out, in);
    }
}

} // namespace detail

//! Starts the kernel on a stream, which may be `tuned` (tuning.cuh), and returns at once; without elements it starts
//! nothing.
//!
//! `operation(a, b)` is associative, and `kIdentity` the number that changes no other one: Sum, Max (rows.cuh), or one
//! of your own. The output may be the input. What is summed up stays a float until it is written.
template <typename Stream, typename Operation, typename Out, typename In>
cudaError_t launchScan(Stream const& stream, int64_t rows, int64_t columns, Operation operation, Output<Out> out,
                       Input<In> in) noexcept
{
    if (rows < 0 || columns < 0 || rows > 0x7FFFFFFF)
    {
        return cudaErrorInvalidValue;
    }
    if (rows == 0 || columns == 0)
    {
        return cudaSuccess; // a launch of no blocks would be an error
    }
    return launchWith(stream,
                      [&](cudaStream_t on, auto values)
                      {
                          using Values = decltype(values);
                          constexpr int32_t kSize = detail::largest(Output<Out>::kSize, Input<In>::kSize);
                          bool const packed = canPack(out.data, in.data);
                          if (packed && columns % kSize == 0)
                          {
                              detail::launchScanOf<Values, kSize, true>(on, rows, columns, operation, out, in);
                          }
                          else if (packed && columns > kSize)
                          {
                              detail::launchScanOf<Values, kSize, false>(on, rows, columns, operation, out, in);
                          }
                          else
                          {
                              detail::launchScanOf<Values, 1, true>(on, rows, columns, operation, out, in);
                          }
                          return cudaGetLastError();
                      });
}

} // namespace pluginkit::kernels
