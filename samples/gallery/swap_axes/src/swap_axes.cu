#include "swap_axes_signature.h"

#include <pluginkit/kernels/bfloat16.cuh>
#include <pluginkit/kernels/float16.cuh>
#include <pluginkit/kernels/transpose.cuh>

namespace swap_axes
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
cudaError_t start(Run const& run) noexcept
{
    constexpr int32_t kRows = 1;
    constexpr int32_t kColumns = 1;
    auto const& shape = run.in.x.shape;
    int64_t const count = product(shape, 0, shape.rank - kColumns - kRows);
    int64_t const rows = product(shape, shape.rank - kColumns - kRows, shape.rank - kColumns);
    int64_t const columns = product(shape, shape.rank - kColumns, shape.rank);
    return kernels::launchTranspose(kernels::tuned(run), count, rows, columns, kernels::output<T>(run.out.y),
                                    kernels::input<T>(run.in.x));
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

} // namespace swap_axes
