#include "leaky_signature.h"

#include <pluginkit/kernels/bfloat16.cuh>
#include <pluginkit/kernels/elementwise.cuh>
#include <pluginkit/kernels/float16.cuh>

namespace leaky_plugin
{
namespace
{

namespace kernels = pluginkit::kernels;

//! The layer: the sum of the inputs, with its negative values flattened. All is computed in float, whatever the
//! tensors' types are; pluginkit/kernels moves the elements 16 bytes at a time.
struct Layer
{
    Fields fields;

    //! For an element of each input, what belongs there in the output.
    __device__ float operator()(float x) const
    {
        float const sum = x;
        float const result = sum >= 0.0F ? sum : fields.alpha * sum;
        return result;
    }
};

//! T is the type that the layer computes in.
template <typename T>
cudaError_t start(Run const& run) noexcept
{
    return kernels::launchElementwise(kernels::tuned(run), run.count, Layer{run.fields}, kernels::output<T>(run.out.y),
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

} // namespace leaky_plugin
