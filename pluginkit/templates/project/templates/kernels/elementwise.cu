@% include "parts/kernel_types.cu" %@
#include <pluginkit/kernels/elementwise.cuh>
@% if plugin.lists %@
#include <numeric>
@% endif %@
@% if plugin.conditional %@

#include <type_traits>
@% endif %@

namespace @{ plugin.namespace_cpp }@
{
namespace
{

namespace kernels = pluginkit::kernels;

@% include "parts/numbers.cu" %@
//! The layer: a leaky ReLU of @{ plugin.summed }@.
//! It computes in float for every tensor type; pluginkit/kernels loads and stores 16 bytes at a time.
@% if plugin.whole %@
//! An INT32 output marks where the sum is not negative.
@% endif %@
struct Layer
{
    @{ "Numbers" if plugin.wide else "Fields" }@ fields;

    //! Takes one element of each input; returns @{ "the output's element" if plugin.outputs|length == 1 else "each output's element" }@.
    __device__ @{ "float" if plugin.outputs|length == 1 else "kernels::Results<" ~ plugin.outputs|length ~ ">" }@ operator()(@% for tensor in plugin.inputs %@float @{ tensor.argument }@@{ ", " if not loop.last }@@% endfor %@) const
    {
        float const sum = @% for tensor in plugin.inputs %@@{ tensor.argument }@@{ " + " if not loop.last }@@% endfor %@@% for name in plugin.biases %@ + static_cast<float>(fields.@{ name }@)@% endfor %@;
@% if plugin.flattened %@
        float const result = sum >= 0.0F ? sum : @{ plugin.slope }@ * sum;
@% endif %@
@% if plugin.outputs|length == 1 %@
        return @{ plugin.outputs[0].result }@;
@% else %@
        return {{@% for tensor in plugin.outputs %@@{ tensor.result }@@{ ", " if not loop.last }@@% endfor %@}};
@% endif %@
    }
};

//! T is the element type of the precision.@{ " An input of another shape repeats when it ends." if plugin.cyclic }@
template <typename T>
cudaError_t start(Run const& run) noexcept
{
    return kernels::launchElementwise(kernels::tuned(run), run.count, Layer{@{ "numbersOf(run.fields)" if plugin.wide else "run.fields" }@}, @{ "kernels::outputs(" if plugin.outputs|length > 1 }@@% for tensor in plugin.outputs %@kernels::output<@{ tensor.cpp }@>(run.out.@{ tensor.name }@)@{ ", " if not loop.last }@@% endfor %@@{ ")" if plugin.outputs|length > 1 }@@% for tensor in plugin.inputs %@, kernels::@{ "input" if tensor.load == "load" else "row" }@<@{ tensor.cpp }@>(run.in.@{ tensor.name }@@{ ", run.in." ~ tensor.name ~ ".count" if tensor.load != "load" }@)@% endfor %@);
}

@% include "parts/kernel_launch.cu" %@
