//! CUDA's functions of streams.

#include "objects.h"
#include "streams.h"

using pluginkit_cpu::answer;
using pluginkit_cpu::Caller;
using pluginkit_cpu::gStreams;
using pluginkit_cpu::Side;
using pluginkit_cpu::StreamState;

namespace
{

cudaError_t create(cudaStream_t* stream, unsigned int flags, int priority, Caller const& caller) noexcept
{
    return answer(
        [&]
        {
            cudaError_t const error =
                stream == nullptr ? cudaErrorInvalidValue : gStreams.create(*stream, flags, priority);
            if (error == cudaSuccess)
            {
                pluginkit_cpu::took("stream", *stream, 0, caller);
            }
            return error;
        });
}

template <typename T, typename Get>
cudaError_t ask(cudaStream_t stream, T* value, Get const& get) noexcept
{
    return answer(
        [&]
        {
            StreamState state{};
            cudaError_t const error = value == nullptr ? cudaErrorInvalidValue : gStreams.ask(stream, state);
            if (error == cudaSuccess)
            {
                *value = get(state);
            }
            return error;
        });
}

} // namespace

extern "C"
{

    PLUGINKIT_CPU_HIDDEN cudaError_t pluginkit_cpu_v2_cudaStreamCreateWithPriority(cudaStream_t* stream,
                                                                                   unsigned int flags, int priority)
    {
        return create(stream, flags, priority, {"cudaStreamCreateWithPriority", __builtin_return_address(0)});
    }

    PLUGINKIT_CPU_HIDDEN cudaError_t pluginkit_cpu_v2_cudaStreamCreateWithFlags(cudaStream_t* stream,
                                                                                unsigned int flags)
    {
        return create(stream, flags, 0, {"cudaStreamCreateWithFlags", __builtin_return_address(0)});
    }

    PLUGINKIT_CPU_HIDDEN cudaError_t pluginkit_cpu_v2_cudaStreamCreate(cudaStream_t* stream)
    {
        return create(stream, cudaStreamDefault, 0, {"cudaStreamCreate", __builtin_return_address(0)});
    }

    PLUGINKIT_CPU_HIDDEN cudaError_t pluginkit_cpu_v2_cudaStreamDestroy(cudaStream_t stream)
    {
        return answer(
            [&]
            {
                cudaError_t const error = gStreams.destroy(stream);
                if (error == cudaSuccess)
                {
                    pluginkit_cpu::gaveBack(stream);
                }
                return error;
            });
    }

    PLUGINKIT_CPU_HIDDEN cudaError_t pluginkit_cpu_v2_cudaStreamGetFlags(cudaStream_t stream, unsigned int* flags)
    {
        return ask(stream, flags, [](StreamState const& state) { return state.flags; });
    }

    PLUGINKIT_CPU_HIDDEN cudaError_t pluginkit_cpu_v2_cudaStreamGetPriority(cudaStream_t stream, int* priority)
    {
        return ask(stream, priority, [](StreamState const& state) { return state.priority; });
    }

    PLUGINKIT_CPU_HIDDEN cudaError_t pluginkit_cpu_v2_cudaStreamGetId(cudaStream_t stream, unsigned long long* identity)
    {
        return ask(stream, identity, [](StreamState const& state) { return state.identity; });
    }

    PLUGINKIT_CPU_HIDDEN cudaError_t pluginkit_cpu_v2_cudaStreamGetDevice(cudaStream_t stream, int* device)
    {
        return ask(stream, device, [](StreamState const&) { return 0; });
    }

    PLUGINKIT_CPU_HIDDEN cudaError_t pluginkit_cpu_v2_cudaStreamIsCapturing(cudaStream_t stream,
                                                                            cudaStreamCaptureStatus* status)
    {
        return ask(stream, status, [](StreamState const&) { return cudaStreamCaptureStatusNone; });
    }

    // What they ask for (a window of the L2 cache, priorities) changes nothing here.

    PLUGINKIT_CPU_HIDDEN cudaError_t pluginkit_cpu_v2_cudaStreamSetAttribute(cudaStream_t stream, cudaStreamAttrID,
                                                                             cudaStreamAttrValue const* value)
    {
        StreamState state{};
        return answer([&] { return value == nullptr ? cudaErrorInvalidValue : gStreams.ask(stream, state); });
    }

    PLUGINKIT_CPU_HIDDEN cudaError_t pluginkit_cpu_v2_cudaCtxResetPersistingL2Cache()
    {
        return answer([] { return cudaSuccess; });
    }

    PLUGINKIT_CPU_HIDDEN cudaError_t pluginkit_cpu_v2_cudaStreamQuery(cudaStream_t stream)
    {
        Caller const caller{"cudaStreamQuery", __builtin_return_address(0)};
        return answer(
            [&]
            {
                pluginkit_cpu::checkNoQuery(caller);
                return gStreams.query(stream);
            });
    }

    PLUGINKIT_CPU_HIDDEN cudaError_t pluginkit_cpu_v2_cudaStreamSynchronize(cudaStream_t stream)
    {
        Caller const caller{"cudaStreamSynchronize", __builtin_return_address(0)};
        return answer(
            [&]
            {
                pluginkit_cpu::checkNoSynchronization(caller);
                return gStreams.synchronize(stream);
            });
    }

    PLUGINKIT_CPU_HIDDEN cudaError_t pluginkit_cpu_v2_cudaDeviceSynchronize()
    {
        Caller const caller{"cudaDeviceSynchronize", __builtin_return_address(0)};
        return answer(
            [&]
            {
                pluginkit_cpu::checkNoSynchronization(caller);
                gStreams.synchronizeAll();
                return cudaSuccess;
            });
    }

    PLUGINKIT_CPU_HIDDEN cudaError_t pluginkit_cpu_v2_cudaThreadSynchronize()
    {
        return pluginkit_cpu_v2_cudaDeviceSynchronize();
    }

    PLUGINKIT_CPU_HIDDEN cudaError_t pluginkit_cpu_v2_cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function,
                                                                         void* data)
    {
        Caller const caller{"cudaLaunchHostFunc", __builtin_return_address(0)};
        return answer(
            [&]
            {
                return function == nullptr
                           ? cudaErrorInvalidValue
                           : gStreams.enqueue(stream, [function, data] { function(data); }, caller, Side::kHost);
            });
    }

    PLUGINKIT_CPU_HIDDEN cudaError_t pluginkit_cpu_v2_cudaStreamAddCallback(cudaStream_t stream,
                                                                            cudaStreamCallback_t callback, void* data,
                                                                            unsigned int flags)
    {
        Caller const caller{"cudaStreamAddCallback", __builtin_return_address(0)};
        return answer(
            [&]
            {
                return callback == nullptr || flags != 0
                           ? cudaErrorInvalidValue
                           : gStreams.enqueue(
                                 stream, [=] { callback(stream, cudaSuccess, data); }, caller, Side::kHost);
            });
    }

} // extern "C"
