@% include "parts/kernel_types.cu" %@
@% if plugin.softmax %@
#include <pluginkit/kernels/functions.cuh>
@% endif %@
#include <pluginkit/kernels/normalize.cuh>
@% if plugin.lists %@
#include <numeric>
@% endif %@
@% if plugin.conditional %@

#include <type_traits>
@% endif %@

@% set x = plugin.inputs[0] %@
@% macro numbers() %@@% for tensor in plugin.inputs %@float @{ plugin.arguments[tensor.name] }@@{ ", " if not loop.last }@@% endfor %@@% endmacro %@
@% macro total() %@@% for tensor in plugin.inputs %@@{ plugin.arguments[tensor.name] }@@{ " + " if not loop.last }@@% endfor %@@% endmacro %@
namespace @{ plugin.namespace_cpp }@
{
namespace
{

namespace kernels = pluginkit::kernels;

@% include "parts/numbers.cu" %@
//! The layer: @{ plugin.layer[0]|lower }@@{ plugin.layer[1:]|replace("`", "") }@ It computes in float for every tensor type. Every thread of a row's group runs
@% if plugin.softmax %@
//! this function: `reduce` gives all of them the same number, `map` the row of other numbers, `write` an output's row@{ ", `writeOne` one number of a row" if plugin.most }@.
@% else %@
//! this function: `reduce` gives all of them the same number, `writeOne` writes it.
@% endif %@
struct Layer
{
@% if plugin.parameters %@
    @{ "Numbers" if plugin.wide else "Fields" }@ fields;

@% endif %@
    template <typename Row@% for tensor in plugin.outputs %@, typename Out@{ loop.index if not loop.last or not loop.first }@@% endfor %@>
    __device__ void operator()(Row const& row@% for tensor in plugin.outputs %@, Out@{ loop.index if not loop.last or not loop.first }@ const& @{ plugin.arguments[tensor.name] }@@% endfor %@) const
    {
        float const most = row.reduce(kernels::Max{}, [](@{ numbers() }@) { return @{ total() }@; });
@% if plugin.softmax %@
@% if plugin.inputs|length == 1 %@
        auto const powers = row.map(kernels::ExpBelow{most}); // e^(element - most)
@% else %@
        kernels::ExpBelow const below{most}; // e^(number - most)
        auto const powers = row.map([below](@{ numbers() }@) { return below(@{ total() }@); });
@% endif %@
        float const sum = powers.reduce(kernels::Sum{}, [](float power) { return power; });
@% endif %@
@% for tensor in plugin.outputs %@
@% if tensor.name in plugin.most %@
        row.writeOne(@{ plugin.arguments[tensor.name] }@, most);
@% elif tensor.name in plugin.softmax %@
        powers.write(@{ plugin.arguments[tensor.name] }@, [](float power) { return power; }, 1.0F / sum);
@% else %@
        row.write(@{ plugin.arguments[tensor.name] }@, [](@{ numbers() }@) { return @{ total() }@; });
@% endif %@
@% endfor %@
    }
};

//! T is the element type of the precision. The last dimension of `@{ x.name }@` is a row.
template <typename T>
cudaError_t start(Run const& run) noexcept
{
    auto const& shape = run.in.@{ x.name }@.shape;
    int64_t const columns = shape.dims[shape.rank - 1];
    int64_t const rows = columns > 0 ? run.in.@{ x.name }@.count / columns : 0;
@% if plugin.most %@
    if (columns == 0 && run.out.@{ plugin.most|first }@.count > 0)
    {
        return cudaErrorInvalidValue; // a row without elements has no largest one
    }
@% endif %@
    return kernels::launchRows(kernels::tuned(run), rows, columns, Layer{@{ ("numbersOf(run.fields)" if plugin.wide else "run.fields") if plugin.parameters }@}, @{ "kernels::outputs(" if plugin.outputs|length > 1 }@@% for tensor in plugin.outputs %@kernels::@{ plugin.taken_as[tensor.name] }@<@{ tensor.cpp }@>(run.out.@{ tensor.name }@)@{ ", " if not loop.last }@@% endfor %@@{ ")" if plugin.outputs|length > 1 }@@% for tensor in plugin.inputs %@, kernels::@{ plugin.taken_as[tensor.name] }@<@{ tensor.cpp }@>(run.in.@{ tensor.name }@@{ ", columns" if plugin.taken_as[tensor.name] == "row" }@)@% endfor %@);
}

@% include "parts/kernel_launch.cu" %@
