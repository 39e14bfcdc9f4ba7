//! Launches of a kernel whose type the call doesn't know: cudaLaunchKernel and its like of a void*.

#include "findings.h"
#include "state.h"

#include <pluginkit/cpu/kernel_address.h>
#include <pluginkit/cpu/launch_config.h>

#include <map>
#include <mutex>

namespace
{

using pluginkit_cpu::Configuration;
using pluginkit_cpu::Launcher;

//! How to launch the kernels whose addresses were taken.
class Launchers
{
public:
    void add(void const* kernel, Launcher launcher)
    {
        std::lock_guard<std::mutex> const lock{mMutex};
        mLaunchers[kernel] = launcher;
    }

    Launcher find(void const* kernel) const
    {
        std::lock_guard<std::mutex> const lock{mMutex};
        auto const found = mLaunchers.find(kernel);
        return found == mLaunchers.end() ? nullptr : found->second;
    }

private:
    mutable std::mutex mMutex;
    std::map<void const*, Launcher> mLaunchers;
};

// A library's own tables of kernels may be filled when it is loaded.
__attribute__((init_priority(101))) Launchers gLaunchers;

cudaError_t launchAt(char const* function, void const* code, void const* kernel, Configuration const& configuration,
                     void** arguments)
{
    Launcher const launcher = gLaunchers.find(kernel);
    if (launcher != nullptr)
    {
        return launcher(kernel, configuration, arguments);
    }
    if (kernel != nullptr)
    {
        pluginkit_cpu::report({"launch-config",
                               std::string{function} + " was given an address of which target cpu doesn't know " +
                                   "that it is a kernel's. Take it by (void*)kernel in a source of this library, or " +
                                   "launch by <<<>>>.",
                               {nullptr, 0},
                               code});
    }
    return pluginkit_cpu::failed(cudaErrorInvalidDeviceFunction);
}

} // namespace

void pluginkit_cpu::rememberLauncher(void const* kernel, Launcher launcher)
{
    gLaunchers.add(kernel, launcher);
}

extern "C"
{

    PLUGINKIT_CPU_HIDDEN cudaError_t pluginkit_cpu_v2_cudaLaunchKernel(void const* kernel, dim3 grid, dim3 block,
                                                                       void** arguments, size_t sharedBytes,
                                                                       cudaStream_t stream)
    {
        return launchAt("cudaLaunchKernel", __builtin_return_address(0), kernel,
                        {grid, block, sharedBytes, stream, false}, arguments);
    }

    PLUGINKIT_CPU_HIDDEN cudaError_t pluginkit_cpu_v2_cudaLaunchCooperativeKernel(void const* kernel, dim3 grid,
                                                                                  dim3 block, void** arguments,
                                                                                  size_t sharedBytes,
                                                                                  cudaStream_t stream)
    {
        return launchAt("cudaLaunchCooperativeKernel", __builtin_return_address(0), kernel,
                        {grid, block, sharedBytes, stream, true}, arguments);
    }

    PLUGINKIT_CPU_HIDDEN cudaError_t pluginkit_cpu_v2_cudaLaunchKernelExC(cudaLaunchConfig_t const* config,
                                                                          void const* kernel, void** arguments)
    {
        Configuration configuration{};
        cudaError_t const error = pluginkit_cpu::readConfiguration(config, configuration);
        return error != cudaSuccess
                   ? pluginkit_cpu::failed(error)
                   : launchAt("cudaLaunchKernelExC", __builtin_return_address(0), kernel, configuration, arguments);
    }

} // extern "C"
