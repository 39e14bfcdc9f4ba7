#include "cumsum_signature.h"

#include <pluginkit/kernels/bfloat16.cuh>
#include <pluginkit/kernels/float16.cuh>
#include <pluginkit/kernels/scan.cuh>

namespace cumsum_plugin
{
namespace
{

namespace kernels = pluginkit::kernels;

//! The layer: element i of each row becomes the operation over the row's elements 0 to i, here their sum. All is
//! computed in float, whatever the tensors' type is.
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
    auto const& shape = run.in.x.shape;
    int64_t const columns = shape.dims[shape.rank - 1];
    int64_t const rows = columns > 0 ? run.count / columns : 0;
    return kernels::launchScan(kernels::tuned(run), rows, columns, Layer{}, kernels::output<T>(run.out.y),
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

} // namespace cumsum_plugin
