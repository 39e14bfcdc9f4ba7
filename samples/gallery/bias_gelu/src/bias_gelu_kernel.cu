#include "bias_gelu_kernel.h"

#include <pluginkit/kernels/bfloat16.cuh>
#include <pluginkit/kernels/elementwise.cuh>
#include <pluginkit/kernels/float16.cuh>
#include <pluginkit/kernels/functions.cuh>

#include <cmath>
#include <type_traits>

namespace bias_gelu
{
namespace
{

namespace kernels = pluginkit::kernels;

//! The layer: GELU of x and a row of biases, by its usual approximation with a tanh. All is computed in float, whatever
//! the tensors' types are; pluginkit/kernels moves the elements 16 bytes at a time. The tanh of the GPU's special units
//! is as exact as FP16, not as FP32: there it is CUDA's.
template <typename T>
struct Layer
{
    //! For an element of each input, what belongs there in the output.
    __device__ float operator()(float x, float bias) const
    {
        float const sum = x + bias;
        if constexpr (std::is_same_v<T, float>)
        {
            return 0.5F * sum * (1.0F + tanhf(0.7978845608F * (sum + 0.044715F * sum * sum * sum))); // sqrt(2 / pi)
        }
        else
        {
            return kernels::fastGelu(sum);
        }
    }
};

//! T is the type that the layer computes in. An input with another shape begins again at its end.
template <typename T>
cudaError_t launch(BiasGeluArguments const& args, cudaStream_t stream) noexcept
{
    return kernels::launchElementwise(kernels::tuned(stream, args.tactic), args.count, Layer<T>{},
                                      kernels::output<T>(args.outputs.y.data, args.outputs.y.scale),
                                      kernels::input<T>(args.inputs.x.data, args.inputs.x.scale),
                                      kernels::row<std::conditional_t<std::is_same_v<T, int8_t>, float, T>>(
                                          args.inputs.bias.data, args.inputs.bias.count));
}

} // namespace

cudaError_t launchBiasGelu(BiasGeluArguments const& args, BiasGeluPrecision precision, cudaStream_t stream) noexcept
{
    switch (precision)
    {
    case BiasGeluPrecision::kFLOAT:
        return launch<float>(args, stream);
    case BiasGeluPrecision::kHALF:
        return launch<__half>(args, stream);
    case BiasGeluPrecision::kBF16:
        return launch<__nv_bfloat16>(args, stream);
    case BiasGeluPrecision::kINT8:
        return launch<int8_t>(args, stream);
    }
    return cudaErrorInvalidValue;
}

int32_t tacticsOfBiasGelu() noexcept
{
    return kernels::tactics();
}

} // namespace bias_gelu
