#include "@{ plugin.slug }@.h"

@% if plugin.dimension_header %@
#include <pluginkit/dimension.h>
@% endif %@
#include <pluginkit/fields.h>
@% if plugin.restores_v2 %@
#include <pluginkit/serialize.h>
@% endif %@
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
using nvinfer1::PluginCapabilityType;
using nvinfer1::PluginField;
using nvinfer1::PluginFieldType;
using nvinfer1::TensorFormat;

constexpr char const* kName = @{ plugin.name_literal }@;
constexpr char const* kVersion = @{ plugin.version_literal }@;
// clang-format off
constexpr char const* kNamespace = @{ plugin.namespace_literal }@;
// clang-format on
@% if plugin.quantized %@
// The field that an engine keeps the scales in; no attribute of a node.
constexpr char const* kScalesField = "pluginkit_scales";
@% endif %@
@% if plugin.restores_v2 %@
// The field in which pluginkit's V3 adapter kept the bytes of this plugin when it was of the second generation, and the
// version of those bytes.
constexpr char const* kV2StateField = "pluginkit_v2_state";
constexpr uint32_t kSerialVersion = @{ plugin.restores_v2 }@;
@% endif %@
// What a method of IPluginV3 answers where it can't do what it is asked.
constexpr int32_t kFailed = 1;

@% include "parts/types.cpp" %@
@% include "parts/formats.cpp" %@
@% include "parts/counts.cpp" %@
@% include "parts/divisions.cpp" %@
@% include "parts/scales.cpp" %@
@% include "parts/workspace.cpp" %@
@% include "parts/numbers.cpp" %@
} // namespace

@{ plugin.name }@::@{ plugin.name }@(@{ plugin.name }@Parameters const& parameters, std::string const& pluginNamespace) : mParameters{parameters}, mNamespace{pluginNamespace}@{ "" if plugin.scaled or plugin.channels else " {}" }@
@% if plugin.scaled or plugin.channels %@
{
@% for tensor in plugin.scaled %@
    mScales[@{ tensor.index }@] = parameters.@{ tensor.scale }@;
@% endfor %@
@% for tensor in plugin.channels %@
    mScales[@{ tensor.index }@] = 1.0F; // each channel has its own, in @{ tensor.scale }@
@% endfor %@
}
@% endif %@

nvinfer1::IPluginCapability* @{ plugin.name }@::getCapabilityInterface(PluginCapabilityType type) noexcept
{
    switch (type)
    {
    case PluginCapabilityType::kCORE:
        return static_cast<nvinfer1::IPluginV3OneCore*>(this);
    case PluginCapabilityType::kBUILD:
        return static_cast<nvinfer1::IPluginV3OneBuild*>(this);
    case PluginCapabilityType::kRUNTIME:
        return static_cast<nvinfer1::IPluginV3OneRuntime*>(this);
    }
    return nullptr;
}

nvinfer1::IPluginV3* @{ plugin.name }@::clone() noexcept
{
    try
    {
        return new @{ plugin.name }@{*this};
    }
    catch (std::exception const&)
    {
        return nullptr; // no memory; no exception may leave a plugin
    }
}

char const* @{ plugin.name }@::getPluginName() const noexcept
{
    return kName;
}

char const* @{ plugin.name }@::getPluginVersion() const noexcept
{
    return kVersion;
}

char const* @{ plugin.name }@::getPluginNamespace() const noexcept
{
    return mNamespace.c_str();
}

int32_t @{ plugin.name }@::getNbOutputs() const noexcept
{
    return kNbOutputs;
}

int32_t @{ plugin.name }@::getOutputDataTypes(DataType* outputTypes, int32_t nbOutputs, DataType const* inputTypes, int32_t nbInputs) const noexcept
{
    if (outputTypes == nullptr || inputTypes == nullptr || nbInputs != kNbInputs || nbOutputs != kNbOutputs)
    {
        return kFailed;
    }
    int32_t const row = findRow(kNbInputs, [inputTypes](int32_t i) { return inputTypes[i]; });
    // TensorRT may ask before it has chosen the types: any row's answer will do then.
    auto const& types = kTypes[row == kNoRow ? 0 : row];
    std::copy(types + kNbInputs, types + kNbTensors, outputTypes);
    return 0;
}

