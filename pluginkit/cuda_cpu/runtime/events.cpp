//! Events: the place of their recording in a stream's work, and the time at which it came to pass.

#include "streams.h"

#include "findings.h"
#include "objects.h"

#include <algorithm>

namespace pluginkit_cpu
{

inline namespace v2
{

namespace
{

uintptr_t nameOf(cudaEvent_t event) noexcept
{
    return reinterpret_cast<uintptr_t>(event);
}

} // namespace

cudaError_t Streams::createEvent(cudaEvent_t& event, unsigned int flags)
{
    constexpr unsigned int known = cudaEventBlockingSync | cudaEventDisableTiming | cudaEventInterprocess;
    bool const shared = (flags & cudaEventInterprocess) != 0;
    if ((flags & ~known) != 0 || (shared && (flags & cudaEventDisableTiming) == 0))
    {
        return cudaErrorInvalidValue;
    }
    Lock const lock{mMutex};
    uintptr_t const name = mHandles.next();
    mEvents[name] = EventState{flags, 0, {}, 0, {}};
    event = reinterpret_cast<cudaEvent_t>(name);
    return cudaSuccess;
}

cudaError_t Streams::destroyEvent(cudaEvent_t event)
{
    Lock const lock{mMutex};
    return mEvents.erase(nameOf(event)) == 1 ? cudaSuccess : cudaErrorInvalidResourceHandle;
}

cudaError_t Streams::record(cudaEvent_t event, cudaStream_t stream)
{
    Lock lock{mMutex};
    auto const found = mEvents.find(nameOf(event));
    StreamState* const on = find(stream);
    if (found == mEvents.end() || on == nullptr)
    {
        return cudaErrorInvalidResourceHandle;
    }
    if (mInEnqueue)
    {
        refresh(*on);
        found->second.enqueueNumber = mEnqueue;
        found->second.knows = on->knows;
    }
    Number const number = mLast + 1; // what add() gives it
    found->second.record = number;
    auto work = [this, event, number]
    {
        Lock const inner{mMutex};
        auto const at = mEvents.find(nameOf(event));
        if (at != mEvents.end() && at->second.record == number) // else destroyed, or recorded again since
        {
            at->second.time = Clock::now();
        }
    };
    add(lock, *on, Piece{std::move(work), Side::kRelease, {}});
    return cudaSuccess;
}

cudaError_t Streams::wait(cudaStream_t stream, cudaEvent_t event)
{
    Lock lock{mMutex};
    auto const found = mEvents.find(nameOf(event));
    StreamState* const on = find(stream);
    if (found == mEvents.end() || on == nullptr)
    {
        return cudaErrorInvalidResourceHandle;
    }
    if (mInEnqueue && found->second.enqueueNumber == mEnqueue)
    {
        refresh(*on);
        for (auto const& [identity, amount] : found->second.knows)
        {
            uint64_t& known = on->knows[identity];
            known = std::max(known, amount);
        }
    }
    if (mPending.count(found->second.record) != 0)
    {
        add(lock, *on, Piece{{}, Side::kRelease, {found->second.record}});
    }
    return cudaSuccess;
}

cudaError_t Streams::queryEvent(cudaEvent_t event)
{
    Number number = 0;
    {
        Lock const lock{mMutex};
        auto const found = mEvents.find(nameOf(event));
        if (found == mEvents.end())
        {
            return cudaErrorInvalidResourceHandle;
        }
        number = found->second.record;
    }
    return progress(number);
}

cudaError_t Streams::synchronizeEvent(cudaEvent_t event)
{
    Number number = 0;
    {
        Lock const lock{mMutex};
        auto const found = mEvents.find(nameOf(event));
        if (found == mEvents.end())
        {
            return cudaErrorInvalidResourceHandle;
        }
        number = found->second.record;
    }
    runThrough(number);
    return cudaSuccess;
}

cudaError_t Streams::elapsed(float& milliseconds, cudaEvent_t from, cudaEvent_t to)
{
    Lock const lock{mMutex};
    auto const usable = [this](auto const& found)
    {
        return found != mEvents.end() && found->second.record != 0 &&
               (found->second.flags & cudaEventDisableTiming) == 0;
    };
    auto const first = mEvents.find(nameOf(from));
    auto const second = mEvents.find(nameOf(to));
    if (!usable(first) || !usable(second))
    {
        return cudaErrorInvalidResourceHandle;
    }
    if (mPending.count(first->second.record) + mPending.count(second->second.record) > 0)
    {
        return cudaErrorNotReady;
    }
    milliseconds = std::chrono::duration<float, std::milli>(second->second.time - first->second.time).count();
    return cudaSuccess;
}

} // namespace v2

} // namespace pluginkit_cpu

