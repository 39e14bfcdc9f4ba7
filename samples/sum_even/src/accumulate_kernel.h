#pragma once

// What the plugin (accumulate.cpp) and its kernel (accumulate_kernel.cu) share. No TensorRT here:
// the kernel is compiled once, the plugin once for each layout of TensorRT's classes.

#include <cuda_runtime_api.h>
#include <pluginkit/shape.h>

#include <cstdint>

namespace accumulate_plugin
{

//! What the layer was created with: the fields of its creator, which are the attributes of its ONNX node.
struct AccumulateParameters
{
    float weight{1.0F};
};

//! The types that the layer computes in; a row of kTypes in accumulate.cpp each.
enum class AccumulatePrecision : int32_t
{
    kFLOAT,
    kHALF,
};

//! What one run of the kernel works on. `data` is device memory, `count` its number of elements, and `scale` what one
//! step of an INT8 element is worth (not used for other types).
//! A layer along an axis takes sizes from `shape`: `args.inputs.so_far.shape.dims[0]` is the first dimension.
struct AccumulateArguments
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
        pluginkit::Shape shape;
    };

    struct Inputs
    {
        Input so_far;
        Input item;
    };

    struct Outputs
    {
        Output accumulated;
    };

    AccumulateParameters parameters;
    Inputs inputs;
    Outputs outputs;
    int64_t count; //!< elements of the largest output
};

//! Starts the kernel on the stream and returns at once; no output element means no launch.
cudaError_t launchAccumulate(AccumulateArguments const& args, AccumulatePrecision precision,
                             cudaStream_t stream) noexcept;

} // namespace accumulate_plugin