int32_t @{ plugin.name }@::getOutputShapes(DimsExprs const* inputs, int32_t nbInputs, DimsExprs const* @{ "shapeInputs" if plugin.shape_inputs else "/*shapeInputs*/" }@, int32_t nbShapeInputs, DimsExprs* outputs, int32_t nbOutputs, nvinfer1::IExprBuilder& exprBuilder) noexcept
{
    bool const counted = nbInputs == kNbInputs && nbShapeInputs == @{ "kNbShapeInputs" if plugin.shape_inputs else "0" }@ && nbOutputs == kNbOutputs;
    if (inputs == nullptr || outputs == nullptr || !counted@{ " || shapeInputs == nullptr" if plugin.shape_inputs }@)
    {
        return kFailed;
    }
@% for tensor in plugin.shape_inputs %@
    if (shapeInputs[@{ loop.index0 }@].nbDims != @{ tensor.count }@) // @{ tensor.name }@, whose elements come in the place of dimensions
    {
        return kFailed;
    }
@% endfor %@
@% for tensor in plugin.inputs %@
    if (@{ tensor.rank_check }@) // @{ tensor.name }@
    {
        return kFailed;
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
@% for size in plugin.sizes %@
    // @{ size.name }@: only enqueue() knows it. TensorRT gives memory for its upper bound.
@% for line in size.lines %@
    @{ line }@
@% endfor %@
    if (@{ size.opt }@ == nullptr || @{ size.upper }@ == nullptr)
    {
        return kFailed;
    }
    IDimensionExpr const* const @{ size.variable }@ = exprBuilder.declareSizeTensor(@{ size.index }@, *@{ size.opt }@, *@{ size.upper }@);
@% if not size.used %@
    if (@{ size.variable }@ == nullptr)
    {
        return kFailed;
    }
@% endif %@
@% endfor %@
@% for tensor in plugin.outputs %@
    {
        DimsExprs& output = outputs[@{ loop.index0 }@]; // @{ tensor.name }@
@% for line in tensor.dims %@
        @{ line }@
@% endfor %@
    }
@% endfor %@
    bool const failed = std::any_of(outputs, outputs + nbOutputs, [](DimsExprs const& output)
                                    { return std::count(output.d, output.d + output.nbDims, nullptr) > 0; });
    return failed ? kFailed : 0;
}

bool @{ plugin.name }@::supportsFormatCombination(int32_t pos, nvinfer1::DynamicPluginTensorDesc const* inOut, int32_t nbInputs, int32_t nbOutputs) noexcept
{
    if (inOut == nullptr || nbInputs != kNbInputs || nbOutputs != kNbOutputs || pos < 0 || pos >= kNbTensors)
    {
        return false;
    }
    // What stands behind pos is not chosen yet and must not be looked at.
@% if plugin.vectorized %@
    return isCombination(pos + 1, [inOut](int32_t i) { return inOut[i].desc; });
@% else %@
    return inOut[pos].desc.format == TensorFormat::kLINEAR &&
           findRow(pos + 1, [inOut](int32_t i) { return inOut[i].desc.type; }) != kNoRow;
@% endif %@
}

@% if plugin.described %@
int32_t @{ plugin.name }@::configurePlugin(nvinfer1::DynamicPluginTensorDesc const* in, int32_t nbInputs, nvinfer1::DynamicPluginTensorDesc const* out, int32_t nbOutputs) noexcept
{
    if (in == nullptr || out == nullptr || nbInputs != kNbInputs || nbOutputs != kNbOutputs)
    {
        return kFailed;
    }
    // A scale that the node's attributes give wins. In implicit quantization TensorRT knows the scales and gives them here;
    // in explicit quantization (Q/DQ) it doesn't: then the attributes are the only place that they can come from.
@% for tensor in plugin.described %@
    if (!isScale(mParameters.@{ tensor.scale }@))
    {
        takeScale(mScales[@{ tensor.index }@], @{ tensor.desc }@.desc);
    }
@% endfor %@
    return 0;
}
@% else %@
int32_t @{ plugin.name }@::configurePlugin(nvinfer1::DynamicPluginTensorDesc const* /*in*/, int32_t /*nbInputs*/, nvinfer1::DynamicPluginTensorDesc const* /*out*/, int32_t /*nbOutputs*/) noexcept
{
    return 0; // nothing depends on the types or shapes before the kernel runs
}
@% endif %@

@% if plugin.aliases %@
int32_t @{ plugin.name }@::getAliasedInput(int32_t outputIndex) noexcept
{
    // The two are one memory, if the builder has the preview feature kALIASED_PLUGIN_IO_10_03; else each has its own, so
    // every element of the output is written.
    switch (outputIndex)
    {
@% for alias in plugin.aliases %@
    case @{ alias.output }@: // @{ alias.name }@ in @{ alias.source }@
        return @{ alias.input }@;
@% endfor %@
    default:
        return -1;
    }
}

@% endif %@
@% if plugin.workspace %@
size_t @{ plugin.name }@::getWorkspaceSize(nvinfer1::DynamicPluginTensorDesc const* inputs, int32_t nbInputs, nvinfer1::DynamicPluginTensorDesc const* /*outputs*/, int32_t /*nbOutputs*/) const noexcept
{
    if (inputs == nullptr || nbInputs != kNbInputs)
    {
        return 0;
    }
    // TensorRT asks once for a profile: each of its runs gets what the largest needs.
    std::array<nvinfer1::Dims, kNbInputs> dims{};
    std::transform(inputs, inputs + kNbInputs, dims.begin(), [](auto const& desc) { return desc.max; });
    return answered(workspaceBytes(mParameters, dims));
}
@% else %@
size_t @{ plugin.name }@::getWorkspaceSize(nvinfer1::DynamicPluginTensorDesc const* /*inputs*/, int32_t /*nbInputs*/, nvinfer1::DynamicPluginTensorDesc const* /*outputs*/, int32_t /*nbOutputs*/) const noexcept
{
    return 0;
}
@% endif %@

@% if plugin.tunable %@
int32_t @{ plugin.name }@::getNbTactics() noexcept
{
    return tacticsOf@{ plugin.name }@(); // TensorRT times each
}

int32_t @{ plugin.name }@::getValidTactics(int32_t* tactics, int32_t nbTactics) noexcept
{
    if (nbTactics > 0 && tactics == nullptr)
    {
        return kFailed;
    }
    for (int32_t i = 0; i < nbTactics; ++i)
    {
        tactics[i] = i + 1;
    }
    return 0;
}

int32_t @{ plugin.name }@::setTactic(int32_t tactic) noexcept
{
    mTactic = tactic; // one that this library has no more is taken as 0
    return 0;
}

@% endif %@
nvinfer1::PluginFieldCollection const* @{ plugin.name }@::getFieldsToSerialize() noexcept
{
@% for field in plugin.fields %@
    mKept[@{ loop.index0 }@] = PluginField{"@{ field.name }@", @{ field.kept_data }@, PluginFieldType::@{ field.kept_trt }@, @{ field.kept_length }@};
@% endfor %@
@% if plugin.quantized %@
    mKept[@{ plugin.fields|length }@] = PluginField{kScalesField, mScales.data(), PluginFieldType::kFLOAT32, kNbTensors};
@% endif %@
@% if plugin.kept_count %@
    mKeptFields.nbFields = static_cast<int32_t>(mKept.size());
    mKeptFields.fields = mKept.data();
@% endif %@
    return &mKeptFields;
}

bool @{ plugin.name }@::restore(nvinfer1::PluginFieldCollection const* fields) noexcept
{
    pluginkit::FieldReader const reader{fields};
@% if plugin.restores_v2 %@
    if (PluginField const* const state = reader.find(kV2StateField); state != nullptr && state->length >= 0)
    {
        return restoreV2(state->data, static_cast<size_t>(state->length));
    }
@% endif %@
    bool read = fields != nullptr;
@% for field in plugin.fields %@
    read = read && reader.required("@{ field.name }@", mParameters.@{ field.name }@@{ field.bounds }@);
@% endfor %@
@% if plugin.quantized %@
    read = read && reader.required(kScalesField, mScales);
    for (float const scale : mScales)
    {
        read = read && scale >= 0.0F;
    }
@% endif %@
    return read@{ " && isValid(mParameters)" if plugin.checks }@;
}

@% if plugin.restores_v2 %@
bool @{ plugin.name }@::restoreV2(void const* data, size_t length) noexcept
{
    pluginkit::Reader reader{data, length, kSerialVersion};
    bool read = true;
@% for field in plugin.fields %@
    read = read && reader.get(mParameters.@{ field.name }@@{ field.stored_bounds }@);
@% endfor %@
@% if plugin.quantized %@
    for (float& scale : mScales)
    {
        read = read && reader.get(scale) && std::isfinite(scale) && scale >= 0.0F;
    }
@% endif %@
@% if plugin.restores_static %@
    // What an IPluginV2IOExt knew from configurePlugin only; enqueue() is told it now.
    int32_t row{};
    std::array<int64_t, kNbTensors> counts{};
    read = read && reader.get(row) && reader.get(counts);
@% if plugin.workspace_places %@
    std::array<int64_t, @{ plugin.workspace_places|length }@> sizes{};
    read = read && reader.get(sizes);
@% endif %@
@% endif %@
    return read && reader.finished()@{ " && isValid(mParameters)" if plugin.checks }@;
}

@% endif %@
@% include "parts/upload.cpp" %@
nvinfer1::IPluginV3* @{ plugin.name }@::attachToContext(nvinfer1::IPluginResourceContext* /*context*/) noexcept
{
@% if plugin.channels %@
    // Each context has a plugin of its own; the scales lie on the device once.
    return upload() ? clone() : nullptr;
@% else %@
    return clone(); // each context has a plugin of its own
@% endif %@
}

int32_t @{ plugin.name }@::onShapeChange(nvinfer1::PluginTensorDesc const* /*in*/, int32_t /*nbInputs*/, nvinfer1::PluginTensorDesc const* /*out*/, int32_t /*nbOutputs*/) noexcept
{
    return 0; // enqueue() gets the shapes too
}

int32_t @{ plugin.name }@::enqueue(nvinfer1::PluginTensorDesc const* inputDesc, nvinfer1::PluginTensorDesc const* outputDesc, void const* const* inputs, void* const* outputs, void* @{ "workspace" if plugin.workspace else "/*workspace*/" }@, cudaStream_t stream) noexcept
{
@% include "parts/enqueue_body.cpp" %@
}

@{ plugin.name }@Creator::@{ plugin.name }@Creator() noexcept
{
@% if plugin.fields %@
    // Each field's name, type and number of elements; the values come from the node.
@% for field in plugin.fields %@
    mFields[@{ loop.index0 }@] = {"@{ field.name }@", nullptr, PluginFieldType::@{ field.trt }@, @{ field.length }@};
@% endfor %@
    mFieldNames.nbFields = static_cast<int32_t>(mFields.size());
    mFieldNames.fields = mFields.data();
@% endif %@
    setPluginNamespace(kNamespace);
}

char const* @{ plugin.name }@Creator::getPluginName() const noexcept
{
    return kName;
}

char const* @{ plugin.name }@Creator::getPluginVersion() const noexcept
{
    return kVersion;
}

char const* @{ plugin.name }@Creator::getPluginNamespace() const noexcept
{
    return mNamespace.c_str();
}

nvinfer1::PluginFieldCollection const* @{ plugin.name }@Creator::getFieldNames() noexcept
{
    return &mFieldNames;
}

nvinfer1::IPluginV3* @{ plugin.name }@Creator::createPlugin(char const* /*name*/, nvinfer1::PluginFieldCollection const* fields, nvinfer1::TensorRTPhase phase) noexcept
{
    if (fields == nullptr)
    {
        return nullptr;
    }
    try
    {
        if (phase == nvinfer1::TensorRTPhase::kRUNTIME)
        {
            auto plugin = std::make_unique<@{ plugin.name }@>(@{ plugin.name }@Parameters{}, mNamespace);
            return plugin->restore(fields) ? plugin.release() : nullptr;
        }
@% if plugin.fields %@
        // A field that is absent keeps its default; one of a wrong type or length makes no plugin.
        pluginkit::FieldReader const reader{fields};
        @{ plugin.name }@Parameters parameters;
        bool read = true;
@% for field in plugin.fields %@
        read = read && reader.@{ field.reader }@("@{ field.name }@", parameters.@{ field.name }@@{ field.bounds }@@{ field.also }@);
@% endfor %@
        if (!read@{ " || !isValid(parameters)" if plugin.checks }@)
        {
            return nullptr;
        }
@% else %@
        @{ plugin.name }@Parameters const parameters;
@% endif %@
        return new @{ plugin.name }@{parameters, mNamespace};
    }
    catch (std::exception const&)
    {
        return nullptr;
    }
}

void @{ plugin.name }@Creator::setPluginNamespace(char const* pluginNamespace) noexcept
{
    try
    {
        mNamespace = pluginNamespace != nullptr ? pluginNamespace : "";
    }
    catch (std::exception const&)
    {
        mNamespace.clear();
    }
}

} // namespace @{ plugin.namespace_cpp }@
