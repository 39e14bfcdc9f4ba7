@% include "parts/kernel_types.cu" %@
#include <pluginkit/kernels/pad.cuh>

@% set x = plugin.inputs[0] %@
@% set y = plugin.outputs[0] %@
namespace @{ plugin.namespace_cpp }@
{
namespace
{

namespace kernels = pluginkit::kernels;

//! The layer: the padded input@{ ", of a constant (0), the edge (1), or a reflection (2)" if plugin.pad_mode }@. Elements
//! are copied unchanged@{ "; quantized ones are rescaled where the scales differ" if y.quantized }@.
template <typename T>
cudaError_t start(Run const& run) noexcept
{
    auto const& x = run.in.@{ x.name }@.shape;
    auto const& y = run.out.@{ y.name }@.shape;
    int64_t const before[] = {@% for name in plugin.padding %@@{ "static_cast<int64_t>(run.fields." ~ name ~ ")" if name else "0" }@@{ ", " if not loop.last }@@% endfor %@};
    kernels::Padding const padding{@{ "static_cast<kernels::PadMode>(run.fields.mode)" if plugin.pad_mode else "kernels::PadMode::kConstant" }@, @{ "run.fields.value" if plugin.pad_value else "0.0F" }@};
    return kernels::launchPad(kernels::tuned(run), x.rank, x.dims, before, y.dims, padding, kernels::output<@{ y.cpp }@>(run.out.@{ y.name }@), kernels::input<@{ x.cpp }@>(run.in.@{ x.name }@));
}

@% include "parts/kernel_launch.cu" %@
