#include "max_pooling_kernel.h"

#include <pluginkit/kernels/bfloat16.cuh>
#include <pluginkit/kernels/float16.cuh>
#include <pluginkit/kernels/windows.cuh>

#include <cmath>

namespace max_pooling
{
namespace
{

namespace kernels = pluginkit::kernels;

//! The layer: the maximum of each window's numbers that are in the image. There is `MinimumFold`, too, and `SumFold`
//! (for an average divide by `count`, which is how many there are); or write a `kIdentity` and a function as
//! windows.cuh has them.
struct Layer : kernels::MaximumFold
{
    __device__ float result(float folded, float /*count*/) const
    {
        return folded;
    }
};

//! T is the type of the tensors. Their last two dimensions are an image.
template <typename T>
cudaError_t launch(MaxPoolingArguments const& args, cudaStream_t stream) noexcept
{
    auto const& x = args.inputs.x.shape;
    auto const& y = args.outputs.y.shape;
    int64_t count = 1;
    for (int32_t i = 0; i < x.rank - 2; ++i)
    {
        count *= x.dims[i];
    }
    kernels::Images const images{count, x.dims[x.rank - 2], x.dims[x.rank - 1], y.dims[x.rank - 2], y.dims[x.rank - 1]};
    kernels::Window const window{static_cast<int32_t>(args.parameters.kernel),
                                 static_cast<int32_t>(args.parameters.stride),
                                 static_cast<int32_t>(args.parameters.pad)};
    return kernels::launchWindows(kernels::tuned(stream, args.tactic), images, window, Layer{},
                                  kernels::output<T>(args.outputs.y.data, args.outputs.y.scale),
                                  kernels::input<T>(args.inputs.x.data, args.inputs.x.scale));
}

} // namespace

cudaError_t launchMaxPooling(MaxPoolingArguments const& args, MaxPoolingPrecision precision,
                             cudaStream_t stream) noexcept
{
    switch (precision)
    {
    case MaxPoolingPrecision::kFLOAT:
        return launch<float>(args, stream);
    case MaxPoolingPrecision::kHALF:
        return launch<__half>(args, stream);
    case MaxPoolingPrecision::kBF16:
        return launch<__nv_bfloat16>(args, stream);
    case MaxPoolingPrecision::kINT8:
        return launch<int8_t>(args, stream);
    }
    return cudaErrorInvalidValue;
}

int32_t tacticsOfMaxPooling() noexcept
{
    return kernels::tactics();
}

} // namespace max_pooling
