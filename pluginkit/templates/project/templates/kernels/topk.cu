@% include "parts/kernel_types.cu" %@
#include <pluginkit/kernels/topk.cuh>

@% set x = plugin.inputs[0] %@
@% set y = plugin.outputs[0] %@
namespace @{ plugin.namespace_cpp }@
{
namespace
{

namespace kernels = pluginkit::kernels;

//! The layer: the k largest elements of each row stay, the others become 0. For a mask return 1.0F and 0.0F. A NaN is larger than infinity; of equal elements the first ones count.
struct Layer
{
    __device__ float operator()(float element, bool among) const
    {
        return among ? element : 0.0F;
    }
};

//! T is the type of the tensors. Their last dimension is a row.
template <typename T>
cudaError_t start(Run const& run) noexcept
{
    auto const& shape = run.in.@{ x.name }@.shape;
    int64_t const columns = shape.dims[shape.rank - 1];
    int64_t const rows = columns > 0 ? run.count / columns : 0;
    return kernels::launchTopK(kernels::tuned(run), rows, columns, static_cast<int64_t>(run.fields.k), Layer{}, kernels::output<T>(run.out.@{ y.name }@), kernels::input<T>(run.in.@{ x.name }@));
}

@% include "parts/kernel_launch.cu" %@
