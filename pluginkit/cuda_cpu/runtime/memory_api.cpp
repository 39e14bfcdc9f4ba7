//! CUDA's functions that allocate, free and describe memory.

#include "memory.h"
#include "objects.h"
#include "streams.h"

#include <algorithm>
#include <cstring>

using pluginkit_cpu::Allocation;
using pluginkit_cpu::answer;
using pluginkit_cpu::Caller;
using pluginkit_cpu::gMemory;
using pluginkit_cpu::gStreams;
using pluginkit_cpu::Origin;
using pluginkit_cpu::Side;

namespace
{

constexpr size_t kPITCH = 512;

cudaError_t allocate(void** memory, size_t size, Origin origin, Caller const& caller, unsigned int flags = 0)
{
    if (memory == nullptr)
    {
        return cudaErrorInvalidValue;
    }
    pluginkit_cpu::checkNoAllocation(caller);
    // An empty allocation is a null pointer, as CUDA's.
    *memory = size == 0 ? nullptr : gMemory.allocate(size, origin, caller.function, flags);
    pluginkit_cpu::took(origin == Origin::kPinned ? "pinned memory" : "device memory", *memory, size, caller);
    return size > 0 && *memory == nullptr ? cudaErrorMemoryAllocation : cudaSuccess;
}

cudaError_t release(void* memory, bool host, Caller const& caller)
{
    if (memory == nullptr)
    {
        return cudaSuccess;
    }
    pluginkit_cpu::checkNoAllocation(caller);
    auto const leaving = gMemory.leave(memory, host, caller);
    if (!leaving)
    {
        return cudaErrorInvalidValue;
    }
    gStreams.synchronizeAll(); // as CUDA: work that uses the memory is done first
    pluginkit_cpu::Opened const opened;
    gMemory.release(leaving->begin);
    return cudaSuccess;
}

//! Memory goes even after an error that sticks, which is given all the same.
cudaError_t releaseAlways(void* memory, bool host, Caller const& caller)
{
    cudaError_t const before = pluginkit_cpu::stuck();
    if (before != cudaSuccess && !pluginkit_cpu::inHostFunction())
    {
        release(memory, host, caller);
        return pluginkit_cpu::failed(before);
    }
    return answer([&] { return release(memory, host, caller); });
}

cudaMemoryType typeOf(Allocation const& allocation) noexcept
{
    switch (allocation.origin)
    {
    case Origin::kPinned:
    case Origin::kRegistered:
        return cudaMemoryTypeHost;
    case Origin::kManaged:
        return cudaMemoryTypeManaged;
    case Origin::kDevice:
    case Origin::kSymbol:
    case Origin::kHarness:
        break;
    }
    return cudaMemoryTypeDevice;
}

//! The allocation that has this address inside.
std::optional<Allocation> inside(void const* memory)
{
    auto const address = reinterpret_cast<uintptr_t>(memory);
    auto const found = gMemory.find(address);
    bool const hit = found && address >= found->begin && address - found->begin < found->size && !found->leaving;
    return hit ? found : std::nullopt;
}

} // namespace

