#include "embedding_kernel.h"

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
cudaError_t launch(EmbeddingArguments const& args, cudaStream_t stream) noexcept
{
    auto const& table = args.inputs.table;
    int64_t const rows = table.shape.dims[0];
    int64_t columns = 1;
    for (int32_t i = 1; i < table.shape.rank; ++i)
    {
        columns *= table.shape.dims[i];
    }
    auto const* numbers = static_cast<int64_t const*>(args.inputs.ids.data);
    return kernels::launchGatherRows(kernels::tuned(stream, args.tactic), args.inputs.ids.count, columns, rows, numbers,
                                     kernels::output<T>(args.outputs.y.data, args.outputs.y.scale),
                                     kernels::input<T>(table.data, table.scale));
}

} // namespace

cudaError_t launchEmbedding(EmbeddingArguments const& args, EmbeddingPrecision precision, cudaStream_t stream) noexcept
{
    switch (precision)
    {
    case EmbeddingPrecision::kFLOAT:
        return launch<float>(args, stream);
    case EmbeddingPrecision::kHALF:
        return launch<__half>(args, stream);
    case EmbeddingPrecision::kBF16:
        return launch<__nv_bfloat16>(args, stream);
    case EmbeddingPrecision::kINT8:
        return launch<int8_t>(args, stream);
    }
    return cudaErrorInvalidValue;
}

int32_t tacticsOfEmbedding() noexcept
{
    return kernels::tactics();
}

} // namespace embedding_plugin
