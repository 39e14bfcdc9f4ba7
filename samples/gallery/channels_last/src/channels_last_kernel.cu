#include "channels_last_kernel.h"

#include <pluginkit/kernels/bfloat16.cuh>
#include <pluginkit/kernels/float16.cuh>
#include <pluginkit/kernels/transpose.cuh>

namespace channels_last
{
namespace
{

namespace kernels = pluginkit::kernels;

//! The product of so many of a shape's dimensions.
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

//! The layer: the input's last dimensions are the rows and columns of a matrix, which are exchanged; those before count
//! the matrices. Elements are moved as they are; quantized ones are converted where the scales differ.
template <typename T>
cudaError_t launch(ChannelsLastArguments const& args, cudaStream_t stream) noexcept
{
    constexpr int32_t kRows = 1;
    constexpr int32_t kColumns = 2;
    auto const& shape = args.inputs.x.shape;
    int64_t const count = product(shape, 0, shape.rank - kColumns - kRows);
    int64_t const rows = product(shape, shape.rank - kColumns - kRows, shape.rank - kColumns);
    int64_t const columns = product(shape, shape.rank - kColumns, shape.rank);
    return kernels::launchTranspose(kernels::tuned(stream, args.tactic), count, rows, columns,
                                    kernels::output<T>(args.outputs.y.data, args.outputs.y.scale),
                                    kernels::input<T>(args.inputs.x.data, args.inputs.x.scale));
}

} // namespace

cudaError_t launchChannelsLast(ChannelsLastArguments const& args, ChannelsLastPrecision precision,
                               cudaStream_t stream) noexcept
{
    switch (precision)
    {
    case ChannelsLastPrecision::kFLOAT:
        return launch<float>(args, stream);
    case ChannelsLastPrecision::kHALF:
        return launch<__half>(args, stream);
    case ChannelsLastPrecision::kBF16:
        return launch<__nv_bfloat16>(args, stream);
    case ChannelsLastPrecision::kINT8:
        return launch<int8_t>(args, stream);
    }
    return cudaErrorInvalidValue;
}

int32_t tacticsOfChannelsLast() noexcept
{
    return kernels::tactics();
}

} // namespace channels_last
