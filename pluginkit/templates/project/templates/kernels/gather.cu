@% include "parts/kernel_types.cu" %@
#include <pluginkit/kernels/gather.cuh>

@% set table = plugin.inputs[0] %@
@% set indices = plugin.inputs[1] %@
@% set y = plugin.outputs[0] %@
namespace @{ plugin.namespace_cpp }@
{
namespace
{

namespace kernels = pluginkit::kernels;

//! The layer: rows of the table. Index -1 is the last row; an index out of range gives zeros. Elements are copied
//! unchanged@{ "; quantized ones are rescaled where the scales differ" if y.quantized }@.
template <typename T>
cudaError_t start(Run const& run) noexcept
{
    auto const& table = run.in.@{ table.name }@;
    int64_t const rows = table.shape.dims[0];
    int64_t columns = 1;
    for (int32_t i = 1; i < table.shape.rank; ++i)
    {
        columns *= table.shape.dims[i];
    }
    auto const* numbers = static_cast<@{ indices.cpp }@ const*>(run.in.@{ indices.name }@.data);
    return kernels::launchGatherRows(kernels::tuned(run), run.in.@{ indices.name }@.count, columns, rows, numbers, kernels::output<@{ y.cpp }@>(run.out.@{ y.name }@), kernels::input<@{ table.cpp }@>(table));
}

@% include "parts/kernel_launch.cu" %@
