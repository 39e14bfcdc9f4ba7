#include "@{ plugin.slug }@.h"

@% if plugin.dimension_header %@
#include <pluginkit/dimension.h>
@% endif %@
#include <pluginkit/fields.h>
#include <pluginkit/serialize.h>
#include <pluginkit/shape.h>

#include <algorithm>
#include <cmath>
#include <exception>
@% if plugin.vectorized %@
#include <iterator>
@% endif %@
@% if plugin.workspace %@
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
using nvinfer1::DimensionOperation;
using nvinfer1::DimsExprs;
using nvinfer1::IDimensionExpr;
using nvinfer1::PluginFieldType;
using nvinfer1::TensorFormat;

@% include "parts/v2_identity.cpp" %@
@% include "parts/types.cpp" %@
@% include "parts/formats.cpp" %@
@% include "parts/counts.cpp" %@
@% include "parts/scales.cpp" %@
@% include "parts/workspace.cpp" %@
@% include "parts/numbers.cpp" %@
@% include "parts/v2_namespace.cpp" %@
} // namespace

@% include "parts/v2_state.cpp" %@
nvinfer1::IPluginV2DynamicExt* @{ plugin.name }@::clone() const noexcept
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
DimsExprs @{ plugin.name }@::getOutputDimensions(int32_t outputIndex, DimsExprs const* inputs, int32_t nbInputs, nvinfer1::IExprBuilder& exprBuilder) noexcept
{
    DimsExprs const impossible{-1, {}};
    if (inputs == nullptr || nbInputs != kNbInputs)
    {
        return impossible;
    }
@% for tensor in plugin.inputs %@
    if (@{ tensor.rank_check }@) // @{ tensor.name }@
    {
        return impossible;
    }
@% endfor %@
@% if plugin.computed_constants %@
    auto const fixed = [&exprBuilder](pluginkit::Dimension number)
    { return number.isNumber() ? exprBuilder.constant(number.value()) : nullptr; };
@% endif %@
@% if plugin.operations %@
    auto const apply = [&exprBuilder](DimensionOperation operation, IDimensionExpr const* a, IDimensionExpr const* b)
    { return a != nullptr && b != nullptr ? exprBuilder.operation(operation, *a, *b) : nullptr; };
@% elif not plugin.constants and not plugin.computed_constants %@
    static_cast<void>(exprBuilder); // needed for dimensions that are computed
@% endif %@
    DimsExprs output{};
    switch (outputIndex)
    {
@% for tensor in plugin.outputs %@
    case @{ loop.index0 }@: // @{ tensor.name }@
    {
@% for line in tensor.dims %@
        @{ line }@
@% endfor %@
        break;
    }
@% endfor %@
    default:
        return impossible;
    }
    bool const failed = std::count(output.d, output.d + output.nbDims, nullptr) > 0;
    return failed ? impossible : output;
}

bool @{ plugin.name }@::supportsFormatCombination(int32_t pos, nvinfer1::PluginTensorDesc const* inOut, int32_t nbInputs, int32_t nbOutputs) noexcept
@% include "parts/v2_formats.cpp" %@

@% if plugin.described %@
void @{ plugin.name }@::configurePlugin(nvinfer1::DynamicPluginTensorDesc const* in, int32_t nbInputs, nvinfer1::DynamicPluginTensorDesc const* out, int32_t nbOutputs) noexcept
{
    if (in == nullptr || out == nullptr || nbInputs != kNbInputs || nbOutputs != kNbOutputs)
    {
        return;
    }
    // A scale that the node's attributes give wins. In implicit quantization TensorRT knows the scales and gives them here;
    // in explicit quantization (Q/DQ) it doesn't: then the attributes are the only place that they can come from.
@% for tensor in plugin.described %@
    if (!isScale(mParameters.@{ tensor.scale }@))
    {
        takeScale(mScales[@{ tensor.index }@], @{ tensor.desc }@.desc);
    }
@% endfor %@
}
@% else %@
void @{ plugin.name }@::configurePlugin(nvinfer1::DynamicPluginTensorDesc const* /*in*/, int32_t /*nbInputs*/, nvinfer1::DynamicPluginTensorDesc const* /*out*/, int32_t /*nbOutputs*/) noexcept
{
    // Nothing depends on the types or shapes before the kernel runs.
}
@% endif %@

@% if plugin.workspace %@
size_t @{ plugin.name }@::getWorkspaceSize(nvinfer1::PluginTensorDesc const* inputs, int32_t nbInputs, nvinfer1::PluginTensorDesc const* /*outputs*/, int32_t /*nbOutputs*/) const noexcept
{
    if (inputs == nullptr || nbInputs != kNbInputs)
    {
        return 0;
    }
    std::array<nvinfer1::Dims, kNbInputs> dims{};
    std::transform(inputs, inputs + kNbInputs, dims.begin(), [](auto const& desc) { return desc.dims; });
    return answered(workspaceBytes(mParameters, dims));
}
@% else %@
size_t @{ plugin.name }@::getWorkspaceSize(nvinfer1::PluginTensorDesc const* /*inputs*/, int32_t /*nbInputs*/, nvinfer1::PluginTensorDesc const* /*outputs*/, int32_t /*nbOutputs*/) const noexcept
{
    return 0;
}
@% endif %@

@% include "parts/upload.cpp" %@
int32_t @{ plugin.name }@::initialize() noexcept
{
@% if plugin.channels %@
    return upload() ? 0 : 1;
@% else %@
    return 0;
@% endif %@
}

int32_t @{ plugin.name }@::enqueue(nvinfer1::PluginTensorDesc const* inputDesc, nvinfer1::PluginTensorDesc const* outputDesc, void const* const* inputs, void* const* outputs, void* @{ "workspace" if plugin.workspace else "/*workspace*/" }@, cudaStream_t stream) noexcept
{
    constexpr int32_t kFailed = 1;
@% include "parts/enqueue_body.cpp" %@
}

void @{ plugin.name }@::terminate() noexcept
{
@% if plugin.channels %@
    for (auto& list : mChannelScales)
    {
        list.clear();
    }
@% else %@
    // initialize() took nothing.
@% endif %@
}

@% include "parts/v2_creator.cpp" %@
} // namespace @{ plugin.namespace_cpp }@
