#include "places_kernel.h"

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
cudaError_t launch(PlacesArguments const& args, cudaStream_t stream) noexcept
{
    auto const& shape = args.inputs.x.shape;
    return kernels::launchSelect(kernels::tuned(stream, args.tactic), shape.rank, shape.dims, Layer{},
                                 kernels::input<T>(args.inputs.x.data, args.inputs.x.scale),
                                 static_cast<int64_t*>(args.outputs.indices.data),
                                 static_cast<int32_t*>(args.outputs.count.data), args.workspace, args.workspaceBytes);
}

} // namespace

cudaError_t launchPlaces(PlacesArguments const& args, PlacesPrecision precision, cudaStream_t stream) noexcept
{
    switch (precision)
    {
    case PlacesPrecision::kFLOAT:
        return launch<float>(args, stream);
    case PlacesPrecision::kHALF:
        return launch<__half>(args, stream);
    case PlacesPrecision::kBF16:
        return launch<__nv_bfloat16>(args, stream);
    case PlacesPrecision::kINT8:
        return launch<int8_t>(args, stream);
    }
    return cudaErrorInvalidValue;
}

int32_t tacticsOfPlaces() noexcept
{
    return kernels::tactics();
}

} // namespace places_plugin
