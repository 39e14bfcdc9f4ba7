@% set plugin = signature(cookiecutter) %@
#include "@{ plugin.slug }@_kernel.h"

@% if plugin.bfloat16 %@
#include <cuda_bf16.h>
@% endif %@
@% if plugin.half %@
#include <cuda_fp16.h>
@% endif %@
@% if plugin.half or plugin.bfloat16 %@

@% endif %@
#include <algorithm>
#include <cmath>
#include <type_traits>

namespace @{ plugin.namespace_cpp }@
{
namespace
{

constexpr uint32_t kThreads = 256;
constexpr int64_t kMaxBlocks = 4096; // enough for every GPU; the kernel's loop does what is left

// An element as the number it stands for. All is computed in float, whatever the tensor's type is.

@% for kind in plugin.loads %@
__device__ float toNumber(@{ kind.cpp }@ element, float @{ "scale" if kind.scaled else "/*scale*/" }@)
{
    return @{ kind.load }@;
}

@% endfor %@
// The element that stands for a number, or for the nearest one that the type has.

@% for kind in plugin.stores %@
__device__ void toElement(@{ kind.cpp }@& element, float number, float @{ "scale" if kind.scaled else "/*scale*/" }@)
{
@% for line in kind.store %@
    @{ line }@
@% endfor %@
}

@% endfor %@
@% if plugin.vectorized %@
//! The place in memory of element i, counted in row-major order. Padded lanes are no elements: they are left alone.
__device__ int64_t placeOf(@{ plugin.name }@Layout const& layout, int64_t i)
{
    if (layout.lanes == 1)
    {
        return i;
    }
    int64_t const inside = i % layout.inner;
    int64_t const channel = i / layout.inner % layout.channels;
    int64_t const outer = i / layout.inner / layout.channels;
    int64_t const vectors = (layout.channels + layout.lanes - 1) / layout.lanes;
    int64_t const vector = outer * vectors + channel / layout.lanes;
    return (vector * layout.inner + inside) * layout.lanes + channel % layout.lanes;
}

@% endif %@
@% if plugin.same %@
template <typename T>
__device__ float load(@{ plugin.name }@Arguments::Input const& input, int64_t i)
{
@% if plugin.vectorized %@
    return toNumber(static_cast<T const*>(input.data)[placeOf(input.layout, i)], input.scale);
@% else %@
    return toNumber(static_cast<T const*>(input.data)[i], input.scale);
@% endif %@
}

@% endif %@
@% if plugin.cyclic %@
//! Element i of a tensor that is repeated until it has enough elements; an empty one counts as zeros.
template <typename T>
__device__ float loadCyclic(@{ plugin.name }@Arguments::Input const& input, int64_t i)
{
@% if plugin.vectorized %@
    if (input.count == 0)
    {
        return 0.0F;
    }
    return toNumber(static_cast<T const*>(input.data)[placeOf(input.layout, i % input.count)], input.scale);
@% else %@
    return input.count > 0 ? toNumber(static_cast<T const*>(input.data)[i % input.count], input.scale) : 0.0F;
@% endif %@
}

@% endif %@
template <typename T>
__device__ void store(@{ plugin.name }@Arguments::Output const& output, int64_t i, float number)
{
    if (i < output.count)
    {
@% if plugin.vectorized %@
        toElement(static_cast<T*>(output.data)[placeOf(output.layout, i)], number, output.scale);
@% else %@
        toElement(static_cast<T*>(output.data)[i], number, output.scale);
@% endif %@
    }
}

//! The layer: the sum of the inputs, with its negative values flattened. T is the type that the layer computes in.
@% if plugin.whole %@
//! An INT32 output tells where the sum isn't negative.
@% endif %@
template <typename T>
__global__ void @{ plugin.kernel }@(@{ plugin.name }@Arguments const args)
{
    int64_t const step = static_cast<int64_t>(gridDim.x) * blockDim.x;
    for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < args.count; i += step)
    {
        float sum = 0.0F;
@% for tensor in plugin.inputs %@
        sum += @{ tensor.load }@<@{ tensor.cpp }@>(args.inputs.@{ tensor.name }@, i);
@% endfor %@
@% for name in plugin.biases %@
        sum += static_cast<float>(args.parameters.@{ name }@);
@% endfor %@
@% if plugin.flattened %@
        float const result = sum >= 0.0F ? sum : @{ plugin.slope }@ * sum;
@% endif %@
@% for tensor in plugin.outputs %@
        store<@{ tensor.cpp }@>(args.outputs.@{ tensor.name }@, i, @{ tensor.result }@);
@% endfor %@
    }
}

} // namespace

cudaError_t launch@{ plugin.name }@(@{ plugin.name }@Arguments const& args, @{ plugin.name }@Precision precision, cudaStream_t stream) noexcept
{
    if (args.count == 0)
    {
        return cudaSuccess; // a launch of no blocks would be an error
    }
    int64_t const wanted = (args.count + kThreads - 1) / kThreads;
    auto const blocks = static_cast<uint32_t>(std::min(wanted, kMaxBlocks));
    switch (precision)
    {
@% for precision in plugin.precisions %@
    case @{ plugin.name }@Precision::@{ precision.trt }@:
        @{ plugin.kernel }@<@{ precision.cpp }@><<<blocks, kThreads, 0, stream>>>(args);
        break;
@% endfor %@
    }
    return cudaGetLastError();
}

} // namespace @{ plugin.namespace_cpp }@