extern "C"
{

    PLUGINKIT_CPU_HIDDEN cudaError_t pluginkit_cpu_v2_cudaMalloc(void** memory, size_t size)
    {
        Caller const caller{"cudaMalloc", __builtin_return_address(0)};
        return answer([&] { return allocate(memory, size, Origin::kDevice, caller); });
    }

    PLUGINKIT_CPU_HIDDEN cudaError_t pluginkit_cpu_v2_cudaFree(void* memory)
    {
        Caller const caller{"cudaFree", __builtin_return_address(0)};
        return releaseAlways(memory, false, caller);
    }

    PLUGINKIT_CPU_HIDDEN cudaError_t pluginkit_cpu_v2_cudaMallocPitch(void** memory, size_t* pitch, size_t width,
                                                                      size_t height)
    {
        Caller const caller{"cudaMallocPitch", __builtin_return_address(0)};
        return answer(
            [&]
            {
                if (pitch == nullptr)
                {
                    return cudaErrorInvalidValue;
                }
                *pitch = (width + kPITCH - 1) / kPITCH * kPITCH;
                size_t size = 0;
                bool const tooMuch = *pitch < width || __builtin_mul_overflow(*pitch, height, &size);
                return tooMuch ? cudaErrorMemoryAllocation : allocate(memory, size, Origin::kDevice, caller);
            });
    }

    PLUGINKIT_CPU_HIDDEN cudaError_t pluginkit_cpu_v2_cudaMallocManaged(void** memory, size_t size, unsigned int flags)
    {
        Caller const caller{"cudaMallocManaged", __builtin_return_address(0)};
        return answer(
            [&]
            {
                bool const known = flags == cudaMemAttachGlobal || flags == cudaMemAttachHost;
                return known && size > 0 ? allocate(memory, size, Origin::kManaged, caller, flags)
                                         : cudaErrorInvalidValue;
            });
    }

    PLUGINKIT_CPU_HIDDEN cudaError_t pluginkit_cpu_v2_cudaMallocAsync(void** memory, size_t size, cudaStream_t stream)
    {
        Caller const caller{"cudaMallocAsync", __builtin_return_address(0)};
        return answer(
            [&]
            {
                cudaError_t const error = gStreams.enqueue(stream, {}, caller, Side::kRelease);
                return error == cudaSuccess ? allocate(memory, size, Origin::kDevice, caller) : error;
            });
    }

    PLUGINKIT_CPU_HIDDEN cudaError_t pluginkit_cpu_v2_cudaFreeAsync(void* memory, cudaStream_t stream)
    {
        Caller const caller{"cudaFreeAsync", __builtin_return_address(0)};
        return answer(
            [&]
            {
                if (!pluginkit_cpu::isStream(stream))
                {
                    return cudaErrorInvalidResourceHandle;
                }
                if (memory == nullptr)
                {
                    return cudaErrorInvalidValue;
                }
                pluginkit_cpu::checkNoAllocation(caller);
                auto const leaving = gMemory.leave(memory, false, caller);
                if (!leaving)
                {
                    return cudaErrorInvalidValue;
                }
                uintptr_t const begin = leaving->begin;
                return gStreams.enqueue(stream, [begin] { gMemory.release(begin); }, caller, Side::kRelease);
            });
    }

    PLUGINKIT_CPU_HIDDEN cudaError_t pluginkit_cpu_v2_cudaHostAlloc(void** memory, size_t size, unsigned int flags)
    {
        Caller const caller{"cudaHostAlloc", __builtin_return_address(0)};
        return answer(
            [&]
            {
                constexpr unsigned int known = cudaHostAllocPortable | cudaHostAllocMapped | cudaHostAllocWriteCombined;
                return (flags & ~known) != 0 ? cudaErrorInvalidValue
                                             : allocate(memory, size, Origin::kPinned, caller, flags);
            });
    }

    PLUGINKIT_CPU_HIDDEN cudaError_t pluginkit_cpu_v2_cudaMallocHost(void** memory, size_t size)
    {
        Caller const caller{"cudaMallocHost", __builtin_return_address(0)};
        return answer([&] { return allocate(memory, size, Origin::kPinned, caller); });
    }

    PLUGINKIT_CPU_HIDDEN cudaError_t pluginkit_cpu_v2_cudaFreeHost(void* memory)
    {
        Caller const caller{"cudaFreeHost", __builtin_return_address(0)};
        return releaseAlways(memory, true, caller);
    }

    PLUGINKIT_CPU_HIDDEN cudaError_t pluginkit_cpu_v2_cudaHostRegister(void* memory, size_t size, unsigned int flags)
    {
        Caller const caller{"cudaHostRegister", __builtin_return_address(0)};
        return answer(
            [&]
            {
                if (memory == nullptr || size == 0 || flags > 0xF)
                {
                    return cudaErrorInvalidValue;
                }
                pluginkit_cpu::checkNoAllocation(caller);
                Allocation registered{};
                registered.begin = reinterpret_cast<uintptr_t>(memory);
                registered.size = size;
                registered.origin = Origin::kRegistered;
                registered.function = caller.function;
                registered.flags = flags;
                if (!gMemory.add(registered))
                {
                    return cudaErrorHostMemoryAlreadyRegistered;
                }
                pluginkit_cpu::took("registered memory", memory, size, caller);
                return cudaSuccess;
            });
    }

    PLUGINKIT_CPU_HIDDEN cudaError_t pluginkit_cpu_v2_cudaHostUnregister(void* memory)
    {
        return answer(
            [&]
            {
                gStreams.synchronizeAll();
                bool const removed = gMemory.remove(reinterpret_cast<uintptr_t>(memory), Origin::kRegistered);
                return removed ? cudaSuccess : cudaErrorHostMemoryNotRegistered;
            });
    }

    PLUGINKIT_CPU_HIDDEN cudaError_t pluginkit_cpu_v2_cudaHostGetDevicePointer(void** device, void* host,
                                                                               unsigned int flags)
    {
        return answer(
            [&]
            {
                auto const found = inside(host);
                if (device == nullptr || flags != 0 || !found || !found->isHost())
                {
                    return cudaErrorInvalidValue;
                }
                *device = host;
                return cudaSuccess;
            });
    }

    PLUGINKIT_CPU_HIDDEN cudaError_t pluginkit_cpu_v2_cudaHostGetFlags(unsigned int* flags, void* host)
    {
        return answer(
            [&]
            {
                auto const found = inside(host);
                if (flags == nullptr || !found || !found->isHost())
                {
                    return cudaErrorInvalidValue;
                }
                *flags = found->flags;
                return cudaSuccess;
            });
    }

    PLUGINKIT_CPU_HIDDEN cudaError_t pluginkit_cpu_v2_cudaMemGetInfo(size_t* free, size_t* total)
    {
        return answer(
            [&]
            {
                if (free == nullptr || total == nullptr)
                {
                    return cudaErrorInvalidValue;
                }
                *total = pluginkit_cpu::totalMemory();
                *free = *total - std::min(*total, gMemory.bytes());
                return cudaSuccess;
            });
    }

    PLUGINKIT_CPU_HIDDEN cudaError_t pluginkit_cpu_v2_cudaPointerGetAttributes(cudaPointerAttributes* attributes,
                                                                               void const* memory)
    {
        return answer(
            [&]
            {
                if (attributes == nullptr)
                {
                    return cudaErrorInvalidValue;
                }
                auto const found = inside(memory);
                std::memset(attributes, 0, sizeof(*attributes));
                attributes->type = found ? typeOf(*found) : cudaMemoryTypeUnregistered;
                attributes->device = found ? 0 : cudaInvalidDeviceId;
                auto* const pointer = const_cast<void*>(memory);
                attributes->devicePointer = found ? pointer : nullptr;
                attributes->hostPointer = attributes->type == cudaMemoryTypeDevice ? nullptr : pointer;
                return cudaSuccess;
            });
    }

} // extern "C"
