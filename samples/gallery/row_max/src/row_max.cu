#include "row_max_signature.h"

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
cudaError_t start(Run const& run) noexcept
{
    auto const& shape = run.in.x.shape;
    int64_t const columns = shape.dims[shape.rank - 1];
    int64_t const rows = columns > 0 ? run.in.x.count / columns : 0;
    if (columns == 0 && run.out.most.count > 0)
    {
        return cudaErrorInvalidValue; // a row without elements has no largest one
    }
    return kernels::launchRows(kernels::tuned(run), rows, columns, Layer{}, kernels::rowOutput<T>(run.out.most),
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

} // namespace row_max
