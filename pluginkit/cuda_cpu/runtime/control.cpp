//! What the library lets the test harness do, and the rules of enqueue().

#include <pluginkit/cpu/control.h>

#include "cublas.h"
#include "cudnn.h"
#include "device.h"
#include "findings.h"
#include "launch.h"
#include "memory.h"
#include "streams.h"
#include "turns.h"

#include <atomic>

namespace pluginkit_cpu
{

inline namespace v2
{

namespace
{

std::atomic<bool> gInEnqueue{false};

cudaStream_t streamOf(void* stream) noexcept
{
    return static_cast<cudaStream_t>(stream);
}

void enqueueBegin(void* stream)
{
    checkDevice(); // what was called before, as initialize, may have set another
    gStreams.beginEnqueue(streamOf(stream));
    gInEnqueue = true;
    restartOrders();
    guardAccess();
}

void enqueueEnd()
{
    endGuard();
    gInEnqueue = false;
    gStreams.endEnqueue({"enqueue", nullptr});
    checkDevice();
}

int drain()
{
    gStreams.synchronizeAll();
    return stuck();
}

int interleave()
{
    gStreams.interleave();
    return stuck();
}

void setDeferred(int on)
{
    gStreams.setDeferred(on != 0);
}

char const* nameOf(PluginkitCpuRegion region) noexcept
{
    switch (region)
    {
    case PLUGINKIT_CPU_INPUT:
        return "an input";
    case PLUGINKIT_CPU_OUTPUT:
        return "an output";
    case PLUGINKIT_CPU_WORKSPACE:
        return "the workspace";
    }
    return "device memory";
}

int registerRegion(void* memory, size_t size, PluginkitCpuRegion region, int initialized)
{
    if (memory == nullptr)
    {
        return cudaErrorInvalidValue;
    }
    Allocation added{};
    added.begin = reinterpret_cast<uintptr_t>(memory);
    added.size = size;
    added.origin = Origin::kHarness;
    added.function = nameOf(region);
    added.flags = initialized != 0 ? 1 : 0;
    return gMemory.add(added) ? cudaSuccess : cudaErrorInvalidValue;
}

int unregisterRegion(void* memory)
{
    bool const removed = gMemory.remove(reinterpret_cast<uintptr_t>(memory), Origin::kHarness);
    return removed ? cudaSuccess : cudaErrorInvalidValue;
}

void* makeStream()
{
    cudaStream_t stream = nullptr;
    answer([&] { return gStreams.create(stream, cudaStreamNonBlocking, 0); });
    return stream;
}

int destroyStream(void* stream)
{
    return answer([&] { return gStreams.destroy(streamOf(stream)); });
}

size_t liveAllocations()
{
    return gMemory.count();
}

size_t liveBytes()
{
    return gMemory.bytes();
}

int lastError()
{
    return peekError();
}

void* makeCublas()
{
    return cublas::makeHandle();
}

int destroyCublas(void* handle)
{
    return cublas::destroyHandle(static_cast<cublasContext*>(handle));
}

void* makeCudnn()
{
    return cudnn::makeHandle();
}

int destroyCudnn(void* handle)
{
    return cudnn::destroyHandle(static_cast<cudnnContext*>(handle));
}

constexpr PluginkitCpuControl kCONTROL{
    enqueueBegin,    enqueueEnd,   drain,      setDeferred, registerRegion, unregisterRegion, makeStream, destroyStream,
    liveAllocations, liveBytes,    lastError,  clearErrors, lastObject,     liveObjects,      makeCublas, destroyCublas,
    makeCudnn,       destroyCudnn, beginTurns, enterTurns,  leaveTurns,     interleave};

} // namespace

bool inEnqueue() noexcept
{
    return gInEnqueue;
}

void checkNoAllocation(Caller const& caller)
{
    if (gInEnqueue)
    {
        report({"allocation-in-enqueue",
                std::string{caller.function} + " in enqueue(): memory is allocated and freed outside of it; for memory "
                                               "during enqueue() there is the workspace",
                {nullptr, 0},
                caller.code});
    }
}

void checkNoSynchronization(Caller const& caller, char const* why)
{
    if (gInEnqueue)
    {
        report({"synchronization-in-enqueue",
                std::string{caller.function} + " " + why + " in enqueue(), which must not wait",
                {nullptr, 0},
                caller.code});
    }
}

void checkNoQuery(Caller const& caller)
{
    if (gInEnqueue)
    {
        report({"query-in-enqueue",
                std::string{caller.function} +
                    " in enqueue() asks whether work has ended, which a capture into a CUDA graph refuses",
                {nullptr, 0},
                caller.code});
    }
}

} // namespace v2

} // namespace pluginkit_cpu

PluginkitCpuControl const* pluginkit_cpu_control(int version)
{
    return version >= 1 && version <= PLUGINKIT_CPU_CONTROL_VERSION ? &pluginkit_cpu::kCONTROL : nullptr;
}
