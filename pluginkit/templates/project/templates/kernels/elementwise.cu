#include "@{ plugin.slug }@_kernel.h"

@% if plugin.bfloat16 %@
#include <pluginkit/kernels/bfloat16.cuh>
@% endif %@
#include <pluginkit/kernels/elementwise.cuh>
@% if plugin.half %@
#include <pluginkit/kernels/float16.cuh>
@% endif %@
@% if plugin.float8 %@
#include <pluginkit/kernels/float8.cuh>
@% endif %@
@% if plugin.conditional %@

#include <type_traits>
@% endif %@

namespace @{ plugin.namespace_cpp }@
{
namespace
{

namespace kernels = pluginkit::kernels;

//! The layer: the sum of the inputs, with its negative values flattened. All is computed in float, whatever the tensors'
//! types are; pluginkit/kernels moves the elements 16 bytes at a time.
@% if plugin.whole %@
//! An INT32 output tells where the sum isn't negative.
@% endif %@
struct Layer
{
    @{ plugin.name }@@{ "Numbers" if plugin.wide else "Parameters" }@ parameters;

    //! For an element of each input, what belongs there in @{ "the output" if plugin.outputs|length == 1 else "each output" }@.
    __device__ @{ "float" if plugin.outputs|length == 1 else "kernels::Results<" ~ plugin.outputs|length ~ ">" }@ operator()(@% for tensor in plugin.inputs %@float @{ tensor.argument }@@{ ", " if not loop.last }@@% endfor %@) const
    {
        float const sum = @% for tensor in plugin.inputs %@@{ tensor.argument }@@{ " + " if not loop.last }@@% endfor %@@% for name in plugin.biases %@ + static_cast<float>(parameters.@{ name }@)@% endfor %@;
@% if plugin.flattened %@
        float const result = sum >= 0.0F ? sum : @{ plugin.slope|replace("args.", "") }@ * sum;
@% endif %@
@% if plugin.outputs|length == 1 %@
        return @{ plugin.outputs[0].result }@;
@% else %@
        return {{@% for tensor in plugin.outputs %@@{ tensor.result }@@{ ", " if not loop.last }@@% endfor %@}};
@% endif %@
    }
};

//! T is the type that the layer computes in.@{ " An input with another shape begins again at its end." if plugin.cyclic }@
template <typename T>
cudaError_t launch(@{ plugin.name }@Arguments const& args, cudaStream_t stream) noexcept
{
    return kernels::launchElementwise(kernels::tuned(stream, args.tactic), args.count, Layer{args.parameters}, @{ "kernels::outputs(" if plugin.outputs|length > 1 }@@% for tensor in plugin.outputs %@kernels::output<@{ tensor.cpp }@>(args.outputs.@{ tensor.name }@.data@{ ", args.outputs." ~ tensor.name ~ ".scale" if tensor.quantized }@)@{ ", " if not loop.last }@@% endfor %@@{ ")" if plugin.outputs|length > 1 }@@% for tensor in plugin.inputs %@, kernels::@{ "input" if tensor.load == "load" else "row" }@<@{ tensor.cpp }@>(args.inputs.@{ tensor.name }@.data@{ ", args.inputs." ~ tensor.name ~ ".count" if tensor.load != "load" }@@{ ", args.inputs." ~ tensor.name ~ ".scale" if tensor.quantized }@)@% endfor %@);
}

@% include "parts/kernel_launch.cu" %@
