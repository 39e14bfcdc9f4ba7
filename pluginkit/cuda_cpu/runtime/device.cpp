//! CUDA's functions of devices: there is one, number 0; or, where PLUGINKIT_CPU_DEVICE says so, a number of equal ones
//! of which each host thread begins with the last, so that a plugin shows that takes 0 for the engine's.

#include "device.h"

#include "findings.h"
#include "memory.h"
#include "settings.h"
#include "streams.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

using pluginkit_cpu::answer;
using pluginkit_cpu::attributeOf;
using pluginkit_cpu::isDevice;
using pluginkit_cpu::limitOf;

namespace
{

constexpr char kNAME[] = "pluginkit target cpu";
constexpr char kBUS_ID[] = "0000:01:00.0"; // as the table's three numbers say

//! What cudaDeviceSetLimit changed: kept, and given back, but nothing depends on it.
size_t gLimits[] = {1024, 1 << 20, 8 << 20, 2, 2048, 64, 0};

//! A value for the caller, if the device exists.
template <typename T>
cudaError_t give(T* to, T value, int device = 0) noexcept
{
    return answer(
        [&]
        {
            if (to == nullptr)
            {
                return cudaErrorInvalidValue;
            }
            *to = value;
            return isDevice(device) ? cudaSuccess : cudaErrorInvalidDevice;
        });
}

cudaError_t only(bool condition, cudaError_t otherwise) noexcept
{
    return answer([&] { return condition ? cudaSuccess : otherwise; });
}

void describe(cudaDeviceProp& device) noexcept
{
    std::memset(&device, 0, sizeof(device));
    std::snprintf(device.name, sizeof(device.name), "%s", kNAME);
    std::memcpy(device.uuid.bytes, kNAME, sizeof(device.uuid.bytes));
    device.totalGlobalMem = pluginkit_cpu::totalMemory();
    auto const size = [](cudaDeviceAttr attribute) { return static_cast<size_t>(limitOf(attribute)); };
    device.major = limitOf(cudaDevAttrComputeCapabilityMajor);
    device.minor = limitOf(cudaDevAttrComputeCapabilityMinor);
    device.multiProcessorCount = limitOf(cudaDevAttrMultiProcessorCount);
    device.memoryBusWidth = limitOf(cudaDevAttrGlobalMemoryBusWidth);
    device.l2CacheSize = limitOf(cudaDevAttrL2CacheSize);
    device.warpSize = limitOf(cudaDevAttrWarpSize);
    device.maxThreadsPerBlock = limitOf(cudaDevAttrMaxThreadsPerBlock);
    device.maxThreadsDim[0] = limitOf(cudaDevAttrMaxBlockDimX);
    device.maxThreadsDim[1] = limitOf(cudaDevAttrMaxBlockDimY);
    device.maxThreadsDim[2] = limitOf(cudaDevAttrMaxBlockDimZ);
    device.maxGridSize[0] = limitOf(cudaDevAttrMaxGridDimX);
    device.maxGridSize[1] = limitOf(cudaDevAttrMaxGridDimY);
    device.maxGridSize[2] = limitOf(cudaDevAttrMaxGridDimZ);
    device.maxThreadsPerMultiProcessor = limitOf(cudaDevAttrMaxThreadsPerMultiProcessor);
    device.maxBlocksPerMultiProcessor = limitOf(cudaDevAttrMaxBlocksPerMultiprocessor);
    device.regsPerBlock = limitOf(cudaDevAttrMaxRegistersPerBlock);
    device.regsPerMultiprocessor = limitOf(cudaDevAttrMaxRegistersPerMultiprocessor);
    device.sharedMemPerBlock = size(cudaDevAttrMaxSharedMemoryPerBlock);
    device.sharedMemPerBlockOptin = size(cudaDevAttrMaxSharedMemoryPerBlockOptin);
    device.sharedMemPerMultiprocessor = size(cudaDevAttrMaxSharedMemoryPerMultiprocessor);
    device.reservedSharedMemPerBlock = size(cudaDevAttrReservedSharedMemoryPerBlock);
    device.totalConstMem = size(cudaDevAttrTotalConstantMemory);
    device.memPitch = size(cudaDevAttrMaxPitch);
    device.textureAlignment = size(cudaDevAttrTextureAlignment);
    device.texturePitchAlignment = size(cudaDevAttrTexturePitchAlignment);
    device.surfaceAlignment = size(cudaDevAttrSurfaceAlignment);
    device.asyncEngineCount = limitOf(cudaDevAttrAsyncEngineCount);
    device.concurrentKernels = limitOf(cudaDevAttrConcurrentKernels);
    device.streamPrioritiesSupported = limitOf(cudaDevAttrStreamPrioritiesSupported);
    device.unifiedAddressing = limitOf(cudaDevAttrUnifiedAddressing);
    device.canMapHostMemory = limitOf(cudaDevAttrCanMapHostMemory);
    device.canUseHostPointerForRegisteredMem = limitOf(cudaDevAttrCanUseHostPointerForRegisteredMem);
    device.hostRegisterSupported = limitOf(cudaDevAttrHostRegisterSupported);
    device.managedMemory = limitOf(cudaDevAttrManagedMemory);
    device.concurrentManagedAccess = limitOf(cudaDevAttrConcurrentManagedAccess);
    device.memoryPoolsSupported = limitOf(cudaDevAttrMemoryPoolsSupported);
    device.globalL1CacheSupported = limitOf(cudaDevAttrGlobalL1CacheSupported);
    device.localL1CacheSupported = limitOf(cudaDevAttrLocalL1CacheSupported);
    device.cooperativeLaunch = limitOf(cudaDevAttrCooperativeLaunch);
    device.computePreemptionSupported = limitOf(cudaDevAttrComputePreemptionSupported);
    device.pciBusID = limitOf(cudaDevAttrPciBusId);
    device.pciDeviceID = limitOf(cudaDevAttrPciDeviceId);
    device.pciDomainID = limitOf(cudaDevAttrPciDomainId);
#if CUDART_VERSION < 13000
    device.clockRate = limitOf(cudaDevAttrClockRate);
    device.memoryClockRate = limitOf(cudaDevAttrMemoryClockRate);
    device.deviceOverlap = limitOf(cudaDevAttrGpuOverlap);
    device.singleToDoublePrecisionPerfRatio = limitOf(cudaDevAttrSingleToDoublePrecisionPerfRatio);
#endif
}

} // namespace

