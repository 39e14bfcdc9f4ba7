@% include "parts/kernel_types.cu" %@
#include <pluginkit/kernels/select.cuh>

@% set x = plugin.inputs[0] %@
@% set places = plugin.outputs[0] %@
@% set found = plugin.outputs[1] %@
namespace @{ plugin.namespace_cpp }@
{
namespace
{

namespace kernels = pluginkit::kernels;

//! The layer: which elements' places are wanted. A NaN isn't 0, and -0 is.
struct Layer
{
    __device__ bool operator()(float element) const
    {
        return element != 0.0F;
    }
};

//! T is the type of the input.
template <typename T>
cudaError_t launch(@{ plugin.name }@Arguments const& args, cudaStream_t stream) noexcept
{
    auto const& shape = args.inputs.@{ x.name }@.shape;
    return kernels::launchSelect(kernels::tuned(stream, args.tactic), shape.rank, shape.dims, Layer{}, kernels::input<@{ x.cpp }@>(args.inputs.@{ x.name }@.data@{ ", args.inputs." ~ x.name ~ ".scale" if x.quantized }@), static_cast<@{ places.cpp }@*>(args.outputs.@{ places.name }@.data), static_cast<int32_t*>(args.outputs.@{ found.name }@.data), args.workspace, args.workspaceBytes);
}

@% include "parts/kernel_launch.cu" %@
