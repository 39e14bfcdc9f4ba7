@% macro scale(tensor, place) %@@{ ("scaleAt(" ~ tensor ~ ", " ~ place ~ ")") if plugin.channels else tensor ~ ".scale" }@@% endmacro %@
#include "@{ plugin.slug }@_signature.h"

@% if plugin.bfloat16 %@
#include <cuda_bf16.h>
@% endif %@
@% if plugin.half %@
#include <cuda_fp16.h>
@% endif %@
@% if plugin.float8 %@
#include <cuda_fp8.h>
@% endif %@
@% if plugin.half or plugin.bfloat16 or plugin.float8 %@

@% endif %@
#include <algorithm>
#include <cmath>
@% if plugin.lists %@
#include <numeric>
@% endif %@
#include <type_traits>

namespace @{ plugin.namespace_cpp }@
{
namespace
{

constexpr uint32_t kThreads = 256;
constexpr int64_t kMaxBlocks = 4096; // enough for every GPU; the kernel loops over the rest

@% include "parts/numbers.cu" %@
// The real value of an element, as float.

@% for kind in plugin.loads %@
__device__ float toNumber(@{ kind.cpp }@ element, float @{ "scale" if kind.scaled else "/*scale*/" }@)
{
    return @{ kind.load }@;
}

@% endfor %@
// The element nearest to a real value.

@% for kind in plugin.stores %@
__device__ void toElement(@{ kind.cpp }@& element, float number, float @{ "scale" if kind.scaled else "/*scale*/" }@)
{
@% for line in kind.store %@
    @{ line }@
@% endfor %@
}

@% endfor %@
@% if plugin.channels %@
//! The scale of element i in row-major order: its channel's, or the tensor's.
template <typename Tensor>
__device__ float scaleAt(Tensor const& tensor, int64_t i)
{
    auto const& channels = tensor.channels;
    return channels.scales != nullptr ? channels.scales[i / channels.inner % channels.count] : tensor.scale;
}

@% endif %@
@% if plugin.vectorized %@
//! The offset in memory of element i in row-major order. Padded lanes are never written.
__device__ int64_t placeOf(pluginkit::MemoryLayout const& layout, int64_t i)
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
__device__ float load(pluginkit::Input const& input, int64_t i)
{
@% if plugin.vectorized %@
    return toNumber(static_cast<T const*>(input.data)[placeOf(input.layout, i)], @{ scale('input', 'i') }@);
@% else %@
    return toNumber(static_cast<T const*>(input.data)[i], @{ scale('input', 'i') }@);
@% endif %@
}

@% endif %@
@% if plugin.cyclic %@
//! Element i of a tensor that is repeated until it has enough elements; an empty one counts as zeros.
template <typename T>
__device__ float loadCyclic(pluginkit::Input const& input, int64_t i)
{
@% if plugin.vectorized %@
    if (input.count == 0)
    {
        return 0.0F;
    }
    return toNumber(static_cast<T const*>(input.data)[placeOf(input.layout, i % input.count)], @{ scale('input', 'i % input.count') }@);
@% else %@
    return input.count > 0 ? toNumber(static_cast<T const*>(input.data)[i % input.count], @{ scale('input', 'i % input.count') }@) : 0.0F;
@% endif %@
}

@% endif %@
@% if plugin.once %@
//! Element i of a tensor whose memory an output is written into: no other lane may read it. Behind its end are zeros.
template <typename T>
__device__ float loadOnce(pluginkit::Input const& input, int64_t i)
{
@% if plugin.vectorized %@
    return i < input.count ? toNumber(static_cast<T const*>(input.data)[placeOf(input.layout, i)], @{ scale('input', 'i') }@) : 0.0F;
@% else %@
    return i < input.count ? toNumber(static_cast<T const*>(input.data)[i], @{ scale('input', 'i') }@) : 0.0F;
@% endif %@
}

@% endif %@
@% if plugin.stored %@
template <typename T>
__device__ void store(pluginkit::Output const& output, int64_t i, float number)
{
    if (i < output.count)
    {
@% if plugin.vectorized %@
        toElement(static_cast<T*>(output.data)[placeOf(output.layout, i)], number, @{ scale('output', 'i') }@);
@% else %@
        toElement(static_cast<T*>(output.data)[i], number, @{ scale('output', 'i') }@);
@% endif %@
    }
}

@% endif %@
@% if plugin.workspace %@
//! Element i of the workspace, as numbers; null beyond its end.
__device__ float* scratch(void* workspace, int64_t bytes, int64_t i)
{
    bool const fits = i < bytes / static_cast<int64_t>(sizeof(float));
    return fits ? static_cast<float*>(workspace) + i : nullptr;
}

@% endif %@
//! The layer: a leaky ReLU of @{ plugin.summed }@. T is the element type of the precision.
@% if plugin.whole %@
//! An INT32 output marks where the sum is not negative.
@% endif %@
template <typename T>
__global__ void @{ plugin.kernel }@(int64_t count, [[maybe_unused]] @{ "Numbers" if plugin.wide else "Fields" }@ const fields, Inputs const in, Outputs const out@{ ", void* workspace, int64_t workspaceBytes" if plugin.workspace }@)
{
    int64_t const step = static_cast<int64_t>(gridDim.x) * blockDim.x;
    for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += step)
    {
        float sum = 0.0F;
@% for tensor in plugin.inputs %@
        sum += @{ tensor.load }@<@{ tensor.cpp }@>(in.@{ tensor.name }@, i);
@% endfor %@
@% for name in plugin.biases %@
        sum += static_cast<float>(fields.@{ name }@);
@% endfor %@
@% if plugin.workspace %@
        // A layer of several steps keeps its intermediate results here; the generated one only shows how.
        if (float* const kept = scratch(workspace, workspaceBytes, i); kept != nullptr)
        {
            *kept = sum;
            sum = *kept;
        }
@% endif %@
@% if plugin.flattened %@
        float const result = sum >= 0.0F ? sum : @{ plugin.slope }@ * sum;
@% endif %@
@% for tensor in plugin.outputs %@
@% if tensor.upper %@
        if (i == 0)
        {
            // A size tensor: how much of the outputs that have it in their shape there is. They are dense: element i of
            // the smaller tensor stands where element i of the largest would.
            auto const size = sum >= 0.0F ? out.@{ tensor.name }@.upper : out.@{ tensor.name }@.upper / 2;
            *static_cast<int32_t*>(out.@{ tensor.name }@.data) = static_cast<int32_t>(size);
        }
@% else %@
        store<@{ tensor.cpp }@>(out.@{ tensor.name }@, i, @{ tensor.result }@);
@% endif %@
@% endfor %@
    }
}

} // namespace

cudaError_t launch(Run const& run) noexcept
{
    if (run.count == 0)
    {
        return cudaSuccess; // a launch of no blocks is an error
    }
    int64_t const wanted = (run.count + kThreads - 1) / kThreads;
    auto const blocks = static_cast<uint32_t>(std::min(wanted, kMaxBlocks));
    @{ "Numbers const" if plugin.wide else "Fields const&" }@ fields = @{ "numbersOf(run.fields)" if plugin.wide else "run.fields" }@;
    switch (run.precision)
    {
@% for precision in plugin.precisions %@
    case Precision::@{ precision.trt }@:
        @{ plugin.kernel }@<@{ precision.cpp }@><<<blocks, kThreads, 0, run.stream>>>(run.count, fields, run.in, run.out@{ ", run.workspace, run.workspaceBytes" if plugin.workspace }@);
        break;
@% endfor %@
    }
    return cudaGetLastError();
}

} // namespace @{ plugin.namespace_cpp }@