namespace pluginkit_cpu
{

inline namespace v2
{

namespace
{

//! Of the host thread: its device, if it has set one, and what set another than it began with.
thread_local int tDevice = kNO_DEVICE;
thread_local void const* tSetBy = nullptr;

} // namespace

int homeDevice() noexcept
{
    static int const home = static_cast<int>(option("PLUGINKIT_CPU_DEVICE", 0));
    return home;
}

int currentDevice() noexcept
{
    return tDevice == kNO_DEVICE ? homeDevice() : tDevice;
}

bool isDevice(int device) noexcept
{
    return device >= 0 && device <= homeDevice();
}

bool setDevice(int device, void const* code) noexcept
{
    if (isDevice(device))
    {
        tDevice = device;
        tSetBy = device == homeDevice() ? nullptr : code;
    }
    return isDevice(device);
}

void checkDevice()
{
    if (tSetBy == nullptr)
    {
        return;
    }
    int const left = tDevice;
    void const* const code = tSetBy;
    static_cast<void>(setDevice(homeDevice(), nullptr));
    report({"other-device",
            "the host thread's current device was " + std::to_string(homeDevice()) + ", and is " +
                std::to_string(left) + " now",
            {nullptr, 0},
            code});
}

} // namespace v2

} // namespace pluginkit_cpu

