//! Scans of short rows of one-byte elements that aren't made of packs: a thread has neighbouring packs of memory,
//! wherever in them its row begins and ends; for scan.cuh.
#pragma once

#include <pluginkit/kernels/launch.cuh>
#include <pluginkit/kernels/scan_pieces.cuh>
#include <pluginkit/kernels/tensors.cuh>

#include <cstdint>

namespace pluginkit::kernels::detail
{

constexpr uint32_t kPackedThreads = 128; //!< of a block
constexpr int32_t kPackedEach = 2;       //!< packs of a thread

//! `lanes` threads of a warp have a row.
template <typename Operation, typename Out, typename In>
__global__ void __launch_bounds__(kPackedThreads)
    packedScanKernel(bool early, int64_t rows, int32_t columns, uint32_t lanes, Operation const operation,
                     Output<Out> const out, Input<In> const in)
{
    constexpr int32_t kSize = Pack<In>::kSize;
    int64_t const row = static_cast<int64_t>(blockIdx.x) * (kPackedThreads / lanes) + threadIdx.x / lanes;
    int64_t const begin = row * columns;
    auto const skipped = static_cast<int32_t>(begin % kSize);
    int32_t const at = static_cast<int32_t>(threadIdx.x % lanes) * kPackedEach;
    int64_t const first = begin / kSize + at;
    int32_t const from = at * kSize - skipped; // the column of the thread's first element
    int32_t const to = row < rows ? columns - from : 0;
    Elements<kSize, In> raw[kPackedEach] = {};
    waitForStream(early);
#pragma unroll
    for (int32_t p = 0; p < kPackedEach; ++p)
    {
        if (p * kSize < to)
        {
            raw[p].load(in, Chunk<kSize, false>{first + p, from + p * kSize, columns, row + 1 >= rows});
        }
    }
    float numbers[kPackedEach][kSize];
#pragma unroll
    for (int32_t p = 0; p < kPackedEach; ++p)
    {
        raw[p].unpack(in.scale, numbers[p]);
    }
#pragma unroll
    for (int32_t j = 0; j < kSize; ++j)
    {
        // What comes behind a row's end counts for nothing but itself, and isn't stored.
        numbers[0][j] = from + j < 0 ? Operation::kIdentity : numbers[0][j];
    }
    float total = Operation::kIdentity;
    float before[kPackedEach];
#pragma unroll
    for (int32_t p = 0; p < kPackedEach; ++p)
    {
        scanChunk(operation, numbers[p]);
        before[p] = total;
        total = p > 0 ? operation(total, numbers[p][kSize - 1]) : numbers[p][kSize - 1];
    }
    float const start = scanOfGroup(total, operation, threadIdx.x % lanes, lanes);
#pragma unroll
    for (int32_t p = 0; p < kPackedEach; ++p)
    {
        float const all = p > 0 ? operation(start, before[p]) : start;
#pragma unroll
        for (int32_t j = 0; j < kSize; ++j)
        {
            numbers[p][j] = operation(all, numbers[p][j]);
        }
        Pack<Out> pack;
        Conversion<Out>::pack(pack, numbers[p], out.inverse);
        int32_t const mine = to - p * kSize;
        if (from + p * kSize >= 0 && mine >= kSize)
        {
            storePack(out.data, first + p, pack);
        }
        else if (mine > 0)
        {
            Chunk<kSize, false> const chunk{first + p, from + p * kSize, columns};
            storeSome(out.data, first + p, pack, chunk.present());
        }
    }
}

//! False for rows that are scanned in another way: of other elements, made of packs, or of few or many elements.
template <typename Operation, typename Out, typename In>
bool launchPackedScan([[maybe_unused]] cudaStream_t stream, [[maybe_unused]] int64_t rows,
                      [[maybe_unused]] int64_t columns, [[maybe_unused]] Operation operation,
                      [[maybe_unused]] Output<Out> out, [[maybe_unused]] Input<In> in) noexcept
{
    if constexpr (sizeof(In) == 1 && sizeof(Out) == 1)
    {
        constexpr int32_t kSize = Pack<In>::kSize;
        constexpr int64_t kLeast = 33;
        int64_t const packs = chunksOf<kSize, false>(columns);
        if (columns < kLeast || columns % kSize == 0 || packs > kPackedEach * int64_t{kLanes})
        {
            return false;
        }
        uint32_t lanes = 8;
        while (packs > kPackedEach * int64_t{lanes})
        {
            lanes *= 2;
        }
        // Others are faster in another way: rows of words unless most of the threads' packs are the row's, the rest
        // unless many are.
        int64_t const least = columns % 4 == 0 ? 85 : 62; // percent
        if (100 * packs < least * lanes * kPackedEach)
        {
            return false;
        }
        int64_t const inBlock = kPackedThreads / lanes;
        launchEarlyIfFew(packedScanKernel<Operation, Out, In>, static_cast<uint32_t>((rows + inBlock - 1) / inBlock),
                         kPackedThreads, stream, rows, static_cast<int32_t>(columns), lanes, operation, out, in);
        return true;
    }
    return false;
}

} // namespace pluginkit::kernels::detail
