#include "rim_kernel.h"

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
cudaError_t launch(RimArguments const& args, cudaStream_t stream) noexcept
{
    auto const& x = args.inputs.x.shape;
    auto const& y = args.outputs.y.shape;
    int64_t const before[] = {0, 0, static_cast<int64_t>(args.parameters.top),
                              static_cast<int64_t>(args.parameters.left)};
    kernels::Padding const padding{static_cast<kernels::PadMode>(args.parameters.mode), args.parameters.value};
    return kernels::launchPad(kernels::tuned(stream, args.tactic), x.rank, x.dims, before, y.dims, padding,
                              kernels::output<T>(args.outputs.y.data, args.outputs.y.scale),
                              kernels::input<T>(args.inputs.x.data, args.inputs.x.scale));
}

} // namespace

cudaError_t launchRim(RimArguments const& args, RimPrecision precision, cudaStream_t stream) noexcept
{
    switch (precision)
    {
    case RimPrecision::kFLOAT:
        return launch<float>(args, stream);
    case RimPrecision::kHALF:
        return launch<__half>(args, stream);
    case RimPrecision::kBF16:
        return launch<__nv_bfloat16>(args, stream);
    case RimPrecision::kINT8:
        return launch<int8_t>(args, stream);
    }
    return cudaErrorInvalidValue;
}

int32_t tacticsOfRim() noexcept
{
    return kernels::tactics();
}

} // namespace rim_plugin
