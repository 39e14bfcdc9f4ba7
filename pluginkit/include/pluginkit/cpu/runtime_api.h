//! The C++ forms of the runtime's functions that CUDA's headers declare for nvcc alone: those of variables and of
//! kernels.
#pragma once

#include <pluginkit/cpu/engine.h>

#include <memory>

namespace pluginkit_cpu
{

inline namespace v2
{

//! A __device__ or __constant__ variable, whose address on the host is its address.
struct Symbol
{
    void const* address;
    size_t size; //!< 0 if unknown.
};

template <typename T>
Symbol symbolOf(T const& variable) noexcept
{
    return {std::addressof(variable), sizeof(T)};
}

//! The arguments of a copy to or from a variable, besides the variable.
struct SymbolCopy
{
    char const* function;
    void* to;         //!< Null: the variable.
    void const* from; //!< Null: the variable.
    size_t count;
    size_t offset;
    cudaMemcpyKind kind;
    cudaStream_t stream;
    bool blocking;
};

PLUGINKIT_CPU_HIDDEN cudaError_t copySymbol(Symbol const& symbol, SymbolCopy const& copy) noexcept;
PLUGINKIT_CPU_HIDDEN cudaError_t symbolAddress(void** address, Symbol const& symbol) noexcept;

} // namespace v2

} // namespace pluginkit_cpu

template <typename T>
cudaError_t cudaMemcpyToSymbol(T const& symbol, void const* from, size_t count, size_t offset = 0,
                               cudaMemcpyKind kind = cudaMemcpyHostToDevice)
{
    return pluginkit_cpu::copySymbol(pluginkit_cpu::symbolOf(symbol),
                                     {"cudaMemcpyToSymbol", nullptr, from, count, offset, kind, nullptr, true});
}

template <typename T>
cudaError_t cudaMemcpyToSymbolAsync(T const& symbol, void const* from, size_t count, size_t offset = 0,
                                    cudaMemcpyKind kind = cudaMemcpyHostToDevice, cudaStream_t stream = nullptr)
{
    return pluginkit_cpu::copySymbol(pluginkit_cpu::symbolOf(symbol),
                                     {"cudaMemcpyToSymbolAsync", nullptr, from, count, offset, kind, stream, false});
}

template <typename T>
cudaError_t cudaMemcpyFromSymbol(void* to, T const& symbol, size_t count, size_t offset = 0,
                                 cudaMemcpyKind kind = cudaMemcpyDeviceToHost)
{
    return pluginkit_cpu::copySymbol(pluginkit_cpu::symbolOf(symbol),
                                     {"cudaMemcpyFromSymbol", to, nullptr, count, offset, kind, nullptr, true});
}

template <typename T>
cudaError_t cudaMemcpyFromSymbolAsync(void* to, T const& symbol, size_t count, size_t offset = 0,
                                      cudaMemcpyKind kind = cudaMemcpyDeviceToHost, cudaStream_t stream = nullptr)
{
    return pluginkit_cpu::copySymbol(pluginkit_cpu::symbolOf(symbol),
                                     {"cudaMemcpyFromSymbolAsync", to, nullptr, count, offset, kind, stream, false});
}

template <typename Pointer, typename T>
cudaError_t cudaGetSymbolAddress(Pointer** address, T const& symbol)
{
    return pluginkit_cpu::symbolAddress(reinterpret_cast<void**>(address), pluginkit_cpu::symbolOf(symbol));
}

template <typename T>
cudaError_t cudaGetSymbolSize(size_t* size, T const& /*symbol*/)
{
    if (size == nullptr)
    {
        return cudaErrorInvalidValue;
    }
    *size = sizeof(T);
    return cudaSuccess;
}

// A kernel's address is taken as it is; the cast says so to CUDA's own declarations.

template <typename Result, typename... Parameters>
cudaError_t cudaFuncSetAttribute(Result (*kernel)(Parameters...), cudaFuncAttribute attribute, int value)
{
    return cudaFuncSetAttribute(reinterpret_cast<void const*>(kernel), attribute, value);
}

template <typename Result, typename... Parameters>
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, Result (*kernel)(Parameters...))
{
    return cudaFuncGetAttributes(attributes, reinterpret_cast<void const*>(kernel));
}

template <typename Result, typename... Parameters>
cudaError_t cudaFuncSetCacheConfig(Result (*kernel)(Parameters...), cudaFuncCache config)
{
    return cudaFuncSetCacheConfig(reinterpret_cast<void const*>(kernel), config);
}
