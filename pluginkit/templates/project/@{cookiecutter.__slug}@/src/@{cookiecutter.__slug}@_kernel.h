@% set plugin = signature(cookiecutter) %@
#pragma once

// What the plugin (@{ plugin.slug }@.cpp) and its kernel (@{ plugin.slug }@_kernel.cu) share. No TensorRT here:
// the kernel is compiled once, the plugin once for each layout of TensorRT's classes.

#include <cuda_runtime_api.h>
@% if not plugin.static %@
#include <pluginkit/shape.h>
@% endif %@

@% if plugin.arrays %@
#include <array>
@% endif %@
#include <cstdint>
@% if plugin.limits %@
#include <limits>
@% endif %@
@% if plugin.texts %@
#include <string>
@% endif %@
@% if plugin.vectors %@
#include <vector>
@% endif %@

namespace @{ plugin.namespace_cpp }@
{

//! What the layer was created with: the fields of its creator, which are the attributes of its ONNX node.
struct @{ plugin.name }@Parameters
{
@% for field in plugin.fields %@
    @{ field.cpp }@ @{ field.name }@{@{ field.literal }@};
@% endfor %@
};

@% if plugin.wide %@
//! What the kernel gets of them: plain numbers, for a kernel's arguments are copied byte by byte. For the generated layer
//! a list or a text is one number. Give your kernel what it needs: a short list as a member `float weights[4]`, a long
//! one as the address of device memory.
struct @{ plugin.name }@Numbers
{
@% for number in plugin.numbers %@
    @{ number.cpp }@ @{ number.name }@;@{ " //!< " ~ number.says if number.says }@
@% endfor %@
};

@% endif %@
//! The types that the layer computes in; a row of kTypes in @{ plugin.slug }@.cpp each.
enum class @{ plugin.name }@Precision : int32_t
{
@% for precision in plugin.precisions %@
    @{ precision.trt }@,
@% endfor %@
};

@% if plugin.vectorized %@
//! Where a tensor's elements lie: `channels` told in vectors of `lanes`, each element of a channel `inner` times.
//! Linear memory has vectors of one.
struct @{ plugin.name }@Layout
{
    int64_t channels;
    int64_t lanes;
    int64_t inner;
};

@% endif %@
@% if plugin.channels %@
//! The scales of a tensor's channels, in device memory: element i, in row-major order, is of the channel
//! `i / inner % count`. Null where the tensor has one scale.
struct @{ plugin.name }@Channels
{
    float const* scales;
    int64_t count;
    int64_t inner;
};

@% endif %@
//! What one run of the kernel works on. `data` is device memory, `count` its number of elements, and `scale` what one
//! step of an @{ plugin.quantized or 'INT8' }@ element is worth (not used for other types).
@% if not plugin.static %@
//! A layer along an axis takes sizes from `shape`: `args.inputs.@{ plugin.inputs[0].name }@.shape.dims[0]` is the first dimension.
@% endif %@
struct @{ plugin.name }@Arguments
{
    struct Input
    {
        void const* data;
        int64_t count;
        float scale;
@% if plugin.channels %@
        @{ plugin.name }@Channels channels;
@% endif %@
@% if not plugin.static %@
        pluginkit::Shape shape;
@% endif %@
@% if plugin.vectorized %@
        @{ plugin.name }@Layout layout;
@% endif %@
    };

    struct Output
    {
        void* data;
        int64_t count;
        float scale;
@% if plugin.channels %@
        @{ plugin.name }@Channels channels;
@% endif %@
@% if plugin.sizes %@
        int64_t upper; //!< of a size tensor, its upper bound; the `count` and `shape` of what has it are those of that
@% endif %@
@% if not plugin.static %@
        pluginkit::Shape shape;
@% endif %@
@% if plugin.vectorized %@
        @{ plugin.name }@Layout layout;
@% endif %@
    };

    struct Inputs
    {
@% for tensor in plugin.inputs %@
        Input @{ tensor.name }@;
@% endfor %@
    };

    struct Outputs
    {
@% for tensor in plugin.outputs %@
        Output @{ tensor.name }@;
@% endfor %@
    };

    @{ plugin.name }@@{ "Numbers" if plugin.wide else "Parameters" }@ parameters;
    Inputs inputs;
    Outputs outputs;
    int64_t count; //!< elements of the largest output
@% if plugin.tunable %@
    int32_t tactic; //!< which values of pluginkit.toml's [tuning] the launch takes; 0: those for the GPU it is on
@% endif %@
@% if plugin.workspace %@
    void* workspace; //!< scratch memory of this run, of so many bytes; what is in it is lost after the run
    int64_t workspaceBytes;
@% endif %@
};

//! Starts the kernel on the stream and returns at once; no output element means no launch.
cudaError_t launch@{ plugin.name }@(@{ plugin.name }@Arguments const& args, @{ plugin.name }@Precision precision, cudaStream_t stream) noexcept;
@% if plugin.tunable %@

//! How many tactics an IPluginV3 has, from 1 on: the usual values of a launch, and those that `pluginkit tune` has put into
//! pluginkit.toml. 0: nothing is tuned.
int32_t tacticsOf@{ plugin.name }@() noexcept;
@% endif %@

} // namespace @{ plugin.namespace_cpp }@
