//! CUDA's runtime on the CPU: device memory is host memory, and streams do their work at once.
//!
//! Each function is the CUDA function of its name behind `pluginkit_cpu_v2_`: objects of target cpu are renamed to call
//! it. Compiled into every library of target cpu, and hidden there.

#include "state.h"

#include <pluginkit/cpu/kernel.h>

#include <cstdlib>
#include <cstring>

__thread uint3 threadIdx;
__thread uint3 blockIdx;
__thread uint3 blockDim;
__thread uint3 gridDim;

namespace
{

//! What cudaGetLastError() gives and clears; one a host thread, as in CUDA.
__thread cudaError_t gLastError{cudaSuccess};

//! The limits of a device of compute capability 7.5 and later (CUDA C++ Programming Guide, technical specifications).
bool fits(dim3 const& grid, dim3 const& block) noexcept
{
    bool const some = grid.x > 0 && grid.y > 0 && grid.z > 0 && block.x > 0 && block.y > 0 && block.z > 0;
    bool const grids = grid.x <= 0x7FFFFFFFU && grid.y <= 65535U && grid.z <= 65535U;
    bool const blocks = block.x <= 1024U && block.y <= 1024U && block.z <= 64U;
    return some && grids && blocks && uint64_t{block.x} * block.y * block.z <= 1024U;
}

} // namespace

cudaError_t pluginkit_cpu::failed(cudaError_t error) noexcept
{
    if (error != cudaSuccess)
    {
        gLastError = error;
    }
    return error;
}

bool pluginkit_cpu::accept(Configuration const& configuration, char const* /*kernelName*/) noexcept
{
    if (!fits(configuration.grid, configuration.block))
    {
        failed(cudaErrorInvalidConfiguration);
        return false;
    }
    return true;
}

using pluginkit_cpu::failed;

