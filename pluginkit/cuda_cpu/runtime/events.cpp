//! Events: since streams do their work at once, an event is the time at which it was recorded.

#include "state.h"

#include <chrono>
#include <new>

namespace
{

using Clock = std::chrono::steady_clock;

//! What a cudaEvent_t points to.
struct Event
{
    bool timed;
    bool recorded;
    Clock::time_point time;
};

Event* at(cudaEvent_t event) noexcept
{
    return reinterpret_cast<Event*>(event);
}

} // namespace

using pluginkit_cpu::failed;

extern "C"
{

    PLUGINKIT_CPU_HIDDEN cudaError_t pluginkit_cpu_v2_cudaEventCreateWithFlags(cudaEvent_t* event, unsigned int flags)
    {
        if (event == nullptr)
        {
            return failed(cudaErrorInvalidValue);
        }
        auto* const made = new (std::nothrow) Event{(flags & cudaEventDisableTiming) == 0, false, {}};
        *event = reinterpret_cast<cudaEvent_t>(made);
        return failed(made == nullptr ? cudaErrorMemoryAllocation : cudaSuccess);
    }

    PLUGINKIT_CPU_HIDDEN cudaError_t pluginkit_cpu_v2_cudaEventCreate(cudaEvent_t* event)
    {
        return pluginkit_cpu_v2_cudaEventCreateWithFlags(event, cudaEventDefault);
    }

    PLUGINKIT_CPU_HIDDEN cudaError_t pluginkit_cpu_v2_cudaEventRecord(cudaEvent_t event, cudaStream_t /*stream*/)
    {
        if (event == nullptr)
        {
            return failed(cudaErrorInvalidResourceHandle);
        }
        at(event)->recorded = true;
        at(event)->time = Clock::now();
        return cudaSuccess;
    }

    PLUGINKIT_CPU_HIDDEN cudaError_t pluginkit_cpu_v2_cudaEventSynchronize(cudaEvent_t event)
    {
        return failed(event == nullptr ? cudaErrorInvalidResourceHandle : cudaSuccess);
    }

    PLUGINKIT_CPU_HIDDEN cudaError_t pluginkit_cpu_v2_cudaEventQuery(cudaEvent_t event)
    {
        return pluginkit_cpu_v2_cudaEventSynchronize(event);
    }

    PLUGINKIT_CPU_HIDDEN cudaError_t pluginkit_cpu_v2_cudaEventElapsedTime(float* milliseconds, cudaEvent_t from,
                                                                           cudaEvent_t to)
    {
        if (milliseconds == nullptr)
        {
            return failed(cudaErrorInvalidValue);
        }
        auto const usable = [](cudaEvent_t event)
        { return event != nullptr && at(event)->recorded && at(event)->timed; };
        if (!usable(from) || !usable(to))
        {
            return failed(cudaErrorInvalidResourceHandle);
        }
        *milliseconds = std::chrono::duration<float, std::milli>(at(to)->time - at(from)->time).count();
        return cudaSuccess;
    }

    PLUGINKIT_CPU_HIDDEN cudaError_t pluginkit_cpu_v2_cudaEventDestroy(cudaEvent_t event)
    {
        delete at(event);
        return cudaSuccess;
    }

} // extern "C"
