#include "row_softmax_kernel.h"

#include <pluginkit/kernels/bfloat16.cuh>
#include <pluginkit/kernels/float16.cuh>
#include <pluginkit/kernels/functions.cuh>
#include <pluginkit/kernels/normalize.cuh>

namespace row_softmax
{
namespace
{

namespace kernels = pluginkit::kernels;

//! The layer: a softmax of each row, which is the last dimension. All is computed in float, whatever the tensors' types
//! are. Every thread of a row's group runs this function: `reduce` gives all of them the same number, `map` the row of
//! other numbers, `write` an output's row.
struct Layer
{
    template <typename Row, typename Out>
    __device__ void operator()(Row const& row, Out const& out) const
    {
        float const most = row.reduce(kernels::Max{}, [](float element) { return element; });
        auto const powers = row.map(kernels::ExpBelow{most}); // e^(element - most)
        float const sum = powers.reduce(kernels::Sum{}, [](float power) { return power; });
        powers.write(out, [](float power) { return power; }, 1.0F / sum);
    }
};

//! T is the type that the layer computes in. The last dimension of `x` is a row.
template <typename T>
cudaError_t launch(RowSoftmaxArguments const& args, cudaStream_t stream) noexcept
{
    auto const& shape = args.inputs.x.shape;
    int64_t const columns = shape.dims[shape.rank - 1];
    int64_t const rows = columns > 0 ? args.inputs.x.count / columns : 0;
    return kernels::launchRows(kernels::tuned(stream, args.tactic), rows, columns, Layer{},
                               kernels::output<T>(args.outputs.y.data, args.outputs.y.scale),
                               kernels::input<T>(args.inputs.x.data, args.inputs.x.scale));
}

} // namespace

cudaError_t launchRowSoftmax(RowSoftmaxArguments const& args, RowSoftmaxPrecision precision,
                             cudaStream_t stream) noexcept
{
    switch (precision)
    {
    case RowSoftmaxPrecision::kFLOAT:
        return launch<float>(args, stream);
    case RowSoftmaxPrecision::kHALF:
        return launch<__half>(args, stream);
    case RowSoftmaxPrecision::kBF16:
        return launch<__nv_bfloat16>(args, stream);
    case RowSoftmaxPrecision::kINT8:
        return launch<int8_t>(args, stream);
    }
    return cudaErrorInvalidValue;
}

int32_t tacticsOfRowSoftmax() noexcept
{
    return kernels::tactics();
}

} // namespace row_softmax
