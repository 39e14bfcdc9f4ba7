#include "fast_gelu_kernel.h"

#include <pluginkit/kernels/bfloat16.cuh>
#include <pluginkit/kernels/elementwise.cuh>
#include <pluginkit/kernels/float16.cuh>
#include <pluginkit/kernels/functions.cuh>

#include <cmath>
#include <type_traits>

namespace fast_gelu
{
namespace
{

namespace kernels = pluginkit::kernels;

//! The layer: GELU by its usual approximation with a tanh. All is computed in float, whatever the tensors' types are;
//! pluginkit/kernels moves the elements 16 bytes at a time. The tanh of the GPU's special units is as exact as FP16,
//! not as FP32: there it is CUDA's.
template <typename T>
struct Layer
{
    //! For an element of each input, what belongs there in the output.
    __device__ float operator()(float x) const
    {
        if constexpr (std::is_same_v<T, float>)
        {
            return 0.5F * x * (1.0F + tanhf(0.7978845608F * (x + 0.044715F * x * x * x))); // sqrt(2 / pi)
        }
        else
        {
            return kernels::fastGelu(x);
        }
    }
};

//! T is the type that the layer computes in.
template <typename T>
cudaError_t launch(FastGeluArguments const& args, cudaStream_t stream) noexcept
{
    return kernels::launchElementwise(kernels::tuned(stream, args.tactic), args.count, Layer<T>{},
                                      kernels::output<T>(args.outputs.y.data, args.outputs.y.scale),
                                      kernels::input<T>(args.inputs.x.data, args.inputs.x.scale));
}

} // namespace

cudaError_t launchFastGelu(FastGeluArguments const& args, FastGeluPrecision precision, cudaStream_t stream) noexcept
{
    switch (precision)
    {
    case FastGeluPrecision::kFLOAT:
        return launch<float>(args, stream);
    case FastGeluPrecision::kHALF:
        return launch<__half>(args, stream);
    case FastGeluPrecision::kBF16:
        return launch<__nv_bfloat16>(args, stream);
    case FastGeluPrecision::kINT8:
        return launch<int8_t>(args, stream);
    }
    return cudaErrorInvalidValue;
}

int32_t tacticsOfFastGelu() noexcept
{
    return kernels::tactics();
}

} // namespace fast_gelu
