@% include "parts/kernel_types.cu" %@
#include <pluginkit/kernels/select.cuh>

@% set x = plugin.inputs[0] %@
@% set indices = plugin.outputs[0] %@
@% set found = plugin.outputs[1] %@
namespace @{ plugin.namespace_cpp }@
{
namespace
{

namespace kernels = pluginkit::kernels;

//! The layer: which elements' indices are wanted. A NaN is not 0, and -0 is.
struct Layer
{
    __device__ bool operator()(float element) const
    {
        return element != 0.0F;
    }
};

//! T is the type of the input.
template <typename T>
cudaError_t start(Run const& run) noexcept
{
    auto const& shape = run.in.@{ x.name }@.shape;
    return kernels::launchSelect(kernels::tuned(run), shape.rank, shape.dims, Layer{}, kernels::input<@{ x.cpp }@>(run.in.@{ x.name }@), static_cast<@{ indices.cpp }@*>(run.out.@{ indices.name }@.data), static_cast<int32_t*>(run.out.@{ found.name }@.data), run.workspace, run.workspaceBytes);
}

@% include "parts/kernel_launch.cu" %@
