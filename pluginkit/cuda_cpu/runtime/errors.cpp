//! Errors as CUDA has them: one that a host thread can ask for once, and one that sticks to everything.

#include "state.h"

#include <atomic>

namespace
{

//! What cudaGetLastError() gives and clears; one a host thread, as in CUDA.
__thread cudaError_t gLastError{cudaSuccess};

//! Of the whole library, as in CUDA of the whole process.
std::atomic<cudaError_t> gStuck{cudaSuccess};

} // namespace

cudaError_t pluginkit_cpu::failed(cudaError_t error) noexcept
{
    if (error != cudaSuccess)
    {
        gLastError = error;
    }
    return error;
}

void pluginkit_cpu::stick(cudaError_t error) noexcept
{
    cudaError_t none = cudaSuccess;
    gStuck.compare_exchange_strong(none, error);
}

cudaError_t pluginkit_cpu::stuck() noexcept
{
    return gStuck;
}

void pluginkit_cpu::clearErrors() noexcept
{
    gStuck = cudaSuccess;
    gLastError = cudaSuccess;
}

cudaError_t pluginkit_cpu::peekError() noexcept
{
    return gStuck != cudaSuccess ? gStuck.load() : gLastError;
}

extern "C"
{

    PLUGINKIT_CPU_HIDDEN cudaError_t pluginkit_cpu_v2_cudaPeekAtLastError()
    {
        return pluginkit_cpu::peekError();
    }

    PLUGINKIT_CPU_HIDDEN cudaError_t pluginkit_cpu_v2_cudaGetLastError()
    {
        cudaError_t const error = pluginkit_cpu::peekError();
        gLastError = cudaSuccess;
        return error;
    }

} // extern "C"
