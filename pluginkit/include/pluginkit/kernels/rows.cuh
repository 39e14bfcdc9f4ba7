//! Sums, maxima and the like of a row: over a warp's threads, or a block's.
//!
//!     __shared__ float scratch[kernels::kWarps];
//!     float const sum = kernels::blockReduce(mine, kernels::Sum{}, scratch);   // in every thread
#pragma once

#include <cuda_runtime.h>

#include <cmath>
#include <cstdint>
#include <type_traits>

namespace pluginkit::kernels
{

constexpr uint32_t kLanes = 32;
constexpr uint32_t kWarps = 32; //!< of the largest block
constexpr uint32_t kWholeWarp = 0xFFFFFFFFU;

struct Sum
{
    static constexpr float kIdentity = 0.0F; //!< changes no other number

    __device__ float operator()(float a, float b) const
    {
        return a + b;
    }
};

//! The larger of two; a NaN loses against a number, as in fmaxf.
struct Max
{
    static constexpr float kIdentity = -INFINITY;

    __device__ float operator()(float a, float b) const
    {
        return fmaxf(a, b);
    }
};

#ifdef PLUGINKIT_TARGET_CPU
//! The values of all 32 lanes from one meeting: on target cpu lanes wait for one another in each exchange, which takes
//! ten times as long as to fold the values. False where lanes are missing, of which an exchange reports each that it
//! reads.
inline bool valuesOfWarp(float value, char const* operation, float (&values)[kLanes], PLUGINKIT_CPU_PLACE)
{
    auto const& lanes =
        pluginkit_cpu::warpMeet(kWholeWarp, pluginkit_cpu::bitsOf(value), false, operation, {file, line});
    for (uint32_t lane = 0; lane < kLanes; ++lane)
    {
        values[lane] = pluginkit_cpu::fromBits<float>(lanes.values[lane]);
    }
    return lanes.arrived == kWholeWarp;
}
#endif

namespace detail
{

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
//! Max over a warp by the instruction for integers, which takes less than half of the time of five exchanges: floats
//! are in the order of integers once all bits of negative ones but the sign are inverted. NaN is the least.
inline __device__ float maxOfWarp(float value)
{
    constexpr int32_t kAllButSign = 0x7FFFFFFF;
    int32_t const bits = __float_as_int(value);
    int32_t const ordered = value == value ? bits ^ (bits >> 31 & kAllButSign) : -kAllButSign - 1;
    int32_t const most = __reduce_max_sync(kWholeWarp, ordered);
    return __int_as_float(most ^ (most >> 31 & kAllButSign));
}
#endif

} // namespace detail

//! Over groups of Lanes neighbouring threads of a warp (a power of two; the whole warp, if left out). All 32 threads of
//! the warp must call it; each gets its group's result.
template <uint32_t Lanes = kLanes, typename Operation>
__device__ float warpReduce(float value, Operation operation)
{
    static_assert(Lanes > 0 && Lanes <= kLanes && (Lanes & (Lanes - 1)) == 0, "a power of two, at most 32");
#ifdef PLUGINKIT_TARGET_CPU
    if (float values[kLanes]; valuesOfWarp(value, "__shfl_xor_sync", values))
    {
        // In the order of the exchanges below: folded[i] is what the lane has whose number is this one's xor i.
        uint32_t const lane = pluginkit_cpu::laneId();
        float folded[Lanes];
        for (uint32_t i = 0; i < Lanes; ++i)
        {
            folded[i] = values[lane ^ i];
        }
        for (uint32_t distance = Lanes / 2; distance > 0; distance /= 2)
        {
            for (uint32_t i = 0; i < distance; ++i)
            {
                folded[i] = operation(folded[i], folded[i + distance]);
            }
        }
        return folded[0];
    }
#endif
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    if constexpr (Lanes == kLanes && std::is_same_v<Operation, Max>)
    {
        return detail::maxOfWarp(value);
    }
#endif
    constexpr bool kPairs = Lanes == kLanes;
    uint32_t distance = Lanes / 2;
    if constexpr (kPairs)
    {
        // Two steps at once: three exchanges that don't wait for one another take little longer than one.
        for (; distance > 1; distance /= 4)
        {
            auto const at = static_cast<int>(distance);
            float const first = __shfl_xor_sync(kWholeWarp, value, at);
            float const second = __shfl_xor_sync(kWholeWarp, value, at / 2);
            float const both = __shfl_xor_sync(kWholeWarp, value, at + at / 2);
            value = operation(operation(value, first), operation(second, both));
        }
    }
#pragma unroll
    for (; distance > 0; distance /= 2)
    {
        value = operation(value, __shfl_xor_sync(kWholeWarp, value, static_cast<int>(distance)));
    }
    return value;
}

//! Of the first `count` threads of a warp, of which there is at least one; all 32 must call it, and each gets the
//! result.
template <typename Operation>
__device__ float foldFirst(float value, uint32_t count, Operation operation)
{
#ifdef PLUGINKIT_TARGET_CPU
    if (float values[kLanes]; valuesOfWarp(value, "__shfl_down_sync", values))
    {
        for (uint32_t distance = kLanes / 2; distance > 0; distance /= 2)
        {
            for (uint32_t i = 0; i < distance && i + distance < count; ++i)
            {
                values[i] = operation(values[i], values[i + distance]);
            }
        }
        return values[0];
    }
#endif
    uint32_t const lane = threadIdx.x % kLanes;
    for (uint32_t distance = kLanes / 2; distance > 0; distance /= 2)
    {
        float const other = __shfl_down_sync(kWholeWarp, value, distance);
        value = lane + distance < count ? operation(value, other) : value;
    }
    return __shfl_sync(kWholeWarp, value, 0);
}

//! Over all threads of a block, all of which must call it; each gets the result. The block has one dimension, a
//! multiple of 32 threads. `scratch` is shared memory of `kWarps` floats; it may be used again at once.
template <typename Operation>
__device__ float blockReduce(float value, Operation operation, float* scratch)
{
    value = warpReduce(value, operation);
    uint32_t const lane = threadIdx.x % kLanes;
    uint32_t const warp = threadIdx.x / kLanes;
    uint32_t const warps = blockDim.x / kLanes;
    if (lane == 0)
    {
        scratch[warp] = value;
    }
    __syncthreads();
    // Every warp does the same, which saves a second exchange. What lanes behind the last warp have counts for nothing.
    float result = scratch[lane < warps ? lane : 0];
    result = foldFirst(result, warps, operation);
    __syncthreads(); // nobody writes to scratch again before all have read it
    return result;
}

namespace detail
{

//! The sum of this lane's number and of those before it in its warp.
inline __device__ int32_t warpCount(int32_t number)
{
    auto const lane = static_cast<int32_t>(threadIdx.x % kLanes);
#pragma unroll
    for (uint32_t distance = 1; distance < kLanes; distance *= 2)
    {
        int32_t const other = __shfl_up_sync(kWholeWarp, number, distance);
        number += lane >= static_cast<int32_t>(distance) ? other : 0;
    }
    return number;
}

//! The sum over a warp, in each lane.
inline __device__ int32_t sumOfWarp(int32_t number)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
    return __shfl_sync(kWholeWarp, warpCount(number), static_cast<int>(kLanes) - 1);
#else
    return __reduce_add_sync(kWholeWarp, number);
#endif
}

} // namespace detail

} // namespace pluginkit::kernels