using pluginkit_cpu::answer;
using pluginkit_cpu::Caller;
using pluginkit_cpu::gStreams;

namespace
{

cudaError_t create(cudaEvent_t* event, unsigned int flags, Caller const& caller) noexcept
{
    return answer(
        [&]
        {
            cudaError_t const error = event == nullptr ? cudaErrorInvalidValue : gStreams.createEvent(*event, flags);
            if (error == cudaSuccess)
            {
                pluginkit_cpu::took("event", *event, 0, caller);
            }
            return error;
        });
}

} // namespace

extern "C"
{

    PLUGINKIT_CPU_HIDDEN cudaError_t pluginkit_cpu_v2_cudaEventCreateWithFlags(cudaEvent_t* event, unsigned int flags)
    {
        return create(event, flags, {"cudaEventCreateWithFlags", __builtin_return_address(0)});
    }

    PLUGINKIT_CPU_HIDDEN cudaError_t pluginkit_cpu_v2_cudaEventCreate(cudaEvent_t* event)
    {
        return create(event, cudaEventDefault, {"cudaEventCreate", __builtin_return_address(0)});
    }

    PLUGINKIT_CPU_HIDDEN cudaError_t pluginkit_cpu_v2_cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream,
                                                                               unsigned int flags)
    {
        return answer([&] { return flags > 1 ? cudaErrorInvalidValue : gStreams.record(event, stream); });
    }

    PLUGINKIT_CPU_HIDDEN cudaError_t pluginkit_cpu_v2_cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
    {
        return pluginkit_cpu_v2_cudaEventRecordWithFlags(event, stream, 0);
    }

    PLUGINKIT_CPU_HIDDEN cudaError_t pluginkit_cpu_v2_cudaEventSynchronize(cudaEvent_t event)
    {
        Caller const caller{"cudaEventSynchronize", __builtin_return_address(0)};
        return answer(
            [&]
            {
                pluginkit_cpu::checkNoSynchronization(caller);
                return gStreams.synchronizeEvent(event);
            });
    }

    PLUGINKIT_CPU_HIDDEN cudaError_t pluginkit_cpu_v2_cudaEventQuery(cudaEvent_t event)
    {
        Caller const caller{"cudaEventQuery", __builtin_return_address(0)};
        return answer(
            [&]
            {
                pluginkit_cpu::checkNoQuery(caller);
                return gStreams.queryEvent(event);
            });
    }

    PLUGINKIT_CPU_HIDDEN cudaError_t pluginkit_cpu_v2_cudaEventElapsedTime(float* milliseconds, cudaEvent_t from,
                                                                           cudaEvent_t to)
    {
        return answer(
            [&]
            { return milliseconds == nullptr ? cudaErrorInvalidValue : gStreams.elapsed(*milliseconds, from, to); });
    }

    //! As CUDA 12.8 and later 12s name it.
    PLUGINKIT_CPU_HIDDEN cudaError_t pluginkit_cpu_v2_cudaEventElapsedTime_v2(float* milliseconds, cudaEvent_t from,
                                                                              cudaEvent_t to)
    {
        return pluginkit_cpu_v2_cudaEventElapsedTime(milliseconds, from, to);
    }

    PLUGINKIT_CPU_HIDDEN cudaError_t pluginkit_cpu_v2_cudaEventDestroy(cudaEvent_t event)
    {
        return answer(
            [&]
            {
                cudaError_t const error = gStreams.destroyEvent(event);
                if (error == cudaSuccess)
                {
                    pluginkit_cpu::gaveBack(event);
                }
                return error;
            });
    }

    PLUGINKIT_CPU_HIDDEN cudaError_t pluginkit_cpu_v2_cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event,
                                                                          unsigned int flags)
    {
        return answer([&] { return flags > 1 ? cudaErrorInvalidValue : gStreams.wait(stream, event); });
    }

} // extern "C"
