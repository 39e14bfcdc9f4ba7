//! Scans over the threads of a warp and of a block, and over a chunk; for scan.cuh.
#pragma once

#include <pluginkit/kernels/row_inputs.cuh>
#include <pluginkit/kernels/rows.cuh>

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

//! What comes before this thread's value in its group of so many neighbouring threads of a warp, of which it is `lane`.
template <typename Operation>
__device__ float scanOfGroup(float value, Operation operation, uint32_t lane, uint32_t lanes)
{
    float sum = value;
    for (uint32_t distance = 1; distance < lanes; distance *= 2)
    {
        float const other = __shfl_up_sync(kWholeWarp, sum, distance);
        sum = lane >= distance ? operation(other, sum) : sum;
    }
    float const before = __shfl_up_sync(kWholeWarp, sum, 1);
    return lane > 0 ? before : Operation::kIdentity;
}

//! A chunk's numbers; those of elements that aren't the row's are the operation's identity.
template <int32_t Size, bool Whole, typename Operation, typename In>
__device__ void loadForScan(Input<In> const& in, RowPlace<Size, Whole> const& place, int64_t at,
                            Operation /*operation*/, float (&numbers)[Size])
{
    auto const chunk = place.at(at);
    if (at < place.chunks)
    {
        loadOne(in, chunk, numbers);
        if (chunk.full())
        {
            return;
        }
    }
    uint32_t const present = at < place.chunks ? chunk.present() : 0;
#pragma unroll
    for (int32_t j = 0; j < Size; ++j)
    {
        bool const mine = isPresent(present, j);
        numbers[j] = mine ? numbers[j] : Operation::kIdentity;
    }
}

//! The operation over the first `count` of four numbers in shared memory.
template <typename Operation>
__device__ float foldFour(float const* numbers, uint32_t count, Operation operation)
{
    auto const four = *reinterpret_cast<float4 const*>(numbers);
    float const x = count > 0 ? four.x : Operation::kIdentity;
    float const y = count > 1 ? four.y : Operation::kIdentity;
    float const z = count > 2 ? four.z : Operation::kIdentity;
    float const w = count > 3 ? four.w : Operation::kIdentity;
    return operation(operation(x, y), operation(z, w));
}

constexpr uint32_t kMostTotals = 16; //!< of a block's warps

//! The operation over the first `count` of a block's totals in shared memory, at a multiple of 16 bytes; `most` of the
//! kMostTotals are totals, the others Operation::kIdentity. All 32 threads of the warp must call it.
template <typename Operation>
__device__ float foldBefore(float const* totals, uint32_t count, uint32_t most, Operation operation)
{
    if (most <= kMostTotals / 2)
    {
        // Loads of four take less time than exchanges of lanes, where few warps share the instructions' slots.
        float low = Operation::kIdentity;
        if (count > 0)
        {
            low = foldFour(totals, count, operation);
        }
        return count > 4 ? operation(low, foldFour(totals + 4, count - 4, operation)) : low;
    }
    uint32_t const lane = threadIdx.x % kMostTotals;
    float const mine = totals[lane];
    float result = lane < count ? mine : Operation::kIdentity;
#pragma unroll
    for (uint32_t distance = 1; distance < kMostTotals; distance *= 2)
    {
        float const other = __shfl_xor_sync(kWholeWarp, result, static_cast<int>(distance));
        result = (lane & distance) == 0 ? operation(result, other) : operation(other, result);
    }
    return result;
}

template <int32_t Size, typename Operation>
__device__ void scanChunk(Operation operation, float (&numbers)[Size])
{
#pragma unroll
    for (int32_t j = 1; j < Size; ++j)
    {
        numbers[j] = operation(numbers[j - 1], numbers[j]);
    }
}

template <int32_t Size, bool Whole, typename Operation, typename Out>
__device__ void storeScanned(Output<Out> const& out, RowPlace<Size, Whole> const& place, int64_t at,
                             Operation operation, float start, float (&numbers)[Size])
{
    if (at < place.chunks)
    {
#pragma unroll
        for (int32_t j = 0; j < Size; ++j)
        {
            numbers[j] = operation(start, numbers[j]);
        }
        storeOne(out, place.at(at), numbers);
    }
}

} // namespace detail

} // namespace pluginkit::kernels
