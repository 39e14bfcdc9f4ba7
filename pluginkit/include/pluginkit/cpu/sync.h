//! What makes the threads of a block or a warp wait for one another or hear of one another.
//!
//! Source of the semantics: CUDA C++ Programming Guide, "Synchronization Functions" and "Warp ... Functions".
#pragma once

#include <pluginkit/cpu/engine.h>

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <chrono>
#include <cstring>

namespace pluginkit_cpu
{

inline namespace v2
{

template <typename T>
uint64_t bitsOf(T const& value) noexcept
{
    static_assert(sizeof(T) <= sizeof(uint64_t), "a warp exchanges values of at most 8 bytes");
    uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof(T));
    return bits;
}

template <typename T>
T fromBits(uint64_t bits) noexcept
{
    T value;
    std::memcpy(static_cast<void*>(&value), &bits, sizeof(T));
    return value;
}

//! What this lane has from lane `source`; its own value if the source lies outside of its segment.
template <typename T>
T shuffle(uint32_t mask, T value, int source, bool inside, char const* operation, Place place)
{
    Lanes const& lanes = warpMeet(mask, bitsOf(value), false, operation, place);
    auto const lane = static_cast<unsigned int>(source) % warpSize;
    if (!inside)
    {
        return value;
    }
    if ((lanes.arrived >> lane & 1U) == 0)
    {
        readInactiveLane(operation, lane, place);
        return fromBits<T>(~uint64_t{0});
    }
    return fromBits<T>(lanes.values[lane]);
}

//! The first lane of this lane's segment of `width` lanes.
inline int segment(int width) noexcept
{
    return static_cast<int>(laneId()) & ~(width - 1);
}

//! Folds the values of the lanes that took part.
template <typename T, typename Fold>
T reduceLanes(uint32_t mask, T value, char const* operation, Place place, Fold fold)
{
    Lanes const& lanes = warpMeet(mask, bitsOf(value), false, operation, place);
    T result = value;
    bool first = true;
    for (int lane = 0; lane < warpSize; ++lane)
    {
        if ((lanes.arrived >> lane & 1U) != 0)
        {
            T const each = fromBits<T>(lanes.values[lane]);
            result = first ? each : fold(result, each);
            first = false;
        }
    }
    return result;
}

} // namespace v2

} // namespace pluginkit_cpu

inline void __syncthreads(PLUGINKIT_CPU_PLACE)
{
    pluginkit_cpu::syncThreads(file, line);
}

inline int __syncthreads_count(int predicate, PLUGINKIT_CPU_PLACE)
{
    return pluginkit_cpu::blockBarrier(predicate != 0, 0, {file, line});
}

inline int __syncthreads_or(int predicate, PLUGINKIT_CPU_PLACE)
{
    return pluginkit_cpu::blockBarrier(predicate != 0, 0, {file, line}) != 0 ? 1 : 0;
}

inline int __syncthreads_and(int predicate, PLUGINKIT_CPU_PLACE)
{
    return pluginkit_cpu::blockBarrier(predicate == 0, 0, {file, line}) == 0 ? 1 : 0;
}

inline void __barrier_sync(unsigned int id, PLUGINKIT_CPU_PLACE)
{
    pluginkit_cpu::blockBarrier(false, id, {file, line});
}

inline void __syncwarp(unsigned int mask = 0xFFFFFFFFU, PLUGINKIT_CPU_PLACE)
{
    pluginkit_cpu::warpMeet(mask, 0, false, "__syncwarp", {file, line});
}

inline unsigned int __activemask(PLUGINKIT_CPU_PLACE)
{
    return pluginkit_cpu::activeMask({file, line});
}

inline unsigned int __ballot_sync(unsigned int mask, int predicate, PLUGINKIT_CPU_PLACE)
{
    return pluginkit_cpu::warpMeet(mask, 0, predicate != 0, "__ballot_sync", {file, line}).predicates;
}

inline int __any_sync(unsigned int mask, int predicate, PLUGINKIT_CPU_PLACE)
{
    return pluginkit_cpu::warpMeet(mask, 0, predicate != 0, "__any_sync", {file, line}).predicates != 0 ? 1 : 0;
}

