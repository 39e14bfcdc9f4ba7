#pragma once

// What the plugin (@{ cookiecutter.slug }@.cpp) and its kernel (@{ cookiecutter.slug }@_kernel.cu) share. No TensorRT here:
// the kernel is compiled once, the plugin once for each layout of TensorRT's classes.

#include <cuda_runtime_api.h>

#include <cstdint>

namespace @{ cookiecutter.namespace_cpp }@
{

//! What the layer was created with: the fields of its creator, which are the attributes of its ONNX node.
struct @{ cookiecutter.name }@Parameters
{
@% for field in cookiecutter.fields %@
    @{ field.cpp }@ @{ field.name }@{@{ field.literal }@};
@% endfor %@
};

//! The types that the layer computes in; a row of kTypes in @{ cookiecutter.slug }@.cpp each.
enum class @{ cookiecutter.name }@Precision : int32_t
{
@% for precision in cookiecutter.precisions %@
    @{ precision.trt }@,
@% endfor %@
};

@% if cookiecutter.vectorized %@
//! Where a tensor's elements lie: `channels` told in vectors of `lanes`, each element of a channel `inner` times.
//! Linear memory has vectors of one.
struct @{ cookiecutter.name }@Layout
{
    int64_t channels;
    int64_t lanes;
    int64_t inner;
};

@% endif %@
//! What one run of the kernel works on. `data` is device memory, `count` its number of elements, and `scale` what one
//! step of an INT8 element is worth (not used for other types).
struct @{ cookiecutter.name }@Arguments
{
    struct Input
    {
        void const* data;
        int64_t count;
        float scale;
@% if cookiecutter.vectorized %@
        @{ cookiecutter.name }@Layout layout;
@% endif %@
    };

    struct Output
    {
        void* data;
        int64_t count;
        float scale;
@% if cookiecutter.vectorized %@
        @{ cookiecutter.name }@Layout layout;
@% endif %@
    };

    struct Inputs
    {
@% for tensor in cookiecutter.inputs %@
        Input @{ tensor.name }@;
@% endfor %@
    };

    struct Outputs
    {
@% for tensor in cookiecutter.outputs %@
        Output @{ tensor.name }@;
@% endfor %@
    };

    @{ cookiecutter.name }@Parameters parameters;
    Inputs inputs;
    Outputs outputs;
    int64_t count; //!< elements of the largest output
};

//! Starts the kernel on the stream and returns at once; no output element means no launch.
cudaError_t launch@{ cookiecutter.name }@(@{ cookiecutter.name }@Arguments const& args, @{ cookiecutter.name }@Precision precision, cudaStream_t stream) noexcept;

} // namespace @{ cookiecutter.namespace_cpp }@
