#pragma once

// What the plugin (l_re_lu.cpp) and its kernel (l_re_lu_kernel.cu) share. No TensorRT here:
// the kernel is compiled once, the plugin once for each layout of TensorRT's classes.

#include <cuda_runtime_api.h>

#include <cstdint>

namespace l_re_lu
{

//! What the layer was created with: the fields of its creator, which are the attributes of its ONNX node.
struct LReLUParameters
{
    float neg_slope{0.01F};
};

//! The types that the layer computes in; a row of kTypes in l_re_lu.cpp each.
enum class LReLUPrecision : int32_t
{
    kFLOAT,
    kHALF,
};

//! What one run of the kernel works on. `data` is device memory, `count` its number of elements.
struct LReLUArguments
{
    struct Input
    {
        void const* data;
        int64_t count;
    };

    struct Output
    {
        void* data;
        int64_t count;
    };

    struct Inputs
    {
        Input x;
    };

    struct Outputs
    {
        Output y;
    };

    LReLUParameters parameters;
    Inputs inputs;
    Outputs outputs;
    int64_t count; //!< elements of the output
};

//! Starts the kernel on the stream and returns at once; no output element means no launch.
cudaError_t launchLReLU(LReLUArguments const& args, LReLUPrecision precision, cudaStream_t stream) noexcept;

} // namespace l_re_lu
