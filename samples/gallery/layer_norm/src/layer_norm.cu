#include "layer_norm_signature.h"

#include <pluginkit/kernels/bfloat16.cuh>
#include <pluginkit/kernels/float16.cuh>
#include <pluginkit/kernels/normalize.cuh>

#include <type_traits>

namespace layer_norm
{
namespace
{

namespace kernels = pluginkit::kernels;

//! The layer: each row's distance from its mean, in standard deviations, times the weights, and the biases. It computes
//! in float for every tensor type. Every thread of a row's group runs this function: `reduce` gives
//! all of them the same number, `write` writes an output's row.
struct Layer
{
    float epsilon;
    float columns;

    template <typename Row, typename Out>
    __device__ void operator()(Row const& row, Out const& out) const
    {
        float const mean = row.reduce(kernels::Sum{}, [](float x, float, float) { return x; }) / columns;
        float const squares =
            row.reduce(kernels::Sum{}, [mean](float x, float, float) { return (x - mean) * (x - mean); });
        float const inverse = rsqrtf(squares / columns + epsilon);
        row.write(out, [=](float x, float weight, float bias) { return (x - mean) * inverse * weight + bias; });
    }
};

//! T is the element type of the precision. The last dimension of `x` is a row.
template <typename T>
cudaError_t start(Run const& run) noexcept
{
    auto const& shape = run.in.x.shape;
    int64_t const columns = shape.dims[shape.rank - 1];
    int64_t const rows = columns > 0 ? run.in.x.count / columns : 0;
    return kernels::launchRows(
        kernels::tuned(run), rows, columns, Layer{run.fields.epsilon, static_cast<float>(columns)},
        kernels::output<T>(run.out.y), kernels::input<T>(run.in.x),
        kernels::row<std::conditional_t<std::is_same_v<T, int8_t>, float, T>>(run.in.weight, columns),
        kernels::row<std::conditional_t<std::is_same_v<T, int8_t>, float, T>>(run.in.bias, columns));
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

} // namespace layer_norm
