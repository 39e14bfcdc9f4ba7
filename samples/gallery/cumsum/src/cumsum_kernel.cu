#include "cumsum_kernel.h"

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
cudaError_t launch(CumsumArguments const& args, cudaStream_t stream) noexcept
{
    auto const& shape = args.inputs.x.shape;
    int64_t const columns = shape.dims[shape.rank - 1];
    int64_t const rows = columns > 0 ? args.count / columns : 0;
    return kernels::launchScan(kernels::tuned(stream, args.tactic), rows, columns, Layer{},
                               kernels::output<T>(args.outputs.y.data, args.outputs.y.scale),
                               kernels::input<T>(args.inputs.x.data, args.inputs.x.scale));
}

} // namespace

cudaError_t launchCumsum(CumsumArguments const& args, CumsumPrecision precision, cudaStream_t stream) noexcept
{
    switch (precision)
    {
    case CumsumPrecision::kFLOAT:
        return launch<float>(args, stream);
    case CumsumPrecision::kHALF:
        return launch<__half>(args, stream);
    case CumsumPrecision::kBF16:
        return launch<__nv_bfloat16>(args, stream);
    case CumsumPrecision::kINT8:
        return launch<int8_t>(args, stream);
    }
    return cudaErrorInvalidValue;
}

int32_t tacticsOfCumsum() noexcept
{
    return kernels::tactics();
}

} // namespace cumsum_plugin
