//! Memory pools, as far as sources name them: there is one, and it gives plain device memory. And advice about managed
//! memory, which changes nothing here.

#include "device.h"
#include "memory.h"
#include "objects.h"
#include "streams.h"

#include <cstring>

using pluginkit_cpu::answer;
using pluginkit_cpu::Caller;
using pluginkit_cpu::gMemory;
using pluginkit_cpu::gStreams;
using pluginkit_cpu::Side;

namespace
{

//! The pool is known by this object's address; its value is cudaMemPoolAttrReleaseThreshold.
uint64_t gThreshold{0};

cudaMemPool_t pool() noexcept
{
    return reinterpret_cast<cudaMemPool_t>(&gThreshold);
}

bool isManaged(void const* memory, size_t size)
{
    auto const begin = reinterpret_cast<uintptr_t>(memory);
    auto const found = gMemory.find(begin);
    return found && found->origin == pluginkit_cpu::Origin::kManaged && begin >= found->begin &&
           begin - found->begin <= found->size && size <= found->size - (begin - found->begin);
}

cudaError_t give(cudaMemPool_t* answerTo, int device) noexcept
{
    return answer(
        [&]
        {
            if (answerTo == nullptr)
            {
                return cudaErrorInvalidValue;
            }
            *answerTo = pool();
            return pluginkit_cpu::isDevice(device) ? cudaSuccess : cudaErrorInvalidDevice;
        });
}

} // namespace

extern "C"
{

    PLUGINKIT_CPU_HIDDEN cudaError_t pluginkit_cpu_v2_cudaDeviceGetDefaultMemPool(cudaMemPool_t* given, int device)
    {
        return give(given, device);
    }

    PLUGINKIT_CPU_HIDDEN cudaError_t pluginkit_cpu_v2_cudaDeviceGetMemPool(cudaMemPool_t* given, int device)
    {
        return give(given, device);
    }

    PLUGINKIT_CPU_HIDDEN cudaError_t pluginkit_cpu_v2_cudaDeviceSetMemPool(int device, cudaMemPool_t chosen)
    {
        return answer(
            [&]
            {
                cudaError_t const error = pluginkit_cpu::isDevice(device) ? cudaSuccess : cudaErrorInvalidDevice;
                return chosen == pool() ? error : cudaErrorInvalidValue;
            });
    }

    PLUGINKIT_CPU_HIDDEN cudaError_t pluginkit_cpu_v2_cudaMallocFromPoolAsync(void** memory, size_t size,
                                                                              cudaMemPool_t from, cudaStream_t stream)
    {
        Caller const caller{"cudaMallocFromPoolAsync", __builtin_return_address(0)};
        return answer(
            [&]
            {
                if (memory == nullptr || from != pool())
                {
                    return cudaErrorInvalidValue;
                }
                if (!pluginkit_cpu::isStream(stream))
                {
                    return cudaErrorInvalidResourceHandle;
                }
                pluginkit_cpu::checkNoAllocation(caller);
                *memory = size == 0 ? nullptr : gMemory.allocate(size, pluginkit_cpu::Origin::kDevice, caller.function);
                pluginkit_cpu::took("device memory", *memory, size, caller);
                return size > 0 && *memory == nullptr ? cudaErrorMemoryAllocation : cudaSuccess;
            });
    }

    PLUGINKIT_CPU_HIDDEN cudaError_t pluginkit_cpu_v2_cudaMemPoolTrimTo(cudaMemPool_t of, size_t /*keep*/)
    {
        return answer([&] { return of == pool() ? cudaSuccess : cudaErrorInvalidValue; });
    }

    PLUGINKIT_CPU_HIDDEN cudaError_t pluginkit_cpu_v2_cudaMemPoolSetAttribute(cudaMemPool_t of,
                                                                              cudaMemPoolAttr attribute, void* value)
    {
        return answer(
            [&]
            {
                if (of != pool() || value == nullptr)
                {
                    return cudaErrorInvalidValue;
                }
                if (attribute == cudaMemPoolAttrReleaseThreshold)
                {
                    std::memcpy(&gThreshold, value, sizeof(gThreshold));
                }
                return cudaSuccess; // the rest speaks of reuse, and nothing is reused
            });
    }

    PLUGINKIT_CPU_HIDDEN cudaError_t pluginkit_cpu_v2_cudaMemPoolGetAttribute(cudaMemPool_t of,
                                                                              cudaMemPoolAttr attribute, void* value)
    {
        return answer(
            [&]
            {
                if (of != pool() || value == nullptr)
                {
                    return cudaErrorInvalidValue;
                }
                bool const flag = attribute == cudaMemPoolReuseFollowEventDependencies ||
                                  attribute == cudaMemPoolReuseAllowOpportunistic ||
                                  attribute == cudaMemPoolReuseAllowInternalDependencies;
                if (flag)
                {
                    *static_cast<int*>(value) = 0;
                    return cudaSuccess;
                }
                *static_cast<uint64_t*>(value) =
                    attribute == cudaMemPoolAttrReleaseThreshold ? gThreshold : gMemory.bytes();
                return cudaSuccess;
            });
    }

#if CUDART_VERSION >= 13000 // before, a device's number stands for the place

    PLUGINKIT_CPU_HIDDEN cudaError_t pluginkit_cpu_v2_cudaMemPrefetchAsync(void const* memory, size_t size,
                                                                           cudaMemLocation /*to*/, unsigned int flags,
                                                                           cudaStream_t stream)
    {
        Caller const caller{"cudaMemPrefetchAsync", __builtin_return_address(0)};
        return answer(
            [&]
            {
                bool const good = isManaged(memory, size) && flags == 0;
                return good ? gStreams.enqueue(stream, {}, caller, Side::kDevice) : cudaErrorInvalidValue;
            });
    }

    PLUGINKIT_CPU_HIDDEN cudaError_t pluginkit_cpu_v2_cudaMemAdvise(void const* memory, size_t size,
                                                                    cudaMemoryAdvise /*advice*/, cudaMemLocation /*to*/)
    {
        return answer([&] { return isManaged(memory, size) ? cudaSuccess : cudaErrorInvalidValue; });
    }

#endif

} // extern "C"
