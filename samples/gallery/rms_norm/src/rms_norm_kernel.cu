#include "rms_norm_kernel.h"

#include <pluginkit/kernels/bfloat16.cuh>
#include <pluginkit/kernels/float16.cuh>
#include <pluginkit/kernels/normalize.cuh>

#include <type_traits>

namespace rms_norm
{
namespace
{

namespace kernels = pluginkit::kernels;

//! The layer: each row over its root mean square, times the weights. All is computed in float, whatever the tensors'
//! types are. Every thread of a row's group runs this function: `reduce` gives all of them the same number, `write`
//! writes an output's row.
struct Layer
{
    float epsilon;
    float columns;

    template <typename Row, typename Out>
    __device__ void operator()(Row const& row, Out const& out) const
    {
        float const squares = row.reduce(kernels::Sum{}, [](float x, float) { return x * x; });
        float const inverse = rsqrtf(squares / columns + epsilon);
        row.write(out, [](float x, float weight) { return x * weight; }, inverse);
    }
};

//! T is the type that the layer computes in. The last dimension of `x` is a row.
template <typename T>
cudaError_t launch(RmsNormArguments const& args, cudaStream_t stream) noexcept
{
    auto const& shape = args.inputs.x.shape;
    int64_t const columns = shape.dims[shape.rank - 1];
    int64_t const rows = columns > 0 ? args.inputs.x.count / columns : 0;
    return kernels::launchRows(
        kernels::tuned(stream, args.tactic), rows, columns, Layer{args.parameters.epsilon, static_cast<float>(columns)},
        kernels::output<T>(args.outputs.y.data, args.outputs.y.scale),
        kernels::input<T>(args.inputs.x.data, args.inputs.x.scale),
        kernels::row<std::conditional_t<std::is_same_v<T, int8_t>, float, T>>(args.inputs.weight.data, columns));
}

} // namespace

cudaError_t launchRmsNorm(RmsNormArguments const& args, RmsNormPrecision precision, cudaStream_t stream) noexcept
{
    switch (precision)
    {
    case RmsNormPrecision::kFLOAT:
        return launch<float>(args, stream);
    case RmsNormPrecision::kHALF:
        return launch<__half>(args, stream);
    case RmsNormPrecision::kBF16:
        return launch<__nv_bfloat16>(args, stream);
    case RmsNormPrecision::kINT8:
        return launch<int8_t>(args, stream);
    }
    return cudaErrorInvalidValue;
}

int32_t tacticsOfRmsNorm() noexcept
{
    return kernels::tactics();
}

} // namespace rms_norm