inline int __all_sync(unsigned int mask, int predicate, PLUGINKIT_CPU_PLACE)
{
    auto const& lanes = pluginkit_cpu::warpMeet(mask, 0, predicate != 0, "__all_sync", {file, line});
    return lanes.predicates == lanes.arrived ? 1 : 0;
}

inline int __uni_sync(unsigned int mask, int predicate, PLUGINKIT_CPU_PLACE)
{
    auto const& lanes = pluginkit_cpu::warpMeet(mask, 0, predicate != 0, "__uni_sync", {file, line});
    return lanes.predicates == lanes.arrived || lanes.predicates == 0 ? 1 : 0;
}

// Overloads, not templates: callers convert to these types, as with nvcc.
#define PLUGINKIT_CPU_SHUFFLES(T)                                                                                      \
    inline T __shfl_sync(unsigned int mask, T value, int source, int width = warpSize, PLUGINKIT_CPU_PLACE)            \
    {                                                                                                                  \
        int const from = pluginkit_cpu::segment(width) | (source & (width - 1));                                       \
        return pluginkit_cpu::shuffle(mask, value, from, true, "__shfl_sync", {file, line});                           \
    }                                                                                                                  \
    inline T __shfl_up_sync(unsigned int mask, T value, unsigned int delta, int width = warpSize, PLUGINKIT_CPU_PLACE) \
    {                                                                                                                  \
        int const from = static_cast<int>(pluginkit_cpu::laneId()) - static_cast<int>(delta);                          \
        bool const inside = from >= pluginkit_cpu::segment(width);                                                     \
        return pluginkit_cpu::shuffle(mask, value, from, inside, "__shfl_up_sync", {file, line});                      \
    }                                                                                                                  \
    inline T __shfl_down_sync(unsigned int mask, T value, unsigned int delta, int width = warpSize,                    \
                              PLUGINKIT_CPU_PLACE)                                                                     \
    {                                                                                                                  \
        int const from = static_cast<int>(pluginkit_cpu::laneId()) + static_cast<int>(delta);                          \
        bool const inside = from < pluginkit_cpu::segment(width) + width;                                              \
        return pluginkit_cpu::shuffle(mask, value, from, inside, "__shfl_down_sync", {file, line});                    \
    }                                                                                                                  \
    inline T __shfl_xor_sync(unsigned int mask, T value, int other, int width = warpSize, PLUGINKIT_CPU_PLACE)         \
    {                                                                                                                  \
        int const from = static_cast<int>(pluginkit_cpu::laneId()) ^ other;                                            \
        bool const inside = from < pluginkit_cpu::segment(width) + width;                                              \
        return pluginkit_cpu::shuffle(mask, value, from, inside, "__shfl_xor_sync", {file, line});                     \
    }

PLUGINKIT_CPU_SHUFFLES(int)
PLUGINKIT_CPU_SHUFFLES(unsigned int)
PLUGINKIT_CPU_SHUFFLES(long)
PLUGINKIT_CPU_SHUFFLES(unsigned long)
PLUGINKIT_CPU_SHUFFLES(long long)
PLUGINKIT_CPU_SHUFFLES(unsigned long long)
PLUGINKIT_CPU_SHUFFLES(float)
PLUGINKIT_CPU_SHUFFLES(double)
PLUGINKIT_CPU_SHUFFLES(__half)
PLUGINKIT_CPU_SHUFFLES(__half2)
PLUGINKIT_CPU_SHUFFLES(__nv_bfloat16)
PLUGINKIT_CPU_SHUFFLES(__nv_bfloat162)
#undef PLUGINKIT_CPU_SHUFFLES

template <typename T>
unsigned int __match_any_sync(unsigned int mask, T value, PLUGINKIT_CPU_PLACE)
{
    auto const lanes =
        pluginkit_cpu::warpMeet(mask, pluginkit_cpu::bitsOf(value), false, "__match_any_sync", {file, line});
    unsigned int same = 0;
    for (int lane = 0; lane < warpSize; ++lane)
    {
        bool const equal = lanes.values[lane] == pluginkit_cpu::bitsOf(value);
        same |= (lanes.arrived >> lane & 1U) != 0 && equal ? 1U << lane : 0U;
    }
    return same;
}

