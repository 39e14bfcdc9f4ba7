#pragma once

// What the plugin (bar_plugin.cpp) and its kernel (bar_plugin_kernel.cu) share. No TensorRT here: the kernel is
// compiled once, the plugin once for each layout of TensorRT's classes.

#include <cuda_runtime_api.h>

#include <cstddef>

namespace bar_plugin
{

//! What one run of the kernel works on: device memory, and sizes in bytes. The layer moves bytes, so it does not ask
//! what they stand for. `copy` has bytesB bytes, `joined` bytesA + bytesB.
struct BarPluginArguments
{
    void const* a;
    void const* b;
    void* copy;
    void* joined;
    size_t bytesA;
    size_t bytesB;
};

//! Starts the kernel on the stream and returns at once; no output byte means no launch.
cudaError_t launchBarPlugin(BarPluginArguments const& args, cudaStream_t stream) noexcept;

} // namespace bar_plugin
