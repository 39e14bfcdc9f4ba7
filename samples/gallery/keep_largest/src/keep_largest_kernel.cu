#include "keep_largest_kernel.h"

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
cudaError_t launch(KeepLargestArguments const& args, cudaStream_t stream) noexcept
{
    auto const& shape = args.inputs.x.shape;
    int64_t const columns = shape.dims[shape.rank - 1];
    int64_t const rows = columns > 0 ? args.count / columns : 0;
    return kernels::launchTopK(kernels::tuned(stream, args.tactic), rows, columns,
                               static_cast<int64_t>(args.parameters.k), Layer{},
                               kernels::output<T>(args.outputs.y.data, args.outputs.y.scale),
                               kernels::input<T>(args.inputs.x.data, args.inputs.x.scale));
}

} // namespace

cudaError_t launchKeepLargest(KeepLargestArguments const& args, KeepLargestPrecision precision,
                              cudaStream_t stream) noexcept
{
    switch (precision)
    {
    case KeepLargestPrecision::kFLOAT:
        return launch<float>(args, stream);
    case KeepLargestPrecision::kHALF:
        return launch<__half>(args, stream);
    case KeepLargestPrecision::kBF16:
        return launch<__nv_bfloat16>(args, stream);
    case KeepLargestPrecision::kINT8:
        return launch<int8_t>(args, stream);
    }
    return cudaErrorInvalidValue;
}

int32_t tacticsOfKeepLargest() noexcept
{
    return kernels::tactics();
}

} // namespace keep_largest