extern "C"
{

    PLUGINKIT_CPU_HIDDEN cudaError_t pluginkit_cpu_v2_cudaGetDeviceCount(int* count)
    {
        return give(count, pluginkit_cpu::homeDevice() + 1);
    }

    PLUGINKIT_CPU_HIDDEN cudaError_t pluginkit_cpu_v2_cudaGetDevice(int* device)
    {
        return give(device, pluginkit_cpu::currentDevice());
    }

    PLUGINKIT_CPU_HIDDEN cudaError_t pluginkit_cpu_v2_cudaSetDevice(int device)
    {
        return only(pluginkit_cpu::setDevice(device, __builtin_return_address(0)), cudaErrorInvalidDevice);
    }

    PLUGINKIT_CPU_HIDDEN cudaError_t pluginkit_cpu_v2_cudaInitDevice(int device, unsigned int, unsigned int)
    {
        return only(isDevice(device), cudaErrorInvalidDevice);
    }

    PLUGINKIT_CPU_HIDDEN cudaError_t pluginkit_cpu_v2_cudaChooseDevice(int* device, cudaDeviceProp const* wanted)
    {
        return wanted == nullptr ? only(false, cudaErrorInvalidValue) : give(device, 0);
    }

    PLUGINKIT_CPU_HIDDEN cudaError_t pluginkit_cpu_v2_cudaGetDeviceProperties(cudaDeviceProp* properties, int device)
    {
        return answer(
            [&]
            {
                if (properties == nullptr || !isDevice(device))
                {
                    return properties == nullptr ? cudaErrorInvalidValue : cudaErrorInvalidDevice;
                }
                describe(*properties);
                return cudaSuccess;
            });
    }

    PLUGINKIT_CPU_HIDDEN cudaError_t pluginkit_cpu_v2_cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute,
                                                                             int device)
    {
        return answer(
            [&]
            {
                auto const found = attributeOf(attribute);
                if (value == nullptr || !found)
                {
                    return cudaErrorInvalidValue;
                }
                *value = *found;
                return isDevice(device) ? cudaSuccess : cudaErrorInvalidDevice;
            });
    }

    PLUGINKIT_CPU_HIDDEN cudaError_t pluginkit_cpu_v2_cudaDeviceGetPCIBusId(char* busId, int size, int device)
    {
        return answer(
            [&]
            {
                if (busId == nullptr || size < static_cast<int>(sizeof(kBUS_ID)) || !isDevice(device))
                {
                    return isDevice(device) ? cudaErrorInvalidValue : cudaErrorInvalidDevice;
                }
                std::memcpy(busId, kBUS_ID, sizeof(kBUS_ID));
                return cudaSuccess;
            });
    }

    PLUGINKIT_CPU_HIDDEN cudaError_t pluginkit_cpu_v2_cudaDeviceGetByPCIBusId(int* device, char const* busId)
    {
        bool const ours = busId != nullptr && std::strcmp(busId, kBUS_ID) == 0;
        return ours ? give(device, 0) : only(false, cudaErrorInvalidValue);
    }

    PLUGINKIT_CPU_HIDDEN cudaError_t pluginkit_cpu_v2_cudaDeviceGetStreamPriorityRange(int* least, int* greatest)
    {
        return answer(
            [&]
            {
                if (least != nullptr)
                {
                    *least = 0;
                }
                if (greatest != nullptr)
                {
                    *greatest = pluginkit_cpu::kGREATEST_PRIORITY;
                }
                return cudaSuccess;
            });
    }

    PLUGINKIT_CPU_HIDDEN cudaError_t pluginkit_cpu_v2_cudaDeviceCanAccessPeer(int* can, int device, int peer)
    {
        return give(can, 0, isDevice(device) && isDevice(peer) ? 0 : pluginkit_cpu::kNO_DEVICE);
    }

    PLUGINKIT_CPU_HIDDEN cudaError_t pluginkit_cpu_v2_cudaDeviceEnablePeerAccess(int peer, unsigned int)
    {
        return only(false, peer == 0 ? cudaErrorPeerAccessUnsupported : cudaErrorInvalidDevice);
    }

    PLUGINKIT_CPU_HIDDEN cudaError_t pluginkit_cpu_v2_cudaDeviceDisablePeerAccess(int)
    {
        return only(false, cudaErrorPeerAccessNotEnabled);
    }

    PLUGINKIT_CPU_HIDDEN cudaError_t pluginkit_cpu_v2_cudaDeviceGetLimit(size_t* value, cudaLimit limit)
    {
        bool const known = static_cast<size_t>(limit) < std::size(gLimits);
        return known ? give(value, gLimits[limit]) : only(false, cudaErrorUnsupportedLimit);
    }

    PLUGINKIT_CPU_HIDDEN cudaError_t pluginkit_cpu_v2_cudaDeviceSetLimit(cudaLimit limit, size_t value)
    {
        bool const known = static_cast<size_t>(limit) < std::size(gLimits);
        if (known)
        {
            gLimits[limit] = value;
        }
        return only(known, cudaErrorUnsupportedLimit);
    }

    PLUGINKIT_CPU_HIDDEN cudaError_t pluginkit_cpu_v2_cudaDeviceGetCacheConfig(cudaFuncCache* config)
    {
        return give(config, cudaFuncCachePreferNone);
    }

    PLUGINKIT_CPU_HIDDEN cudaError_t pluginkit_cpu_v2_cudaDeviceSetCacheConfig(cudaFuncCache config)
    {
        return only(config >= cudaFuncCachePreferNone && config <= cudaFuncCachePreferEqual, cudaErrorInvalidValue);
    }

    PLUGINKIT_CPU_HIDDEN cudaError_t pluginkit_cpu_v2_cudaSetDeviceFlags(unsigned int flags)
    {
        return only((flags & ~static_cast<unsigned int>(cudaDeviceMask)) == 0, cudaErrorInvalidValue);
    }

    PLUGINKIT_CPU_HIDDEN cudaError_t pluginkit_cpu_v2_cudaGetDeviceFlags(unsigned int* flags)
    {
        return give(flags, static_cast<unsigned int>(cudaDeviceScheduleAuto));
    }

    //! Does what is still to be done, frees all and forgets an error that sticks, as a new context would.
    PLUGINKIT_CPU_HIDDEN cudaError_t pluginkit_cpu_v2_cudaDeviceReset()
    {
        pluginkit_cpu::checkNoSynchronization({"cudaDeviceReset", __builtin_return_address(0)});
        pluginkit_cpu::gStreams.synchronizeAll();
        pluginkit_cpu::gStreams.reset();
        pluginkit_cpu::Opened const opened;
        pluginkit_cpu::gMemory.reset();
        pluginkit_cpu::clearErrors();
        return cudaSuccess;
    }

    PLUGINKIT_CPU_HIDDEN cudaError_t pluginkit_cpu_v2_cudaDriverGetVersion(int* version)
    {
        return give(version, CUDART_VERSION);
    }

    PLUGINKIT_CPU_HIDDEN cudaError_t pluginkit_cpu_v2_cudaRuntimeGetVersion(int* version)
    {
        return give(version, CUDART_VERSION);
    }

    PLUGINKIT_CPU_HIDDEN cudaError_t pluginkit_cpu_v2_cudaProfilerStart()
    {
        return only(true, cudaSuccess);
    }

    PLUGINKIT_CPU_HIDDEN cudaError_t pluginkit_cpu_v2_cudaProfilerStop()
    {
        return only(true, cudaSuccess);
    }

} // extern "C"