extern "C"
{

    PLUGINKIT_CPU_HIDDEN cudaError_t pluginkit_cpu_v2_cudaGetLastError()
    {
        cudaError_t const error = gLastError;
        gLastError = cudaSuccess;
        return error;
    }

    PLUGINKIT_CPU_HIDDEN cudaError_t pluginkit_cpu_v2_cudaPeekAtLastError()
    {
        return gLastError;
    }

    PLUGINKIT_CPU_HIDDEN char const* pluginkit_cpu_v2_cudaGetErrorName(cudaError_t error)
    {
        switch (error)
        {
        case cudaSuccess:
            return "cudaSuccess";
        case cudaErrorInvalidValue:
            return "cudaErrorInvalidValue";
        case cudaErrorMemoryAllocation:
            return "cudaErrorMemoryAllocation";
        case cudaErrorInvalidConfiguration:
            return "cudaErrorInvalidConfiguration";
        case cudaErrorInvalidResourceHandle:
            return "cudaErrorInvalidResourceHandle";
        case cudaErrorInvalidDevice:
            return "cudaErrorInvalidDevice";
        default:
            return "a CUDA error that target cpu never gives";
        }
    }

    PLUGINKIT_CPU_HIDDEN char const* pluginkit_cpu_v2_cudaGetErrorString(cudaError_t error)
    {
        return pluginkit_cpu_v2_cudaGetErrorName(error);
    }

    PLUGINKIT_CPU_HIDDEN cudaError_t pluginkit_cpu_v2_cudaMalloc(void** memory, size_t size)
    {
        if (memory == nullptr)
        {
            return failed(cudaErrorInvalidValue);
        }
        // CUDA's allocations are aligned to 256 bytes; an empty one is a null pointer.
        *memory = size == 0 ? nullptr : std::aligned_alloc(256, (size + 255) / 256 * 256);
        return failed(size > 0 && *memory == nullptr ? cudaErrorMemoryAllocation : cudaSuccess);
    }

    PLUGINKIT_CPU_HIDDEN cudaError_t pluginkit_cpu_v2_cudaFree(void* memory)
    {
        std::free(memory);
        return cudaSuccess;
    }

    PLUGINKIT_CPU_HIDDEN cudaError_t pluginkit_cpu_v2_cudaMallocAsync(void** memory, size_t size,
                                                                      cudaStream_t /*stream*/)
    {
        return pluginkit_cpu_v2_cudaMalloc(memory, size);
    }

    PLUGINKIT_CPU_HIDDEN cudaError_t pluginkit_cpu_v2_cudaFreeAsync(void* memory, cudaStream_t /*stream*/)
    {
        return pluginkit_cpu_v2_cudaFree(memory);
    }

    PLUGINKIT_CPU_HIDDEN cudaError_t pluginkit_cpu_v2_cudaHostAlloc(void** memory, size_t size, unsigned int /*flags*/)
    {
        return pluginkit_cpu_v2_cudaMalloc(memory, size);
    }

    PLUGINKIT_CPU_HIDDEN cudaError_t pluginkit_cpu_v2_cudaMallocHost(void** memory, size_t size)
    {
        return pluginkit_cpu_v2_cudaMalloc(memory, size);
    }

    PLUGINKIT_CPU_HIDDEN cudaError_t pluginkit_cpu_v2_cudaFreeHost(void* memory)
    {
        return pluginkit_cpu_v2_cudaFree(memory);
    }

    PLUGINKIT_CPU_HIDDEN cudaError_t pluginkit_cpu_v2_cudaMemcpy(void* to, void const* from, size_t size,
                                                                 cudaMemcpyKind /*kind*/)
    {
        if (size > 0 && (to == nullptr || from == nullptr))
        {
            return failed(cudaErrorInvalidValue);
        }
        if (size > 0)
        {
            std::memmove(to, from, size);
        }
        return cudaSuccess;
    }

    PLUGINKIT_CPU_HIDDEN cudaError_t pluginkit_cpu_v2_cudaMemcpyAsync(void* to, void const* from, size_t size,
                                                                      cudaMemcpyKind kind, cudaStream_t /*stream*/)
    {
        return pluginkit_cpu_v2_cudaMemcpy(to, from, size, kind);
    }

    PLUGINKIT_CPU_HIDDEN cudaError_t pluginkit_cpu_v2_cudaMemset(void* to, int value, size_t size)
    {
        if (size > 0 && to == nullptr)
        {
            return failed(cudaErrorInvalidValue);
        }
        if (size > 0)
        {
            std::memset(to, value, size);
        }
        return cudaSuccess;
    }

    PLUGINKIT_CPU_HIDDEN cudaError_t pluginkit_cpu_v2_cudaMemsetAsync(void* to, int value, size_t size,
                                                                      cudaStream_t /*stream*/)
    {
        return pluginkit_cpu_v2_cudaMemset(to, value, size);
    }

    PLUGINKIT_CPU_HIDDEN cudaError_t pluginkit_cpu_v2_cudaStreamCreate(cudaStream_t* stream)
    {
        if (stream == nullptr)
        {
            return failed(cudaErrorInvalidValue);
        }
        // A stream has no state here, but its handle must differ from the default stream's and be one of its own.
        void* const handle = std::malloc(1);
        *stream = static_cast<cudaStream_t>(handle);
        return failed(handle == nullptr ? cudaErrorMemoryAllocation : cudaSuccess);
    }

    PLUGINKIT_CPU_HIDDEN cudaError_t pluginkit_cpu_v2_cudaStreamCreateWithFlags(cudaStream_t* stream,
                                                                                unsigned int flags)
    {
        bool const known = flags == cudaStreamDefault || flags == cudaStreamNonBlocking;
        return known ? pluginkit_cpu_v2_cudaStreamCreate(stream) : failed(cudaErrorInvalidValue);
    }

    PLUGINKIT_CPU_HIDDEN cudaError_t pluginkit_cpu_v2_cudaStreamCreateWithPriority(cudaStream_t* stream,
                                                                                   unsigned int flags, int /*priority*/)
    {
        return pluginkit_cpu_v2_cudaStreamCreateWithFlags(stream, flags);
    }

    PLUGINKIT_CPU_HIDDEN cudaError_t pluginkit_cpu_v2_cudaStreamQuery(cudaStream_t /*stream*/)
    {
        return cudaSuccess;
    }

    PLUGINKIT_CPU_HIDDEN cudaError_t pluginkit_cpu_v2_cudaStreamWaitEvent(cudaStream_t /*stream*/, cudaEvent_t event,
                                                                          unsigned int /*flags*/)
    {
        return failed(event == nullptr ? cudaErrorInvalidResourceHandle : cudaSuccess);
    }

    PLUGINKIT_CPU_HIDDEN cudaError_t pluginkit_cpu_v2_cudaStreamDestroy(cudaStream_t stream)
    {
        std::free(stream);
        return cudaSuccess;
    }

    PLUGINKIT_CPU_HIDDEN cudaError_t pluginkit_cpu_v2_cudaStreamSynchronize(cudaStream_t /*stream*/)
    {
        return cudaSuccess;
    }

    PLUGINKIT_CPU_HIDDEN cudaError_t pluginkit_cpu_v2_cudaDeviceSynchronize()
    {
        return cudaSuccess;
    }

} // extern "C"
