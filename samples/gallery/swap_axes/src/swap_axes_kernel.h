#pragma once

// What the plugin (swap_axes.cpp) and its kernel (swap_axes_kernel.cu) share. No TensorRT here:
// the kernel is compiled once, the plugin once for each layout of TensorRT's classes.

#include <cuda_runtime_api.h>
#include <pluginkit/shape.h>

#include <cstdint>

namespace swap_axes
{

//! What the layer was created with: the fields of its creator, which are the attributes of its ONNX node.
struct SwapAxesParameters
{
    float x_scale{0.0F};
    float y_scale{0.0F};
};

//! The types that the layer computes in; a row of kTypes in swap_axes.cpp each.
enum class SwapAxesPrecision : int32_t
{
    kFLOAT,
    kHALF,
    kBF16,
    kINT8,
};

//! What one run of the kernel works on. `data` is device memory, `count` its number of elements, and `scale` what one
//! step of an INT8 element is worth (not used for other types).
//! A layer along an axis takes sizes from `shape`: `args.inputs.x.shape.dims[0]` is the first dimension.
struct SwapAxesArguments
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
        Input x;
    };

    struct Outputs
    {
        Output y;
    };

    SwapAxesParameters parameters;
    Inputs inputs;
    Outputs outputs;
    int64_t count;  //!< elements of the largest output
    int32_t tactic; //!< which values of pluginkit.toml's [tuning] the launch takes; 0: those for the GPU it is on
};

//! Starts the kernel on the stream and returns at once; no output element means no launch.
cudaError_t launchSwapAxes(SwapAxesArguments const& args, SwapAxesPrecision precision, cudaStream_t stream) noexcept;

//! How many tactics an IPluginV3 has, from 1 on: the usual values of a launch, and those that `pluginkit tune` has put
//! into pluginkit.toml. 0: nothing is tuned.
int32_t tacticsOfSwapAxes() noexcept;

} // namespace swap_axes
