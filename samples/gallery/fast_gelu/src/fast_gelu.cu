#include "fast_gelu_signature.h"

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
    //! Takes one element of each input; returns the output's element.
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

//! T is the element type of the precision.
template <typename T>
cudaError_t start(Run const& run) noexcept
{
    return kernels::launchElementwise(kernels::tuned(run), run.count, Layer<T>{}, kernels::output<T>(run.out.y),
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

} // namespace fast_gelu
