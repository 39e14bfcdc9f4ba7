#include "row_max_kernel.h"

#include <pluginkit/kernels/bfloat16.cuh>
#include <pluginkit/kernels/float16.cuh>
#include <pluginkit/kernels/normalize.cuh>

namespace row_max
{
namespace
{

namespace kernels = pluginkit::kernels;

//! The layer: the largest number of each row; a row is the last dimension. All is computed in float, whatever the
//! tensors' types are. Every thread of a row's group runs this function: `reduce` gives all of them the same number,
//! `writeOne` writes it.
struct Layer
{
    template <typename Row, typename Out>
    __device__ void operator()(Row const& row, Out const& out) const
    {
        float const most = row.reduce(kernels::Max{}, [](float element) { return element; });
        row.writeOne(out, most);
    }
};

//! T is the type that the layer computes in. The last dimension of `x` is a row.
template <typename T>
cudaError_t launch(RowMaxArguments const& args, cudaStream_t stream) noexcept
{
    auto const& shape = args.inputs.x.shape;
    int64_t const columns = shape.dims[shape.rank - 1];
    int64_t const rows = columns > 0 ? args.inputs.x.count / columns : 0;
    if (columns == 0 && args.outputs.most.count > 0)
    {
        return cudaErrorInvalidValue; // a row without elements has no largest one
    }
    return kernels::launchRows(kernels::tuned(stream, args.tactic), rows, columns, Layer{},
                               kernels::rowOutput<T>(args.outputs.most.data, args.outputs.most.scale),
                               kernels::input<T>(args.inputs.x.data, args.inputs.x.scale));
}

} // namespace

cudaError_t launchRowMax(RowMaxArguments const& args, RowMaxPrecision precision, cudaStream_t stream) noexcept
{
    switch (precision)
    {
    case RowMaxPrecision::kFLOAT:
        return launch<float>(args, stream);
    case RowMaxPrecision::kHALF:
        return launch<__half>(args, stream);
    case RowMaxPrecision::kBF16:
        return launch<__nv_bfloat16>(args, stream);
    case RowMaxPrecision::kINT8:
        return launch<int8_t>(args, stream);
    }
    return cudaErrorInvalidValue;
}

int32_t tacticsOfRowMax() noexcept
{
    return kernels::tactics();
}

} // namespace row_max
