#include "rim_signature.h"

#include <pluginkit/kernels/bfloat16.cuh>
#include <pluginkit/kernels/float16.cuh>
#include <pluginkit/kernels/pad.cuh>

namespace rim_plugin
{
namespace
{

namespace kernels = pluginkit::kernels;

//! The layer: the input with a rim, of a constant (0), the edge (1), or a reflection (2). Elements are copied as they
//! are; quantized ones are converted where the scales differ.
template <typename T>
cudaError_t start(Run const& run) noexcept
{
    auto const& x = run.in.x.shape;
    auto const& y = run.out.y.shape;
    int64_t const before[] = {0, 0, static_cast<int64_t>(run.fields.top), static_cast<int64_t>(run.fields.left)};
    kernels::Padding const padding{static_cast<kernels::PadMode>(run.fields.mode), run.fields.value};
    return kernels::launchPad(kernels::tuned(run), x.rank, x.dims, before, y.dims, padding,
                              kernels::output<T>(run.out.y), kernels::input<T>(run.in.x));
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

} // namespace rim_plugin
