@% include "parts/kernel_types.cu" %@
#include <pluginkit/kernels/transpose.cuh>

@% set x = plugin.inputs[0] %@
@% set y = plugin.outputs[0] %@
namespace @{ plugin.namespace_cpp }@
{
namespace
{

namespace kernels = pluginkit::kernels;

@% set first, second = plugin.exchanged %@
//! The product of a shape's dimensions from `begin` to before `end`.
template <typename Shape>
int64_t product(Shape const& shape, int32_t begin, int32_t end) noexcept
{
    int64_t result = 1;
    for (int32_t i = begin; i < end; ++i)
    {
        result *= shape.dims[i];
    }
    return result;
}

//! The layer: the input's last dimensions are the rows and columns of a matrix, which are exchanged; those before count the
//! matrices. Elements are moved unchanged@{ "; quantized ones are rescaled where the scales differ" if y.quantized }@.
template <typename T>
cudaError_t start(Run const& run) noexcept
{
    constexpr int32_t kRows = @{ first }@;
    constexpr int32_t kColumns = @{ second }@;
    auto const& shape = run.in.@{ x.name }@.shape;
    int64_t const count = product(shape, 0, shape.rank - kColumns - kRows);
    int64_t const rows = product(shape, shape.rank - kColumns - kRows, shape.rank - kColumns);
    int64_t const columns = product(shape, shape.rank - kColumns, shape.rank);
    return kernels::launchTranspose(kernels::tuned(run), count, rows, columns, kernels::output<@{ y.cpp }@>(run.out.@{ y.name }@), kernels::input<@{ x.cpp }@>(run.in.@{ x.name }@));
}

@% include "parts/kernel_launch.cu" %@
