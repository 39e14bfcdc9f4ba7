#include "swi_glu_signature.h"

#include <pluginkit/kernels/bfloat16.cuh>
#include <pluginkit/kernels/elementwise.cuh>
#include <pluginkit/kernels/float16.cuh>
#include <pluginkit/kernels/functions.cuh>

#include <type_traits>

namespace swi_glu
{
namespace
{

namespace kernels = pluginkit::kernels;

//! The layer: SiLU of x, times a gate. All is computed in float, whatever the tensors' types are; pluginkit/kernels
//! moves the elements 16 bytes at a time. An INT8 result has 8 bits, for which the tanh of the GPU's special units is
//! enough; in other types a large gate would show that.
template <typename T>
struct Layer
{
    //! Takes one element of each input; returns the output's element.
    __device__ float operator()(float x, float gate) const
    {
        if constexpr (std::is_same_v<T, int8_t>)
        {
            return kernels::fastSilu(x) * gate;
        }
        else
        {
            return x / (1.0F + kernels::fastExp(-x)) * gate;
        }
    }
};

//! T is the element type of the precision.
template <typename T>
cudaError_t start(Run const& run) noexcept
{
    return kernels::launchElementwise(kernels::tuned(run), run.count, Layer<T>{}, kernels::output<T>(run.out.y),
                                      kernels::input<T>(run.in.x), kernels::input<T>(run.in.gate));
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

} // namespace swi_glu
