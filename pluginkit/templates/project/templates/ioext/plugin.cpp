#include "@{ plugin.slug }@.h"

@% if plugin.dimension_header %@
#include <pluginkit/dimension.h>
@% endif %@
#include <pluginkit/fields.h>
#include <pluginkit/serialize.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <initializer_list>
#include <iterator>
@% if plugin.optional_dims or plugin.workspace %@
#include <limits>
@% endif %@
#include <memory>
@% if plugin.lists %@
#include <numeric>
@% endif %@

namespace @{ plugin.namespace_cpp }@
{
namespace
{

using nvinfer1::DataType;
using nvinfer1::Dims;
using nvinfer1::PluginFieldType;
using nvinfer1::TensorFormat;

@% include "parts/v2_identity.cpp" %@
@% include "parts/types.cpp" %@
@% include "parts/counts.cpp" %@
@% if plugin.optional_dims %@
//! In the place of a dimension that the fields say there isn't.
constexpr int64_t kNoDimension = std::numeric_limits<int64_t>::min();

@% endif %@
//! Dimensions from number `first` on; an impossible shape where one is negative.
Dims asDims(std::initializer_list<int64_t> all, int32_t first) noexcept
{
    Dims dims{};
    for (int64_t const* dim = all.begin() + first; dim < all.end(); ++dim)
    {
@% if plugin.optional_dims %@
        if (*dim == kNoDimension)
        {
            continue;
        }
@% endif %@
        if (*dim < 0)
        {
            return Dims{-1, {}};
        }
        dims.d[dims.nbDims] = *dim;
        ++dims.nbDims;
    }
    return dims;
}

@% include "parts/divisions.cpp" %@
@% include "parts/scales.cpp" %@
@% include "parts/workspace.cpp" %@
@% include "parts/numbers.cpp" %@
@% include "parts/v2_namespace.cpp" %@
} // namespace

@% include "parts/v2_state.cpp" %@
nvinfer1::IPluginV2IOExt* @{ plugin.name }@::clone() const noexcept
{
    try
    {
        return new @{ plugin.name }@{*this};
    }
    catch (std::exception const&)
    {
        return nullptr;
    }
}

void @{ plugin.name }@::destroy() noexcept
{
    delete this;
}

@% include "parts/v2_outputs.cpp" %@
Dims @{ plugin.name }@::getOutputDimensions(int32_t index, Dims const* inputs, int32_t nbInputs) noexcept
{
    Dims const impossible{-1, {}};
    if (inputs == nullptr || nbInputs != kNbInputs)
    {
        return impossible;
    }
@% if plugin.batched %@
    // The batch is the first of the dimensions, or it stands beside them (batchSize): TensorRT's documents say both, and the
    // number of dimensions tells which.
    int32_t const beside = inputs[0].nbDims == @{ plugin.inputs[0].rank - 1 }@ ? 1 : 0;
@% else %@
    // No dimension is a batch that could stand beside the others.
    constexpr int32_t beside = 0;
@% endif %@
@% for tensor in plugin.inputs %@
    if (inputs[@{ tensor.index }@].nbDims != @{ tensor.rank }@ - beside) // @{ tensor.name }@
    {
        return impossible;
    }
@% endfor %@
@% if plugin.static_at %@
@% if plugin.batched %@
    auto const at = [inputs, beside](int32_t input, int32_t dim)
    { return dim < beside ? int64_t{1} : inputs[input].d[dim - beside]; };
@% else %@
    auto const at = [inputs](int32_t input, int32_t dim) { return inputs[input].d[dim]; };
@% endif %@
@% endif %@
@% for field in plugin.counted_at %@
    if (at(@{ field.input }@, @{ field.axis }@) != static_cast<int64_t>(mParameters.@{ field.name }@.size()))
    {
        return impossible; // @{ field.name }@ has an element for each @{ field.symbol }@
    }
@% endfor %@
    switch (index)
    {
@% for tensor in plugin.outputs %@
    case @{ loop.index0 }@: // @{ tensor.name }@
        return asDims({@{ tensor.static_dims }@}, beside);
@% endfor %@
    default:
        return impossible;
    }
}

bool @{ plugin.name }@::supportsFormatCombination(int32_t pos, nvinfer1::PluginTensorDesc const* inOut, int32_t nbInputs, int32_t nbOutputs) const noexcept
@% include "parts/v2_formats.cpp" %@

void @{ plugin.name }@::configurePlugin(nvinfer1::PluginTensorDesc const* in, int32_t nbInputs, nvinfer1::PluginTensorDesc const* out, int32_t nbOutputs) noexcept
{
    if (in == nullptr || out == nullptr || nbInputs != kNbInputs || nbOutputs != kNbOutputs)
    {
        return;
    }
    auto const descAt = [in, out](int32_t i) -> nvinfer1::PluginTensorDesc const&
    { return i < kNbInputs ? in[i] : out[i - kNbInputs]; };
    mRow = findRow(kNbTensors, [&descAt](int32_t i) { return descAt(i).type; });
    for (int32_t i = 0; i < kNbTensors; ++i)
    {
        mCounts[static_cast<size_t>(i)] = elementCount(descAt(i));
    }
@% if plugin.workspace_places %@
@% if plugin.batched %@
    int32_t const beside = in[0].dims.nbDims == @{ plugin.inputs[0].rank - 1 }@ ? 1 : 0;
    auto const at = [in, beside](int32_t input, int32_t dim)
    { return dim < beside ? int64_t{1} : in[input].dims.d[dim - beside]; };
@% else %@
    auto const at = [in](int32_t input, int32_t dim) { return in[input].dims.d[dim]; };
@% endif %@
@% for input, axis in plugin.workspace_places %@
    mSizes[@{ loop.index0 }@] = at(@{ input }@, @{ axis }@);
@% endfor %@
@% endif %@
@% if plugin.described or (plugin.quantized and not plugin.float8) %@
    // A scale that the node's attributes give wins. In implicit quantization TensorRT knows the scales and gives them here;
    // in explicit quantization (Q/DQ) it doesn't: then the attributes are the only place that they can come from.
@% for tensor in plugin.described %@
    if (!isScale(mParameters.@{ tensor.scale }@))
    {
        takeScale(mScales[@{ tensor.index }@], @{ tensor.desc }@);
    }
@% endfor %@
@% endif %@
}

@% if plugin.workspace %@
size_t @{ plugin.name }@::getWorkspaceSize(int32_t maxBatchSize) const noexcept
{
    return answered(workspaceBytes(mParameters@{ ", mSizes" if plugin.workspace_places }@, maxBatchSize));
}
@% else %@
size_t @{ plugin.name }@::getWorkspaceSize(int32_t /*maxBatchSize*/) const noexcept
{
    return 0;
}
@% endif %@

#if NV_TENSORRT_MAJOR < 11
bool @{ plugin.name }@::isOutputBroadcastAcrossBatch(int32_t /*index*/, bool const* /*inputIsBroadcast*/, int32_t /*nbInputs*/) const noexcept
{
    return false;
}

bool @{ plugin.name }@::canBroadcastInputAcrossBatch(int32_t /*index*/) const noexcept
{
    return false;
}

#endif
int32_t @{ plugin.name }@::initialize() noexcept
{
    return 0;
}

int32_t @{ plugin.name }@::enqueue(int32_t batchSize, void const* const* inputs, void* const* outputs, void* @{ "workspace" if plugin.workspace else "/*workspace*/" }@, cudaStream_t stream) noexcept
{
    constexpr int32_t kFailed = 1;
    if (batchSize < 0 || inputs == nullptr || outputs == nullptr || mRow == kNoRow)
    {
        return kFailed; // mRow: not configured, or for types that there is no row for
    }
@% if plugin.quantized %@
    for (int32_t i = 0; i < kNbTensors; ++i)
    {
        if (@{ "kTypes[mRow][i] == DataType::" ~ plugin.one_quantized if plugin.one_quantized else "isQuantized(kTypes[mRow][i])" }@ && !isScale(mScales[static_cast<size_t>(i)]))
        {
            return kFailed; // nobody said what the @{ plugin.quantized }@ values stand for
        }
    }
@% endif %@
    // Element by element it does not matter whether the batch is among the dimensions.
    auto const countOf = [this, batchSize](size_t i) { return mCounts[i] * batchSize; };

@% if plugin.workspace %@
    int64_t const workspaceSize = workspaceBytes(mParameters@{ ", mSizes" if plugin.workspace_places }@, batchSize).value();
    if (workspaceSize < 0 || (workspaceSize > 0 && workspace == nullptr))
    {
        return kFailed; // -1: the bytes are no number
    }
@% endif %@
    @{ plugin.name }@Arguments args{};
@% if plugin.workspace %@
    args.workspace = workspace;
    args.workspaceBytes = workspaceSize;
@% endif %@
    args.parameters = @{ "numbersOf(mParameters)" if plugin.wide else "mParameters" }@;
@% for tensor in plugin.inputs %@
    args.inputs.@{ tensor.name }@.data = inputs[@{ loop.index0 }@];
    args.inputs.@{ tensor.name }@.count = countOf(@{ tensor.index }@);
@% if tensor.quantized %@
    args.inputs.@{ tensor.name }@.scale = mScales[@{ tensor.index }@];
@% endif %@
@% endfor %@
@% for tensor in plugin.outputs %@
    args.outputs.@{ tensor.name }@.data = outputs[@{ loop.index0 }@];
    args.outputs.@{ tensor.name }@.count = countOf(@{ tensor.index }@);
@% if tensor.quantized %@
    args.outputs.@{ tensor.name }@.scale = mScales[@{ tensor.index }@];
@% endif %@
    args.count = std::max(args.count, args.outputs.@{ tensor.name }@.count);
@% endfor %@
@% for tensor in plugin.inputs if tensor.load == "load" %@
    if (args.inputs.@{ tensor.name }@.count != args.count)
    {
        return kFailed; // the kernel would read beyond the tensor
    }
@% endfor %@
    auto const precision = static_cast<@{ plugin.name }@Precision>(mRow);
    cudaError_t const error = launch@{ plugin.name }@(args, precision, stream);
    return error == cudaSuccess ? 0 : kFailed;
}

void @{ plugin.name }@::terminate() noexcept
{
    // initialize() took nothing.
}

@% include "parts/v2_creator.cpp" %@
} // namespace @{ plugin.namespace_cpp }@
