@% include "parts/kernel_types.cu" %@
#include <pluginkit/kernels/scan.cuh>

@% set x = plugin.inputs[0] %@
@% set y = plugin.outputs[0] %@
namespace @{ plugin.namespace_cpp }@
{
namespace
{

namespace kernels = pluginkit::kernels;

//! The layer: element i of each row becomes the operation over the row's elements 0 to i, here their sum. All is computed
//! in float, whatever the tensors' type is.
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
cudaError_t launch(@{ plugin.name }@Arguments const& args, cudaStream_t stream) noexcept
{
    auto const& shape = args.inputs.@{ x.name }@.shape;
    int64_t const columns = shape.dims[shape.rank - 1];
    int64_t const rows = columns > 0 ? args.count / columns : 0;
    return kernels::launchScan(kernels::tuned(stream, args.tactic), rows, columns, Layer{}, kernels::output<T>(args.outputs.@{ y.name }@.data@{ ", args.outputs." ~ y.name ~ ".scale" if y.quantized }@), kernels::input<T>(args.inputs.@{ x.name }@.data@{ ", args.inputs." ~ x.name ~ ".scale" if x.quantized }@));
}

@% include "parts/kernel_launch.cu" %@
