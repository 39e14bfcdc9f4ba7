#include "max_pooling_signature.h"

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
cudaError_t start(Run const& run) noexcept
{
    auto const& x = run.in.x.shape;
    auto const& y = run.out.y.shape;
    int64_t count = 1;
    for (int32_t i = 0; i < x.rank - 2; ++i)
    {
        count *= x.dims[i];
    }
    kernels::Images const images{count, x.dims[x.rank - 2], x.dims[x.rank - 1], y.dims[x.rank - 2], y.dims[x.rank - 1]};
    kernels::Window const window{static_cast<int32_t>(run.fields.kernel), static_cast<int32_t>(run.fields.stride),
                                 static_cast<int32_t>(run.fields.pad)};
    return kernels::launchWindows(kernels::tuned(run), images, window, Layer{}, kernels::output<T>(run.out.y),
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

} // namespace max_pooling
