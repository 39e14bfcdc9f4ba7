@% include "parts/kernel_types.cu" %@
#include <pluginkit/kernels/pooling.cuh>

#include <cmath>

@% set x = plugin.inputs[0] %@
@% set y = plugin.outputs[0] %@
namespace @{ plugin.namespace_cpp }@
{
namespace
{

namespace kernels = pluginkit::kernels;

//! The layer: the maximum of each window's elements inside the image. `MinimumFold` and `SumFold` exist, too (for an
//! average divide by `count`, the number of elements); or write a `kIdentity` and a function as in pooling.cuh.
struct Layer : kernels::MaximumFold
{
    __device__ float result(float folded, float /*count*/) const
    {
        return folded;
    }
};

//! T is the type of the tensors. Their last two dimensions are an image.
template <typename T>
cudaError_t start(Run const& run) noexcept
{
    auto const& x = run.in.@{ x.name }@.shape;
    auto const& y = run.out.@{ y.name }@.shape;
    int64_t count = 1;
    for (int32_t i = 0; i < x.rank - 2; ++i)
    {
        count *= x.dims[i];
    }
    kernels::Images const images{count, x.dims[x.rank - 2], x.dims[x.rank - 1], y.dims[x.rank - 2], y.dims[x.rank - 1]};
    kernels::Window const window{@% for one in plugin.window %@static_cast<int32_t>(@{ one }@)@{ ", " if not loop.last }@@% endfor %@};
    return kernels::launchPooling(kernels::tuned(run), images, window, Layer{}, kernels::output<T>(run.out.@{ y.name }@), kernels::input<T>(run.in.@{ x.name }@));
}

@% include "parts/kernel_launch.cu" %@
