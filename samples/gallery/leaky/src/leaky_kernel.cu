#include "leaky_kernel.h"

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
    LeakyParameters parameters;

    //! For an element of each input, what belongs there in the output.
    __device__ float operator()(float x) const
    {
        float const sum = x;
        float const result = sum >= 0.0F ? sum : parameters.alpha * sum;
        return result;
    }
};

//! T is the type that the layer computes in.
template <typename T>
cudaError_t launch(LeakyArguments const& args, cudaStream_t stream) noexcept
{
    return kernels::launchElementwise(kernels::tuned(stream, args.tactic), args.count, Layer{args.parameters},
                                      kernels::output<T>(args.outputs.y.data, args.outputs.y.scale),
                                      kernels::input<T>(args.inputs.x.data, args.inputs.x.scale));
}

} // namespace

cudaError_t launchLeaky(LeakyArguments const& args, LeakyPrecision precision, cudaStream_t stream) noexcept
{
    switch (precision)
    {
    case LeakyPrecision::kFLOAT:
        return launch<float>(args, stream);
    case LeakyPrecision::kHALF:
        return launch<__half>(args, stream);
    case LeakyPrecision::kBF16:
        return launch<__nv_bfloat16>(args, stream);
    case LeakyPrecision::kINT8:
        return launch<int8_t>(args, stream);
    }
    return cudaErrorInvalidValue;
}

int32_t tacticsOfLeaky() noexcept
{
    return kernels::tactics();
}

} // namespace leaky_plugin
