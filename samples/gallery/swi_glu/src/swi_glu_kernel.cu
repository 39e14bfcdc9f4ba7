#include "swi_glu_kernel.h"

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
    //! For an element of each input, what belongs there in the output.
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

//! T is the type that the layer computes in.
template <typename T>
cudaError_t launch(SwiGluArguments const& args, cudaStream_t stream) noexcept
{
    return kernels::launchElementwise(kernels::tuned(stream, args.tactic), args.count, Layer<T>{},
                                      kernels::output<T>(args.outputs.y.data, args.outputs.y.scale),
                                      kernels::input<T>(args.inputs.x.data, args.inputs.x.scale),
                                      kernels::input<T>(args.inputs.gate.data, args.inputs.gate.scale));
}

} // namespace

cudaError_t launchSwiGlu(SwiGluArguments const& args, SwiGluPrecision precision, cudaStream_t stream) noexcept
{
    switch (precision)
    {
    case SwiGluPrecision::kFLOAT:
        return launch<float>(args, stream);
    case SwiGluPrecision::kHALF:
        return launch<__half>(args, stream);
    case SwiGluPrecision::kBF16:
        return launch<__nv_bfloat16>(args, stream);
    case SwiGluPrecision::kINT8:
        return launch<int8_t>(args, stream);
    }
    return cudaErrorInvalidValue;
}

int32_t tacticsOfSwiGlu() noexcept
{
    return kernels::tactics();
}

} // namespace swi_glu
