//! CUDA's functions that copy and fill memory.

#include "memory_copy.h"

#include <pluginkit/cpu/runtime_api.h>

using pluginkit_cpu::Allocation;
using pluginkit_cpu::answer;
using pluginkit_cpu::Caller;
using pluginkit_cpu::copyRows;
using pluginkit_cpu::fillRows;
using pluginkit_cpu::gMemory;
using pluginkit_cpu::Symbol;
using pluginkit_cpu::SymbolCopy;

namespace
{

//! A copy of one row.
cudaError_t copy(void* to, void const* from, size_t size, cudaMemcpyKind kind, cudaStream_t stream, bool blocking,
                 Caller const& caller) noexcept
{
    return answer([&] { return copyRows({to, size, from, size, {size, 1}, kind}, stream, blocking, caller); });
}

//! So that copies know the variable for device memory.
void makeKnown(Symbol const& symbol)
{
    Allocation known{};
    known.begin = reinterpret_cast<uintptr_t>(symbol.address);
    known.size = symbol.size;
    known.origin = pluginkit_cpu::Origin::kSymbol;
    if (symbol.size > 0)
    {
        gMemory.add(known);
    }
}

} // namespace

cudaError_t pluginkit_cpu::copySymbol(Symbol const& symbol, SymbolCopy const& copy) noexcept
{
    Caller const caller{copy.function, __builtin_return_address(0)};
    return answer(
        [&]
        {
            bool const writes = copy.to == nullptr && copy.from != nullptr;
            if (symbol.address == nullptr || (copy.to == nullptr && copy.from == nullptr))
            {
                return symbol.address == nullptr ? cudaErrorInvalidSymbol : cudaErrorInvalidValue;
            }
            if (symbol.size != 0 && (copy.offset > symbol.size || copy.count > symbol.size - copy.offset))
            {
                return cudaErrorInvalidValue;
            }
            if (copy.kind == cudaMemcpyHostToHost ||
                copy.kind == (writes ? cudaMemcpyDeviceToHost : cudaMemcpyHostToDevice))
            {
                return cudaErrorInvalidMemcpyDirection;
            }
            makeKnown(symbol);
            char* const at = const_cast<char*>(static_cast<char const*>(symbol.address)) + copy.offset;
            pluginkit_cpu::Copy const rows{writes ? at : copy.to, copy.count, writes ? copy.from : at, copy.count,
                                           {copy.count, 1},       copy.kind};
            return copyRows(rows, copy.stream, copy.blocking, caller);
        });
}

cudaError_t pluginkit_cpu::symbolAddress(void** address, Symbol const& symbol) noexcept
{
    return answer(
        [&]
        {
            if (address == nullptr || symbol.address == nullptr)
            {
                return cudaErrorInvalidValue;
            }
            makeKnown(symbol);
            *address = const_cast<void*>(symbol.address);
            return cudaSuccess;
        });
}

