#include "accumulate_signature.h"

#include <pluginkit/kernels/elementwise.cuh>
#include <pluginkit/kernels/float16.cuh>

namespace accumulate_plugin
{
namespace
{

namespace kernels = pluginkit::kernels;

//! The layer: an item, times the weight, added to what there is. It is computed in float, whatever the tensors' type
//! is.
struct Layer
{
    Fields fields;

    __device__ float operator()(float soFar, float item) const
    {
        return soFar + fields.weight * item;
    }
};

//! T is the type of the tensors.
template <typename T>
cudaError_t start(Run const& run) noexcept
{
    return kernels::launchElementwise(kernels::tuned(run), run.count, Layer{run.fields},
                                      kernels::output<T>(run.out.accumulated), kernels::input<T>(run.in.so_far),
                                      kernels::input<T>(run.in.item));
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
    }
    return cudaErrorInvalidValue;
}

} // namespace accumulate_plugin
