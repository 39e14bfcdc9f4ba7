@% include "parts/kernel_types.cu" %@
#include <pluginkit/kernels/pad.cuh>

@% set x = plugin.inputs[0] %@
@% set y = plugin.outputs[0] %@
namespace @{ plugin.namespace_cpp }@
{
namespace
{

namespace kernels = pluginkit::kernels;

//! The layer: the input with a rim@{ ", of a constant (0), the edge (1), or a reflection (2)" if plugin.pad_mode }@. Elements are copied as they
//! are@{ "; quantized ones are converted where the scales differ" if y.quantized }@.
template <typename T>
cudaError_t launch(@{ plugin.name }@Arguments const& args, cudaStream_t stream) noexcept
{
    auto const& x = args.inputs.@{ x.name }@.shape;
    auto const& y = args.outputs.@{ y.name }@.shape;
    int64_t const before[] = {@% for name in plugin.rims %@@{ "static_cast<int64_t>(args.parameters." ~ name ~ ")" if name else "0" }@@{ ", " if not loop.last }@@% endfor %@};
    kernels::Padding const padding{@{ "static_cast<kernels::PadMode>(args.parameters.mode)" if plugin.pad_mode else "kernels::PadMode::kConstant" }@, @{ "args.parameters.value" if plugin.pad_value else "0.0F" }@};
    return kernels::launchPad(kernels::tuned(stream, args.tactic), x.rank, x.dims, before, y.dims, padding, kernels::output<@{ y.cpp }@>(args.outputs.@{ y.name }@.data@{ ", args.outputs." ~ y.name ~ ".scale" if y.quantized }@), kernels::input<@{ x.cpp }@>(args.inputs.@{ x.name }@.data@{ ", args.inputs." ~ x.name ~ ".scale" if x.quantized }@));
}

@% include "parts/kernel_launch.cu" %@