extern "C"
{

    PLUGINKIT_CPU_HIDDEN cudaError_t pluginkit_cpu_v2_cudaMemcpy(void* to, void const* from, size_t size,
                                                                 cudaMemcpyKind kind)
    {
        return copy(to, from, size, kind, nullptr, true, {"cudaMemcpy", __builtin_return_address(0)});
    }

    PLUGINKIT_CPU_HIDDEN cudaError_t pluginkit_cpu_v2_cudaMemcpyAsync(void* to, void const* from, size_t size,
                                                                      cudaMemcpyKind kind, cudaStream_t stream)
    {
        return copy(to, from, size, kind, stream, false, {"cudaMemcpyAsync", __builtin_return_address(0)});
    }

    PLUGINKIT_CPU_HIDDEN cudaError_t pluginkit_cpu_v2_cudaMemcpyPeer(void* to, int toDevice, void const* from,
                                                                     int fromDevice, size_t size)
    {
        Caller const caller{"cudaMemcpyPeer", __builtin_return_address(0)};
        bool const known = toDevice == 0 && fromDevice == 0;
        return known ? copy(to, from, size, cudaMemcpyDeviceToDevice, nullptr, true, caller)
                     : answer([] { return cudaErrorInvalidDevice; });
    }

    PLUGINKIT_CPU_HIDDEN cudaError_t pluginkit_cpu_v2_cudaMemcpyPeerAsync(void* to, int toDevice, void const* from,
                                                                          int fromDevice, size_t size,
                                                                          cudaStream_t stream)
    {
        Caller const caller{"cudaMemcpyPeerAsync", __builtin_return_address(0)};
        bool const known = toDevice == 0 && fromDevice == 0;
        return known ? copy(to, from, size, cudaMemcpyDeviceToDevice, stream, false, caller)
                     : answer([] { return cudaErrorInvalidDevice; });
    }

    PLUGINKIT_CPU_HIDDEN cudaError_t pluginkit_cpu_v2_cudaMemcpy2D(void* to, size_t toPitch, void const* from,
                                                                   size_t fromPitch, size_t width, size_t height,
                                                                   cudaMemcpyKind kind)
    {
        Caller const caller{"cudaMemcpy2D", __builtin_return_address(0)};
        return answer(
            [&] { return copyRows({to, toPitch, from, fromPitch, {width, height}, kind}, nullptr, true, caller); });
    }

    PLUGINKIT_CPU_HIDDEN cudaError_t pluginkit_cpu_v2_cudaMemcpy2DAsync(void* to, size_t toPitch, void const* from,
                                                                        size_t fromPitch, size_t width, size_t height,
                                                                        cudaMemcpyKind kind, cudaStream_t stream)
    {
        Caller const caller{"cudaMemcpy2DAsync", __builtin_return_address(0)};
        return answer(
            [&] { return copyRows({to, toPitch, from, fromPitch, {width, height}, kind}, stream, false, caller); });
    }

    PLUGINKIT_CPU_HIDDEN cudaError_t pluginkit_cpu_v2_cudaMemset(void* to, int value, size_t size)
    {
        Caller const caller{"cudaMemset", __builtin_return_address(0)};
        return answer([&] { return fillRows(to, size, value, {size, 1}, nullptr, caller); });
    }

    PLUGINKIT_CPU_HIDDEN cudaError_t pluginkit_cpu_v2_cudaMemsetAsync(void* to, int value, size_t size,
                                                                      cudaStream_t stream)
    {
        Caller const caller{"cudaMemsetAsync", __builtin_return_address(0)};
        return answer([&] { return fillRows(to, size, value, {size, 1}, stream, caller); });
    }

    PLUGINKIT_CPU_HIDDEN cudaError_t pluginkit_cpu_v2_cudaMemset2D(void* to, size_t pitch, int value, size_t width,
                                                                   size_t height)
    {
        Caller const caller{"cudaMemset2D", __builtin_return_address(0)};
        return answer([&] { return fillRows(to, pitch, value, {width, height}, nullptr, caller); });
    }

    PLUGINKIT_CPU_HIDDEN cudaError_t pluginkit_cpu_v2_cudaMemset2DAsync(void* to, size_t pitch, int value, size_t width,
                                                                        size_t height, cudaStream_t stream)
    {
        Caller const caller{"cudaMemset2DAsync", __builtin_return_address(0)};
        return answer([&] { return fillRows(to, pitch, value, {width, height}, stream, caller); });
    }

    // Of variables, where their address is given: their size is not known then.

    PLUGINKIT_CPU_HIDDEN cudaError_t pluginkit_cpu_v2_cudaMemcpyToSymbol(void const* symbol, void const* from,
                                                                         size_t count, size_t offset,
                                                                         cudaMemcpyKind kind)
    {
        return pluginkit_cpu::copySymbol({symbol, 0},
                                         {"cudaMemcpyToSymbol", nullptr, from, count, offset, kind, nullptr, true});
    }

    PLUGINKIT_CPU_HIDDEN cudaError_t pluginkit_cpu_v2_cudaMemcpyToSymbolAsync(void const* symbol, void const* from,
                                                                              size_t count, size_t offset,
                                                                              cudaMemcpyKind kind, cudaStream_t stream)
    {
        return pluginkit_cpu::copySymbol(
            {symbol, 0}, {"cudaMemcpyToSymbolAsync", nullptr, from, count, offset, kind, stream, false});
    }

    PLUGINKIT_CPU_HIDDEN cudaError_t pluginkit_cpu_v2_cudaMemcpyFromSymbol(void* to, void const* symbol, size_t count,
                                                                           size_t offset, cudaMemcpyKind kind)
    {
        return pluginkit_cpu::copySymbol({symbol, 0},
                                         {"cudaMemcpyFromSymbol", to, nullptr, count, offset, kind, nullptr, true});
    }

    PLUGINKIT_CPU_HIDDEN cudaError_t pluginkit_cpu_v2_cudaMemcpyFromSymbolAsync(void* to, void const* symbol,
                                                                                size_t count, size_t offset,
                                                                                cudaMemcpyKind kind,
                                                                                cudaStream_t stream)
    {
        return pluginkit_cpu::copySymbol(
            {symbol, 0}, {"cudaMemcpyFromSymbolAsync", to, nullptr, count, offset, kind, stream, false});
    }

    PLUGINKIT_CPU_HIDDEN cudaError_t pluginkit_cpu_v2_cudaGetSymbolAddress(void** address, void const* symbol)
    {
        return pluginkit_cpu::symbolAddress(address, {symbol, 0});
    }

} // extern "C"
