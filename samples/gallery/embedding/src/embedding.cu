#include "embedding_signature.h"

#include <pluginkit/kernels/bfloat16.cuh>
#include <pluginkit/kernels/float16.cuh>
#include <pluginkit/kernels/gather.cuh>

namespace embedding_plugin
{
namespace
{

namespace kernels = pluginkit::kernels;

//! The layer: rows of the table. Number -1 is the last row, and one that is no row's gives zeros. Elements are copied
//! as they are; quantized ones are converted where the scales differ.
template <typename T>
cudaError_t start(Run const& run) noexcept
{
    auto const& table = run.in.table;
    int64_t const rows = table.shape.dims[0];
    int64_t columns = 1;
    for (int32_t i = 1; i < table.shape.rank; ++i)
    {
        columns *= table.shape.dims[i];
    }
    auto const* numbers = static_cast<int64_t const*>(run.in.ids.data);
    return kernels::launchGatherRows(kernels::tuned(run), run.in.ids.count, columns, rows, numbers,
                                     kernels::output<T>(run.out.y), kernels::input<T>(table));
}

} // namespace

cudaError_t launch(Run const& run) noexcept
{
    switch (run.precision)
    {
    case Precision::kFLOAT:
        return start<float>(run);
    case Precision::kHALF:
        return start<__half>(run);
    case Precision::kBF16:
        return start<__nv_bfloat16>(run);
    case Precision::kINT8:
        return start<int8_t>(run);
    }
    return cudaErrorInvalidValue;
}

} // namespace embedding_plugin
