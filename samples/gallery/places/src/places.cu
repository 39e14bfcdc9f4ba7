#include "places_signature.h"

#include <pluginkit/kernels/bfloat16.cuh>
#include <pluginkit/kernels/float16.cuh>
#include <pluginkit/kernels/select.cuh>

namespace places_plugin
{
namespace
{

namespace kernels = pluginkit::kernels;

//! The layer: which elements' places are wanted. A NaN isn't 0, and -0 is.
struct Layer
{
    __device__ bool operator()(float element) const
    {
        return element != 0.0F;
    }
};

//! T is the type of the input.
template <typename T>
cudaError_t start(Run const& run) noexcept
{
    auto const& shape = run.in.x.shape;
    return kernels::launchSelect(kernels::tuned(run), shape.rank, shape.dims, Layer{}, kernels::input<T>(run.in.x),
                                 static_cast<int64_t*>(run.out.indices.data), static_cast<int32_t*>(run.out.count.data),
                                 run.workspace, run.workspaceBytes);
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

} // namespace places_plugin
