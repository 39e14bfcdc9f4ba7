#include "@{ cookiecutter.slug }@_kernel.h"

@% if cookiecutter.bfloat16 %@
#include <cuda_bf16.h>
@% endif %@
@% if cookiecutter.half %@
#include <cuda_fp16.h>
@% endif %@
@% if cookiecutter.half or cookiecutter.bfloat16 %@

@% endif %@
#include <algorithm>
#include <cmath>
#include <type_traits>

namespace @{ cookiecutter.namespace_cpp }@
{
namespace
{

constexpr uint32_t kThreads = 256;
constexpr int64_t kMaxBlocks = 4096; // enough for every GPU; the kernel's loop does what is left

// An element as the number it stands for. All is computed in float, whatever the tensor's type is.

@% for kind in cookiecutter.loads %@
__device__ float toNumber(@{ kind.cpp }@ element, float @{ "scale" if kind.scaled else "/*scale*/" }@)
{
    return @{ kind.load }@;
}

@% endfor %@
// The element that stands for a number, or for the nearest one that the type has.

@% for kind in cookiecutter.stores %@
__device__ void toElement(@{ kind.cpp }@& element, float number, float @{ "scale" if kind.scaled else "/*scale*/" }@)
{
@% for line in kind.store %@
    @{ line }@
@% endfor %@
}

@% endfor %@
@% if cookiecutter.vectorized %@
//! The place in memory of element i, counted in row-major order. Padded lanes are no elements: they are left alone.
__device__ int64_t placeOf(@{ cookiecutter.name }@Layout const& layout, int64_t i)
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
@% if cookiecutter.same %@
template <typename T>
__device__ float load(@{ cookiecutter.name }@Arguments::Input const& input, int64_t i)
{
@% if cookiecutter.vectorized %@
    return toNumber(static_cast<T const*>(input.data)[placeOf(input.layout, i)], input.scale);
@% else %@
    return toNumber(static_cast<T const*>(input.data)[i], input.scale);
@% endif %@
}

@% endif %@
@% if cookiecutter.cyclic %@
//! Element i of a tensor that is repeated until it has enough elements; an empty one counts as zeros.
template <typename T>
__device__ float loadCyclic(@{ cookiecutter.name }@Arguments::Input const& input, int64_t i)
{
@% if cookiecutter.vectorized %@
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
__device__ void store(@{ cookiecutter.name }@Arguments::Output const& output, int64_t i, float number)
{
    if (i < output.count)
    {
@% if cookiecutter.vectorized %@
        toElement(static_cast<T*>(output.data)[placeOf(output.layout, i)], number, output.scale);
@% else %@
        toElement(static_cast<T*>(output.data)[i], number, output.scale);
@% endif %@
    }
}

//! The layer: the sum of the inputs, with its negative values flattened. T is the type that the layer computes in.
@% if cookiecutter.whole %@
//! An INT32 output tells where the sum isn't negative.
@% endif %@
template <typename T>
__global__ void @{ cookiecutter.kernel }@(@{ cookiecutter.name }@Arguments const args)
{
    int64_t const step = static_cast<int64_t>(gridDim.x) * blockDim.x;
    for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < args.count; i += step)
    {
        float sum = 0.0F;
@% for tensor in cookiecutter.inputs %@
        sum += @{ tensor.load }@<@{ tensor.cpp }@>(args.inputs.@{ tensor.name }@, i);
@% endfor %@
@% for name in cookiecutter.biases %@
        sum += static_cast<float>(args.parameters.@{ name }@);
@% endfor %@
@% if cookiecutter.flattened %@
        float const result = sum >= 0.0F ? sum : @{ cookiecutter.slope }@ * sum;
@% endif %@
@% for tensor in cookiecutter.outputs %@
        store<@{ tensor.cpp }@>(args.outputs.@{ tensor.name }@, i, @{ tensor.result }@);
@% endfor %@
    }
}

} // namespace

cudaError_t launch@{ cookiecutter.name }@(@{ cookiecutter.name }@Arguments const& args, @{ cookiecutter.name }@Precision precision, cudaStream_t stream) noexcept
{
    if (args.count == 0)
    {
        return cudaSuccess; // a launch of no blocks would be an error
    }
    int64_t const wanted = (args.count + kThreads - 1) / kThreads;
    auto const blocks = static_cast<uint32_t>(std::min(wanted, kMaxBlocks));
    switch (precision)
    {
@% for precision in cookiecutter.precisions %@
    case @{ cookiecutter.name }@Precision::@{ precision.trt }@:
        @{ cookiecutter.kernel }@<@{ precision.cpp }@><<<blocks, kThreads, 0, stream>>>(args);
        break;
@% endfor %@
    }
    return cudaGetLastError();
}

} // namespace @{ cookiecutter.namespace_cpp }@
