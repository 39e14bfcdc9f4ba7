@% include "parts/kernel_types.cu" %@
#include <pluginkit/kernels/scan.cuh>

@% set x = plugin.inputs[0] %@
@% set y = plugin.outputs[0] %@
namespace @{ plugin.namespace_cpp }@
{
namespace
{

namespace kernels = pluginkit::kernels;

//! The layer: element i of each row becomes the operation over the row's elements 0 to i, here their sum. It computes
//! in float for every tensor type.
struct Layer
{
    static constexpr float kIdentity = 0.0F; //!< changes no other number

    __device__ float operator()(float before, float element) const
    {
        return before + element;
    }
};

//! T is the type of the tensors. Their last dimension is a row.
template <typename T>
cudaError_t start(Run const& run) noexcept
{
    auto const& shape = run.in.@{ x.name }@.shape;
    int64_t const columns = shape.dims[shape.rank - 1];
    int64_t const rows = columns > 0 ? run.count / columns : 0;
    return kernels::launchScan(kernels::tuned(run), rows, columns, Layer{}, kernels::output<T>(run.out.@{ y.name }@), kernels::input<T>(run.in.@{ x.name }@));
}

@% include "parts/kernel_launch.cu" %@
