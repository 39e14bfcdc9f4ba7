#pragma once

// What the plugin (gate_activation.cpp) and its kernel (gate_activation_kernel.cu) share. No TensorRT here:
// the kernel is compiled once, the plugin once for each layout of TensorRT's classes.

#include <cuda_runtime_api.h>
#include <pluginkit/shape.h>

#include <cstdint>
#include <string>

namespace gate_activation
{

//! What the layer was created with: the fields of its creator, which are the attributes of its ONNX node.
struct GateActivationParameters
{
    std::string kind{"tanh"};
};

//! The functions of an LSTM; their names are the texts of the field `kind`.
enum class GateActivationKind : int32_t
{
    kTanh,    //!< of the cell's gate, and of the cell
    kSigmoid, //!< of the input, output and forget gate
};

//! What the kernel gets of them: plain numbers, for a kernel's arguments are copied byte by byte.
struct GateActivationNumbers
{
    GateActivationKind kind;
};

//! The types that the layer computes in; a row of kTypes in gate_activation.cpp each.
enum class GateActivationPrecision : int32_t
{
    kFLOAT,
    kHALF,
    kBF16,
};

//! What one run of the kernel works on. `data` is device memory, `count` its number of elements, and `scale` what one
//! step of an INT8 element is worth (not used for other types).
//! A layer along an axis takes sizes from `shape`: `args.inputs.x.shape.dims[0]` is the first dimension.
struct GateActivationArguments
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

    GateActivationNumbers parameters;
    Inputs inputs;
    Outputs outputs;
    int64_t count; //!< elements of the largest output
};

//! Starts the kernel on the stream and returns at once; no output element means no launch.
cudaError_t launchGateActivation(GateActivationArguments const& args, GateActivationPrecision precision,
                                 cudaStream_t stream) noexcept;

} // namespace gate_activation
