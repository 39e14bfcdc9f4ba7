//! Scans of short rows of one-byte elements that are made of words, by way of shared memory; for scan.cuh.
#pragma once

#include <pluginkit/kernels/scan_pieces.cuh>
#include <pluginkit/kernels/staged.cuh>
#include <pluginkit/kernels/tensors.cuh>

#include <cstddef>
#include <cstdint>

namespace pluginkit::kernels::detail
{

constexpr uint32_t kWordScanThreads = 128; //!< of a block

//! A warp has as many rows as it has groups of `lanes` threads, and a thread Words neighbouring words: an odd number,
//! so that threads side by side read different banks of shared memory. Results take the elements' place there.
template <int32_t Words, typename Operation, typename Out, typename In>
__global__ void __launch_bounds__(kWordScanThreads)
    wordScanKernel(int64_t rows, int32_t columns, uint32_t lanes, Operation const operation, Output<Out> const out,
                   Input<In> const in)
{
    extern __shared__ uint4 pluginkitStaged[];
    uint32_t const inWarp = kLanes / lanes;
    int64_t const inBlock = static_cast<int64_t>(kWordScanThreads / kLanes) * inWarp;
    int64_t const first = blockIdx.x * inBlock;
    int64_t const some = rows - first < inBlock ? rows - first : inBlock;
    int64_t const begin = first * columns;
    int64_t const end = begin + some * columns;
    Part<In> const part{begin, end, rows * columns};
    part.load(in.data, pluginkitStaged);
    __syncthreads();
    uint32_t const group = threadIdx.x % kLanes / lanes;
    uint32_t const lane = threadIdx.x % kLanes - group * lanes;
    auto const row = static_cast<int32_t>(threadIdx.x / kLanes * inWarp + group);
    auto const from = static_cast<int32_t>(lane) * Words;
    int32_t const mine = group < inWarp && row < some ? columns / 4 - from : 0; // words
    auto* const words =
        reinterpret_cast<uint32_t*>(pluginkitStaged) + (mine > 0 ? (part.offset() + row * columns) / 4 + from : 0);
    float numbers[4 * Words];
#pragma unroll
    for (int32_t w = 0; w < Words; ++w)
    {
        Pack<In> const pack{{w < mine ? words[w] : 0, 0, 0, 0}};
        unpackNumbers<4>(&pack, in.scale, numbers + 4 * w);
    }
    scanChunk(operation, numbers);
    float const before = scanOfGroup(numbers[4 * Words - 1], operation, lane, lanes);
#pragma unroll
    for (int32_t w = 0; w < Words; ++w)
    {
        float four[Pack<Out>::kSize] = {};
#pragma unroll
        for (int32_t j = 0; j < 4; ++j)
        {
            four[j] = operation(before, numbers[4 * w + j]);
        }
        Pack<Out> pack;
        Conversion<Out>::pack(pack, four, out.inverse);
        if (w < mine)
        {
            words[w] = pack.words[0];
        }
    }
    __syncthreads();
    Part<Out>{begin, end, rows * columns}.store(out.data, pluginkitStaged);
}

//! A thread has a row, and goes along it.
template <typename Operation, typename Out, typename In>
__global__ void __launch_bounds__(kWordScanThreads)
    threadScanKernel(int64_t rows, int32_t columns, Operation const operation, Output<Out> const out,
                     Input<In> const in)
{
    extern __shared__ uint4 pluginkitStaged[];
    int64_t const first = blockIdx.x * int64_t{kWordScanThreads};
    int64_t const some = rows - first < kWordScanThreads ? rows - first : kWordScanThreads;
    int64_t const begin = first * columns;
    int64_t const end = begin + some * columns;
    Part<In> const part{begin, end, rows * columns};
    part.load(in.data, pluginkitStaged);
    __syncthreads();
    auto const row = static_cast<int32_t>(threadIdx.x);
    int32_t const mine = row < some ? columns / 4 : 0; // words
    auto* const words = reinterpret_cast<uint32_t*>(pluginkitStaged) + (part.offset() + row * columns) / 4;
    float before = Operation::kIdentity;
#pragma unroll 5
    for (int32_t w = 0; w < mine; ++w)
    {
        Pack<In> const elements{{words[w], 0, 0, 0}};
        float numbers[Pack<Out>::kSize] = {};
        unpackNumbers<4>(&elements, in.scale, numbers);
#pragma unroll
        for (int32_t j = 0; j < 4; ++j)
        {
            before = operation(before, numbers[j]);
            numbers[j] = before;
        }
        Pack<Out> pack;
        Conversion<Out>::pack(pack, numbers, out.inverse);
        words[w] = pack.words[0];
    }
    __syncthreads();
    Part<Out>{begin, end, rows * columns}.store(out.data, pluginkitStaged);
}

template <int32_t Words, typename Operation, typename Out, typename In>
void launchWordScanOf(cudaStream_t stream, int64_t rows, int64_t columns, Operation operation, Output<Out> out,
                      Input<In> in) noexcept
{
    int64_t const lanes = (columns / 4 + Words - 1) / Words;
    int64_t const inBlock = kWordScanThreads / kLanes * (kLanes / lanes);
    auto const bytes = static_cast<size_t>(inBlock * columns) + 2 * kPackBytes;
    auto const blocks = static_cast<uint32_t>((rows + inBlock - 1) / inBlock);
    wordScanKernel<Words><<<blocks, kWordScanThreads, bytes / kPackBytes * kPackBytes, stream>>>(
        rows, static_cast<int32_t>(columns), static_cast<uint32_t>(lanes), operation, out, in);
}

//! False for rows that aren't made of words, or are of very few elements or more than a warp can have.
template <typename Operation, typename Out, typename In>
bool launchWordScan([[maybe_unused]] cudaStream_t stream, [[maybe_unused]] int64_t rows,
                    [[maybe_unused]] int64_t columns, [[maybe_unused]] Operation operation,
                    [[maybe_unused]] Output<Out> out, [[maybe_unused]] Input<In> in) noexcept
{
    if constexpr (sizeof(In) == 1 && sizeof(Out) == 1)
    {
        constexpr int64_t kLeast = 33;
        constexpr int64_t kMost = int64_t{9} * 4 * kLanes;
        constexpr int64_t kShort = 256;
        constexpr int64_t kManyRows = 1 << 16; // so that threads with a row each fill the GPU
        if (columns % 4 != 0 || columns < kLeast || columns > kMost)
        {
            return false;
        }
        if (columns <= kShort && rows >= kManyRows)
        {
            auto const bytes = static_cast<size_t>(kWordScanThreads * columns) + 2 * kPackBytes;
            auto const blocks = static_cast<uint32_t>((rows + kWordScanThreads - 1) / kWordScanThreads);
            threadScanKernel<<<blocks, kWordScanThreads, bytes / kPackBytes * kPackBytes, stream>>>(
                rows, static_cast<int32_t>(columns), operation, out, in);
            return true;
        }
        // A warp's instructions a row: so many are a word's, and so many a thread's.
        constexpr int64_t kOfWord = 36;
        constexpr int64_t kOfThread = 200;
        auto const cost = [&](int64_t each)
        {
            int64_t const inWarp = kLanes / ((columns / 4 + each - 1) / each);
            return inWarp > 0 ? (kOfWord * each + kOfThread) * kLanes / inWarp : INT64_MAX;
        };
        cost(5) < cost(9) ? launchWordScanOf<5>(stream, rows, columns, operation, out, in)
                          : launchWordScanOf<9>(stream, rows, columns, operation, out, in);
        return true;
    }
    return false;
}

} // namespace pluginkit::kernels::detail