template <typename T>
unsigned int __match_all_sync(unsigned int mask, T value, int* predicate, PLUGINKIT_CPU_PLACE)
{
    auto const lanes =
        pluginkit_cpu::warpMeet(mask, pluginkit_cpu::bitsOf(value), false, "__match_all_sync", {file, line});
    bool same = true;
    for (int lane = 0; lane < warpSize; ++lane)
    {
        bool const here = (lanes.arrived >> lane & 1U) != 0;
        same = same && (!here || lanes.values[lane] == pluginkit_cpu::bitsOf(value));
    }
    *predicate = same ? 1 : 0;
    return same ? lanes.arrived : 0;
}

#define PLUGINKIT_CPU_REDUCE(name, T, expression)                                                                      \
    inline T name(unsigned int mask, T value, PLUGINKIT_CPU_PLACE)                                                     \
    {                                                                                                                  \
        return pluginkit_cpu::reduceLanes(mask, value, #name, {file, line}, [](T a, T b) { return expression; });      \
    }

PLUGINKIT_CPU_REDUCE(__reduce_add_sync, unsigned int, a + b)
PLUGINKIT_CPU_REDUCE(__reduce_add_sync, int,
                     static_cast<int>(static_cast<unsigned int>(a) + static_cast<unsigned int>(b)))
PLUGINKIT_CPU_REDUCE(__reduce_min_sync, unsigned int, b < a ? b : a)
PLUGINKIT_CPU_REDUCE(__reduce_min_sync, int, b < a ? b : a)
PLUGINKIT_CPU_REDUCE(__reduce_max_sync, unsigned int, a < b ? b : a)
PLUGINKIT_CPU_REDUCE(__reduce_max_sync, int, a < b ? b : a)
PLUGINKIT_CPU_REDUCE(__reduce_and_sync, unsigned int, a& b)
PLUGINKIT_CPU_REDUCE(__reduce_or_sync, unsigned int, a | b)
PLUGINKIT_CPU_REDUCE(__reduce_xor_sync, unsigned int, a ^ b)
#undef PLUGINKIT_CPU_REDUCE

inline void __threadfence()
{
    pluginkit_cpu::fence();
}

inline void __threadfence_block()
{
    pluginkit_cpu::fence();
}

inline void __threadfence_system()
{
    pluginkit_cpu::fence();
}

inline void __nanosleep(unsigned int /*nanoseconds*/)
{
    pluginkit_cpu::yield();
}

[[noreturn]] inline void __trap(PLUGINKIT_CPU_PLACE)
{
    pluginkit_cpu::trap("__trap()", {file, line});
}

inline void __brkpt() {}

inline void __prof_trigger(int /*counter*/) {}

//! Nanoseconds of the machine's steady clock stand for cycles.
inline long long clock64()
{
    return static_cast<long long>(std::chrono::steady_clock::now().time_since_epoch().count());
}

inline unsigned int __isShared(void const* pointer)
{
    return pluginkit_cpu::isShared(pointer) ? 1U : 0U;
}

inline unsigned int __isGlobal(void const* pointer)
{
    return pluginkit_cpu::isShared(pointer) ? 0U : 1U;
}

inline unsigned int __isConstant(void const* /*pointer*/)
{
    return 0;
}

inline unsigned int __isLocal(void const* /*pointer*/)
{
    return 0;
}

inline size_t __cvta_generic_to_shared(void const* pointer)
{
    return pluginkit_cpu::sharedOffset(pointer);
}

inline void* __cvta_shared_to_generic(size_t address)
{
    return pluginkit_cpu::sharedPointer(address);
}

#define PLUGINKIT_CPU_CVTA(space)                                                                                      \
    inline size_t __cvta_generic_to_##space(void const* pointer)                                                       \
    {                                                                                                                  \
        return reinterpret_cast<size_t>(pointer);                                                                      \
    }                                                                                                                  \
    inline void* __cvta_##space##_to_generic(size_t address)                                                           \
    {                                                                                                                  \
        return reinterpret_cast<void*>(address);                                                                       \
    }

PLUGINKIT_CPU_CVTA(global)
PLUGINKIT_CPU_CVTA(local)
PLUGINKIT_CPU_CVTA(constant)
#undef PLUGINKIT_CPU_CVTA
