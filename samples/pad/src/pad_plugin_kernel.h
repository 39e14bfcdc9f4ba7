#pragma once

// What the plugin (pad_plugin.cpp) and its kernel (pad_plugin_kernel.cu) share. No TensorRT here:
// the kernel is compiled once, the plugin once for each layout of TensorRT's classes.

#include <cuda_runtime_api.h>
#include <pluginkit/shape.h>

#include <array>
#include <cstdint>
#include <string>

namespace pad_plugin
{

//! What the layer was created with: the fields of its creator, which are the attributes of its ONNX node.
struct PadPluginParameters
{
    std::array<int64_t, 4> pads{0, 1, 1, 2};
    std::string mode{"constant"};
    float value{0.0F};
    float x_scale{0.0F};
    float y_scale{0.0F};
};

//! What stands beyond the image; ONNX's names for it are the texts of the field `mode`.
enum class PadMode : int32_t
{
    kConstant, //!< the field `value`
    kEdge,     //!< the image's nearest element
    kReflect,  //!< the image mirrored at its first and last element, which aren't repeated
    kWrap,     //!< the image again
};

//! What the kernel gets of them: plain numbers, for a kernel's arguments are copied byte by byte.
struct PadPluginNumbers
{
    int64_t top;  //!< rows above the image
    int64_t left; //!< columns to the left of it
    PadMode mode;
    float value; //!< what the mode kConstant puts there: a number, also of an INT8 tensor
};

//! The types that the layer computes in; a row of kTypes in pad_plugin.cpp each.
enum class PadPluginPrecision : int32_t
{
    kFLOAT,
    kHALF,
    kBF16,
    kINT8,
};

//! What one run of the kernel works on. `data` is device memory, `count` its number of elements, and `scale` what one
//! step of an INT8 element is worth (not used for other types).
//! A layer along an axis takes sizes from `shape`: `args.inputs.x.shape.dims[0]` is the first dimension.
struct PadPluginArguments
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

    PadPluginNumbers parameters;
    Inputs inputs;
    Outputs outputs;
    int64_t count; //!< elements of the largest output
};

//! Starts the kernel on the stream and returns at once; no output element means no launch.
cudaError_t launchPadPlugin(PadPluginArguments const& args, PadPluginPrecision precision, cudaStream_t stream) noexcept;

} // namespace pad_plugin
