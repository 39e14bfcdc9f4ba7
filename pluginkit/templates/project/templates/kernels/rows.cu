@% include "parts/kernel_types.cu" %@
#include <pluginkit/kernels/functions.cuh>
#include <pluginkit/kernels/normalize.cuh>

@% set x = plugin.inputs[0] %@
@% set y = plugin.outputs[0] %@
namespace @{ plugin.namespace_cpp }@
{
namespace
{

namespace kernels = pluginkit::kernels;

//! The layer: a softmax of each row. All is computed in float, whatever the tensors' type is. Every thread of a row's group
//! runs this function: `reduce` gives all of them the same number, `map` the row of other numbers, `write` the output's.
struct Layer
{
    template <typename Row, typename Out>
    __device__ void operator()(Row const& row, Out const& out) const
    {
        float const most = row.reduce(kernels::Max{}, [](float element) { return element; });
        auto const powers = row.map(kernels::ExpBelow{most}); // e^(element - most)
        float const sum = powers.reduce(kernels::Sum{}, [](float power) { return power; });
        powers.write(out, [](float power) { return power; }, 1.0F / sum);
    }
};

//! T is the type of the tensors. Their last dimension is a row.
template <typename T>
cudaError_t launch(@{ plugin.name }@Arguments const& args, cudaStream_t stream) noexcept
{
    auto const& shape = args.inputs.@{ x.name }@.shape;
    int64_t const columns = shape.dims[shape.rank - 1];
    int64_t const rows = columns > 0 ? args.count / columns : 0;
    return kernels::launchRows(kernels::tuned(stream, args.tactic), rows, columns, Layer{}, kernels::output<T>(args.outputs.@{ y.name }@.data@{ ", args.outputs." ~ y.name ~ ".scale" if y.quantized }@), kernels::input<T>(args.inputs.@{ x.name }@.data@{ ", args.inputs." ~ x.name ~ ".scale" if x.quantized }@));
}

@% include "parts/kernel_launch.cu" %@
