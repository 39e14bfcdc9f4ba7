//! One launch of a kernel while it runs.
#pragma once

#include "schedule.h"

#include <pluginkit/cpu/kernel.h>

#include <atomic>
#include <vector>

namespace pluginkit_cpu
{

inline namespace v2
{

struct LaunchState
{
    char const* name;
    Configuration configuration;
    Work const& work;
    uint64_t blocks;
    Schedule schedule;
    bool alone;        //!< On one host thread: asked for, or in order to be repeatable.
    int64_t timeLimit; //!< Nanoseconds in which some thread must end.
    //! The numbers of the blocks that are run, where the others are left out; `blocks` is how many these are.
    std::vector<uint64_t> chosen;
    std::atomic<uint64_t> next{0};
    //! Where the blocks of a cooperative launch meet: its size, and a word that cooperative_groups counts in.
    uint32_t workspace[2]{sizeof(workspace), 0};
    //! Set when a thread did what ends a launch; no further block begins.
    std::atomic<cudaError_t> error{cudaSuccess};
};

//! The launches that follow have the random orders that they would have in a fresh process, so that a failure in one of
//! them comes again.
PLUGINKIT_CPU_HIDDEN void restartOrders() noexcept;

} // namespace v2

} // namespace pluginkit_cpu
