#pragma once

// What the plugin (my_plugin.cpp) and its kernel (my_plugin_kernel.cu) share. No TensorRT here:
// the kernel is compiled once, the plugin once for each layout of TensorRT's classes.

#include <cuda_runtime_api.h>

#include <cstdint>

namespace my_plugin
{

//! What the layer was created with: the fields of its creator, which are the attributes of its ONNX node.
struct MyPluginParameters
{
    float alpha{0.5F};
    float x_scale{0.0F};
    float y_scale{0.0F};
};

//! The types that the layer computes in; a row of kTypes in my_plugin.cpp each.
enum class MyPluginPrecision : int32_t
{
    kFLOAT,
    kHALF,
    kINT8,
};

//! What one run of the kernel works on. `data` is device memory, `count` its number of elements, and `scale` what one
//! step of an INT8 element is worth (not used for other types).
struct MyPluginArguments
{
    struct Input
    {
        void const* data;
        int64_t count;
        float scale;
    };

    struct Output
    {
        void* data;
        int64_t count;
        float scale;
    };

    struct Inputs
    {
        Input x;
    };

    struct Outputs
    {
        Output y;
    };

    MyPluginParameters parameters;
    Inputs inputs;
    Outputs outputs;
    int64_t count; //!< elements of the largest output
};

//! Starts the kernel on the stream and returns at once; no output element means no launch.
cudaError_t launchMyPlugin(MyPluginArguments const& args, MyPluginPrecision precision, cudaStream_t stream) noexcept;

} // namespace my_plugin
