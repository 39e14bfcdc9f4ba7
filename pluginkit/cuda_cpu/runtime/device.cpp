//! The device that target cpu shows: one, of compute capability 8.0, with that generation's limits.
//!
//! Source of the numbers: CUDA C++ Programming Guide, "Technical Specifications per Compute Capability".

#include "state.h"

#include <cstdio>
#include <cstring>

#include <unistd.h>

namespace
{

void describe(cudaDeviceProp& device) noexcept
{
    std::memset(&device, 0, sizeof(device));
    std::snprintf(device.name, sizeof(device.name), "pluginkit target cpu");
    device.major = 8;
    device.minor = 0;
    device.warpSize = warpSize;
    device.multiProcessorCount = 1;
    device.maxThreadsPerBlock = 1024;
    device.maxThreadsDim[0] = 1024;
    device.maxThreadsDim[1] = 1024;
    device.maxThreadsDim[2] = 64;
    device.maxGridSize[0] = 0x7FFFFFFF;
    device.maxGridSize[1] = 65535;
    device.maxGridSize[2] = 65535;
    device.maxThreadsPerMultiProcessor = 2048;
    device.maxBlocksPerMultiProcessor = 32;
    device.regsPerBlock = 65536;
    device.regsPerMultiprocessor = 65536;
    device.sharedMemPerBlock = 49152;
    device.sharedMemPerBlockOptin = 163 * 1024;
    device.sharedMemPerMultiprocessor = 164 * 1024;
    device.totalConstMem = 65536;
    device.totalGlobalMem = static_cast<size_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<size_t>(sysconf(_SC_PAGE_SIZE));
    device.unifiedAddressing = 1;
    device.canMapHostMemory = 1;
    device.integrated = 1;
    device.memoryPoolsSupported = 1;
}

} // namespace

using pluginkit_cpu::failed;

extern "C"
{

    PLUGINKIT_CPU_HIDDEN cudaError_t pluginkit_cpu_v2_cudaGetDeviceCount(int* count)
    {
        if (count == nullptr)
        {
            return failed(cudaErrorInvalidValue);
        }
        *count = 1;
        return cudaSuccess;
    }

    PLUGINKIT_CPU_HIDDEN cudaError_t pluginkit_cpu_v2_cudaGetDevice(int* device)
    {
        if (device == nullptr)
        {
            return failed(cudaErrorInvalidValue);
        }
        *device = 0;
        return cudaSuccess;
    }

    PLUGINKIT_CPU_HIDDEN cudaError_t pluginkit_cpu_v2_cudaSetDevice(int device)
    {
        return failed(device == 0 ? cudaSuccess : cudaErrorInvalidDevice);
    }

    PLUGINKIT_CPU_HIDDEN cudaError_t pluginkit_cpu_v2_cudaGetDeviceProperties(cudaDeviceProp* properties, int device)
    {
        if (properties == nullptr)
        {
            return failed(cudaErrorInvalidValue);
        }
        if (device != 0)
        {
            return failed(cudaErrorInvalidDevice);
        }
        describe(*properties);
        return cudaSuccess;
    }

    PLUGINKIT_CPU_HIDDEN cudaError_t pluginkit_cpu_v2_cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute,
                                                                             int device)
    {
        cudaDeviceProp properties;
        if (value == nullptr)
        {
            return failed(cudaErrorInvalidValue);
        }
        cudaError_t const error = pluginkit_cpu_v2_cudaGetDeviceProperties(&properties, device);
        if (error != cudaSuccess)
        {
            return error;
        }
        switch (attribute)
        {
        case cudaDevAttrComputeCapabilityMajor:
            *value = properties.major;
            return cudaSuccess;
        case cudaDevAttrComputeCapabilityMinor:
            *value = properties.minor;
            return cudaSuccess;
        case cudaDevAttrMultiProcessorCount:
            *value = properties.multiProcessorCount;
            return cudaSuccess;
        case cudaDevAttrWarpSize:
            *value = properties.warpSize;
            return cudaSuccess;
        case cudaDevAttrMaxThreadsPerBlock:
            *value = properties.maxThreadsPerBlock;
            return cudaSuccess;
        case cudaDevAttrMaxSharedMemoryPerBlock:
            *value = static_cast<int>(properties.sharedMemPerBlock);
            return cudaSuccess;
        default:
            return failed(cudaErrorInvalidValue);
        }
    }

} // extern "C"
