#include "gate_activation_kernel.h"

#include <pluginkit/kernels/bfloat16.cuh>
#include <pluginkit/kernels/elementwise.cuh>
#include <pluginkit/kernels/float16.cuh>

namespace gate_activation
{
namespace
{

namespace kernels = pluginkit::kernels;

//! The layer: a function of each element. It is computed in float, whatever the tensors' type is.
struct Activation
{
    GateActivationKind kind;

    __device__ float operator()(float x) const
    {
        return kind == GateActivationKind::kTanh ? tanhf(x) : 1.0F / (1.0F + expf(-x));
    }
};

template <typename T>
cudaError_t launch(GateActivationArguments const& args, cudaStream_t stream) noexcept
{
    return kernels::launchElementwise(stream, args.count, Activation{args.parameters.kind},
                                      kernels::output<T>(args.outputs.y.data), kernels::input<T>(args.inputs.x.data));
}

} // namespace

cudaError_t launchGateActivation(GateActivationArguments const& args, GateActivationPrecision precision,
                                 cudaStream_t stream) noexcept
{
    switch (precision)
    {
    case GateActivationPrecision::kFLOAT:
        return launch<float>(args, stream);
    case GateActivationPrecision::kHALF:
        return launch<__half>(args, stream);
    case GateActivationPrecision::kBF16:
        return launch<__nv_bfloat16>(args, stream);
    }
    return cudaErrorInvalidValue;
}

} // namespace gate_activation
