//! Launches by cudaLaunchConfig_t: cudaLaunchKernelEx, which the rewriter makes `launchKernelEx`, and
//! cudaLaunchKernelExC.
#pragma once

#include <pluginkit/cpu/kernel.h>

#include <utility>

namespace pluginkit_cpu
{

inline namespace v2
{

//! The configuration as a launch has it. Clusters of more than one block are not supported; what else an attribute asks
//! for (priorities, programmatic order) changes nothing here.
inline cudaError_t readConfiguration(cudaLaunchConfig_t const* config, Configuration& configuration) noexcept
{
    if (config == nullptr || (config->numAttrs != 0 && config->attrs == nullptr))
    {
        return cudaErrorInvalidValue;
    }
    configuration = {config->gridDim, config->blockDim, config->dynamicSmemBytes, config->stream, false};
    for (unsigned int i = 0; i < config->numAttrs; ++i)
    {
        auto const& value = config->attrs[i].val;
        if (config->attrs[i].id == cudaLaunchAttributeCooperative)
        {
            configuration.cooperative = value.cooperative != 0;
        }
        else if (config->attrs[i].id == cudaLaunchAttributeClusterDimension &&
                 (value.clusterDim.x > 1 || value.clusterDim.y > 1 || value.clusterDim.z > 1))
        {
            return cudaErrorNotSupported;
        }
    }
    return cudaSuccess;
}

template <typename... Parameters, typename... Arguments>
cudaError_t launchKernelEx(cudaLaunchConfig_t const* config, void (*kernel)(Parameters...), Arguments&&... arguments)
{
    Configuration configuration{};
    cudaError_t const error = readConfiguration(config, configuration);
    if (error != cudaSuccess)
    {
        return error;
    }
    return Launch{kernel, "cudaLaunchKernelEx", configuration}.run(
        static_cast<Parameters>(std::forward<Arguments>(arguments))...);
}

} // namespace v2

} // namespace pluginkit_cpu

//! cudaLaunchKernelExC of a kernel whose type is known; see cudaLaunchKernel.
template <typename... Parameters>
cudaError_t cudaLaunchKernelExC(cudaLaunchConfig_t const* config, void (*kernel)(Parameters...), void** arguments)
{
    pluginkit_cpu::Configuration configuration{};
    cudaError_t const error = pluginkit_cpu::readConfiguration(config, configuration);
    return error != cudaSuccess
               ? error
               : pluginkit_cpu::launchTyped(kernel, configuration, arguments, std::index_sequence_for<Parameters...>{});
}
