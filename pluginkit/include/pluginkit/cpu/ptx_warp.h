//! Special registers and what lanes do together: for ptx.h.
#pragma once

#include <pluginkit/cpu/ptx_value.h>
#include <pluginkit/cpu/sync.h>

namespace pluginkit_cpu
{

inline namespace v2
{

namespace ptx
{

inline uint64_t special_laneid() noexcept
{
    return laneId();
}

inline uint64_t special_warpid() noexcept
{
    return (threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)) / warpSize;
}

inline uint64_t special_lanemask_eq() noexcept
{
    return 1U << laneId();
}

inline uint64_t special_lanemask_lt() noexcept
{
    return (1U << laneId()) - 1U;
}

inline uint64_t special_lanemask_le() noexcept
{
    return special_lanemask_lt() | special_lanemask_eq();
}

inline uint64_t special_lanemask_gt() noexcept
{
    return part(~special_lanemask_le(), 0, 32);
}

inline uint64_t special_lanemask_ge() noexcept
{
    return part(~special_lanemask_lt(), 0, 32);
}

inline uint64_t special_tid(int axis) noexcept
{
    return axis == 0 ? threadIdx.x : (axis == 1 ? threadIdx.y : threadIdx.z);
}

inline uint64_t special_ctaid(int axis) noexcept
{
    return axis == 0 ? blockIdx.x : (axis == 1 ? blockIdx.y : blockIdx.z);
}

inline uint64_t special_ntid(int axis) noexcept
{
    return axis == 0 ? blockDim.x : (axis == 1 ? blockDim.y : blockDim.z);
}

inline uint64_t special_nctaid(int axis) noexcept
{
    return axis == 0 ? gridDim.x : (axis == 1 ? gridDim.y : gridDim.z);
}

inline uint64_t special_nwarpid() noexcept
{
    return (blockDim.x * blockDim.y * blockDim.z + warpSize - 1) / warpSize;
}

// All blocks run on the first of the device's multiprocessors (runtime/device_table.cpp says how many it has); clusters
// are of one block.
#define PLUGINKIT_CPU_PTX_CONSTANT(name, value)                                                                        \
    inline uint64_t special_##name(int = 0) noexcept                                                                   \
    {                                                                                                                  \
        return value;                                                                                                  \
    }

PLUGINKIT_CPU_PTX_CONSTANT(smid, 0)
PLUGINKIT_CPU_PTX_CONSTANT(nsmid, 14)
PLUGINKIT_CPU_PTX_CONSTANT(gridid, 0)
PLUGINKIT_CPU_PTX_CONSTANT(envreg0, 0)
PLUGINKIT_CPU_PTX_CONSTANT(cluster_ctaid, 0)
PLUGINKIT_CPU_PTX_CONSTANT(cluster_nctaid, 1)
PLUGINKIT_CPU_PTX_CONSTANT(cluster_ctarank, 0)
PLUGINKIT_CPU_PTX_CONSTANT(cluster_nctarank, 1)
#undef PLUGINKIT_CPU_PTX_CONSTANT

// Where CUDA's cooperative_groups look for the launch's workspace.
inline uint64_t special_envreg1() noexcept
{
    return reinterpret_cast<uint64_t>(gridWorkspace()) >> 32;
}

inline uint64_t special_envreg2() noexcept
{
    return part(reinterpret_cast<uint64_t>(gridWorkspace()), 0, 32);
}

inline uint64_t special_clusterid(int axis) noexcept
{
    return special_ctaid(axis);
}

inline uint64_t special_nclusterid(int axis) noexcept
{
    return special_nctaid(axis);
}

inline uint64_t special_clock() noexcept
{
    return part(static_cast<uint64_t>(clock64()), 0, 32);
}

inline uint64_t special_clock64() noexcept
{
    return static_cast<uint64_t>(clock64());
}

inline uint64_t special_clock_hi() noexcept
{
    return static_cast<uint64_t>(clock64()) >> 32U;
}

inline uint64_t special_globaltimer() noexcept
{
    return special_clock64();
}

inline uint64_t special_globaltimer_lo() noexcept
{
    return special_clock();
}

inline uint64_t special_globaltimer_hi() noexcept
{
    return special_clock_hi();
}

inline uint64_t special_dynamic_smem_size() noexcept
{
    return dynamicSharedSize();
}

inline uint64_t special_total_smem_size() noexcept
{
    return totalSharedSize();
}

inline uint64_t activemask(PLUGINKIT_CPU_PLACE)
{
    return activeMask({file, line});
}

inline void bar(uint64_t id, PLUGINKIT_CPU_PLACE)
{
    blockBarrier(false, static_cast<unsigned int>(id), {file, line});
}

inline uint64_t barRed_popc(uint64_t id, uint64_t predicate, PLUGINKIT_CPU_PLACE)
{
    return static_cast<uint64_t>(blockBarrier((predicate & 1U) != 0, static_cast<unsigned int>(id), {file, line}));
}

inline uint64_t barRed_or(uint64_t id, uint64_t predicate, PLUGINKIT_CPU_PLACE)
{
    return barRed_popc(id, predicate, file, line) != 0 ? 1 : 0;
}

inline uint64_t barRed_and(uint64_t id, uint64_t predicate, PLUGINKIT_CPU_PLACE)
{
    return barRed_popc(id, predicate ^ 1U, file, line) == 0 ? 1 : 0;
}

inline void barWarp(uint64_t mask, PLUGINKIT_CPU_PLACE)
{
    warpMeet(static_cast<uint32_t>(mask), 0, false, "__syncwarp", {file, line});
}

inline uint64_t vote_ballot(uint64_t predicate, uint64_t mask, PLUGINKIT_CPU_PLACE)
{
    return warpMeet(static_cast<uint32_t>(mask), 0, (predicate & 1U) != 0, "vote.sync", {file, line}).predicates;
}

inline uint64_t vote_any(uint64_t predicate, uint64_t mask, PLUGINKIT_CPU_PLACE)
{
    return vote_ballot(predicate, mask, file, line) != 0 ? 1 : 0;
}

inline uint64_t vote_all(uint64_t predicate, uint64_t mask, PLUGINKIT_CPU_PLACE)
{
    return vote_ballot(predicate ^ 1U, mask, file, line) == 0 ? 1 : 0;
}

inline uint64_t vote_uni(uint64_t predicate, uint64_t mask, PLUGINKIT_CPU_PLACE)
{
    Lanes const& lanes = warpMeet(static_cast<uint32_t>(mask), 0, (predicate & 1U) != 0, "vote.sync", {file, line});
    return lanes.predicates == 0 || lanes.predicates == lanes.arrived ? 1 : 0;
}

//! What a lane got, and whether its source lay inside its segment, or its group was as asked.
struct Got
{
    uint64_t value;
    uint64_t inside;
};

//! The source lane by PTX's rule: `limits` has the segment's mask in bits 8 to 12 and the clamp in bits 0 to 4.
inline Got shuffled(uint64_t value, int source, bool inside, uint64_t mask, Place place)
{
    auto const word = static_cast<uint32_t>(value);
    return {shuffle(static_cast<uint32_t>(mask), word, source & 31, inside, "shfl.sync", place), inside ? 1U : 0U};
}

struct Segment
{
    explicit Segment(uint64_t limits) noexcept
    {
        auto const mask = static_cast<int>(limits >> 8U & 31U);
        auto const clamp = static_cast<int>(limits & 31U);
        lane = static_cast<int>(laneId());
        low = lane & mask;
        high = low | (clamp & ~mask);
    }

    int lane;
    int low;
    int high;
};

inline Got shfl_idx(uint64_t value, uint64_t index, uint64_t limits, uint64_t mask, PLUGINKIT_CPU_PLACE)
{
    Segment const segment{limits};
    auto const inner = static_cast<int>(~(limits >> 8U) & 31U);
    int const source = segment.low | (static_cast<int>(index & 31U) & inner);
    return shuffled(value, source, source <= segment.high, mask, {file, line});
}

inline Got shfl_up(uint64_t value, uint64_t delta, uint64_t limits, uint64_t mask, PLUGINKIT_CPU_PLACE)
{
    Segment const segment{limits};
    int const source = segment.lane - static_cast<int>(delta & 31U);
    return shuffled(value, source, source >= segment.high, mask, {file, line});
}

inline Got shfl_down(uint64_t value, uint64_t delta, uint64_t limits, uint64_t mask, PLUGINKIT_CPU_PLACE)
{
    Segment const segment{limits};
    int const source = segment.lane + static_cast<int>(delta & 31U);
    return shuffled(value, source, source <= segment.high, mask, {file, line});
}

inline Got shfl_bfly(uint64_t value, uint64_t other, uint64_t limits, uint64_t mask, PLUGINKIT_CPU_PLACE)
{
    Segment const segment{limits};
    int const source = segment.lane ^ static_cast<int>(other & 31U);
    return shuffled(value, source, source <= segment.high, mask, {file, line});
}

template <typename T>
Got match_any(uint64_t value, uint64_t mask, PLUGINKIT_CPU_PLACE)
{
    return {__match_any_sync(static_cast<uint32_t>(mask), from<T>(value), file, line), 1};
}

template <typename T>
Got match_all(uint64_t value, uint64_t mask, PLUGINKIT_CPU_PLACE)
{
    int same = 0;
    uint64_t const lanes = __match_all_sync(static_cast<uint32_t>(mask), from<T>(value), &same, file, line);
    return {lanes, static_cast<uint64_t>(same)};
}

#define PLUGINKIT_CPU_PTX_REDUX(name)                                                                                  \
    template <typename T>                                                                                              \
    uint64_t redux_##name(uint64_t value, uint64_t mask, PLUGINKIT_CPU_PLACE)                                          \
    {                                                                                                                  \
        return image(__reduce_##name##_sync(static_cast<uint32_t>(mask), from<T>(value), file, line));                 \
    }

PLUGINKIT_CPU_PTX_REDUX(add)
PLUGINKIT_CPU_PTX_REDUX(min)
PLUGINKIT_CPU_PTX_REDUX(max)
PLUGINKIT_CPU_PTX_REDUX(and)
PLUGINKIT_CPU_PTX_REDUX(or)
PLUGINKIT_CPU_PTX_REDUX(xor)
#undef PLUGINKIT_CPU_PTX_REDUX

} // namespace ptx

} // namespace v2

} // namespace pluginkit_cpu
