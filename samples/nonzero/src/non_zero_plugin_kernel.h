#pragma once

// What the plugin (non_zero_plugin.cpp) and its kernel (non_zero_plugin_kernel.cu) share. No TensorRT here:
// the kernel is compiled once, the plugin once for each layout of TensorRT's classes.

#include <cuda_runtime_api.h>
#include <pluginkit/shape.h>

#include <cstdint>

namespace non_zero_plugin
{

//! What the layer was created with: the fields of its creator, which are the attributes of its ONNX node.
struct NonZeroPluginParameters
{
};

//! The types that the layer computes in; a row of kTypes in non_zero_plugin.cpp each.
enum class NonZeroPluginPrecision : int32_t
{
    kFLOAT,
    kHALF,
};

//! What one run of the kernel works on. `data` is device memory, `count` its number of elements, and `scale` what one
//! step of an INT8 element is worth (not used for other types).
//! A layer along an axis takes sizes from `shape`: `args.inputs.x.shape.dims[0]` is the first dimension.
struct NonZeroPluginArguments
{
    struct Input
    {
        void const* data;
        int64_t count;
        float scale;
        pluginkit::Shape shape;
    };

    struct Output
    {
        void* data;
        int64_t count;
        float scale;
        int64_t upper; //!< of a size tensor, its upper bound; the `count` and `shape` of what has it are those of that
        pluginkit::Shape shape;
    };

    struct Inputs
    {
        Input x;
    };

    struct Outputs
    {
        Output indices;
        Output count;
    };

    NonZeroPluginParameters parameters;
    Inputs inputs;
    Outputs outputs;
    int64_t count; //!< elements of the largest output
};

//! Starts the kernel on the stream and returns at once. It runs without input elements too: the count is 0 then.
cudaError_t launchNonZeroPlugin(NonZeroPluginArguments const& args, NonZeroPluginPrecision precision,
                                cudaStream_t stream) noexcept;

} // namespace non_zero_plugin
