#include "gate_activation_signature.h"

#include <pluginkit/kernels/bfloat16.cuh>
#include <pluginkit/kernels/elementwise.cuh>
#include <pluginkit/kernels/float16.cuh>

namespace gate_activation
{
namespace
{

namespace kernels = pluginkit::kernels;

//! The functions of an LSTM; their names are the texts of the field `kind`, which no kernel can take.
enum class Kind : int32_t
{
    kTanh,    //!< of the cell's gate, and of the cell
    kSigmoid, //!< of the input, output and forget gate
};

//! The layer: a function of each element. It is computed in float, whatever the tensors' type is.
struct Activation
{
    Kind kind;

    __device__ float operator()(float x) const
    {
        return kind == Kind::kTanh ? tanhf(x) : 1.0F / (1.0F + expf(-x));
    }
};

template <typename T>
cudaError_t start(Run const& run) noexcept
{
    // pluginkit.toml allows these two; any other makes no layer.
    Kind const kind = run.fields.kind == "sigmoid" ? Kind::kSigmoid : Kind::kTanh;
    return kernels::launchElementwise(kernels::tuned(run), run.count, Activation{kind}, kernels::output<T>(run.out.y),
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
    }
    return cudaErrorInvalidValue;
}

} // namespace gate_activation
