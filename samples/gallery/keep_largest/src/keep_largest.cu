#include "keep_largest_signature.h"

#include <pluginkit/kernels/bfloat16.cuh>
#include <pluginkit/kernels/float16.cuh>
#include <pluginkit/kernels/topk.cuh>

namespace keep_largest
{
namespace
{

namespace kernels = pluginkit::kernels;

//! The layer: elements that are among the k largest of their row stay as they are, others become 0. For a mask return
//! 1.0F and 0.0F. A NaN is larger than infinity; of equal elements the first are taken.
struct Layer
{
    __device__ float operator()(float element, bool among) const
    {
        return among ? element : 0.0F;
    }
};

//! T is the type of the tensors. Their last dimension is a row.
template <typename T>
cudaError_t start(Run const& run) noexcept
{
    auto const& shape = run.in.x.shape;
    int64_t const columns = shape.dims[shape.rank - 1];
    int64_t const rows = columns > 0 ? run.count / columns : 0;
    return kernels::launchTopK(kernels::tuned(run), rows, columns, static_cast<int64_t>(run.fields.k), Layer{},
                               kernels::output<T>(run.out.y), kernels::input<T>(run.in.x));
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

} // namespace keep_largest
