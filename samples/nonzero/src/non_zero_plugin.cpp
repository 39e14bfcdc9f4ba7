#include "non_zero_plugin.h"

#include <pluginkit/fields.h>
#include <pluginkit/shape.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <memory>

namespace non_zero_plugin
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

constexpr char const* kName = "NonZeroPlugin";
constexpr char const* kVersion = "1";
// clang-format off
constexpr char const* kNamespace = "pluginkit_samples";
// clang-format on
// What a method of IPluginV3 answers where it can't do what it is asked.
constexpr int32_t kFailed = 1;

constexpr int32_t kNbInputs = 1;
constexpr int32_t kNbOutputs = 2;
constexpr int32_t kNbTensors = kNbInputs + kNbOutputs;

// The types that go together: those of the inputs, then those of the outputs; a row each for the enumerators of
// NonZeroPluginPrecision, in their order.
// clang-format off
constexpr DataType kTypes[][kNbTensors] = {
    {DataType::kFLOAT, DataType::kINT64, DataType::kINT32},
    {DataType::kHALF, DataType::kINT64, DataType::kINT32},
};
// clang-format on
constexpr int32_t kNoRow = -1;

//! The first row of kTypes that starts with the given types; kNoRow if none does.
template <typename TypeAt>
int32_t findRow(int32_t count, TypeAt typeAt) noexcept
{
    int32_t row = 0;
    for (auto const& types : kTypes)
    {
        int32_t same = 0;
        while (same < count && types[same] == typeAt(same))
        {
            ++same;
        }
        if (same == count)
        {
            return row;
        }
        ++row;
    }
    return kNoRow;
}

int64_t elementCount(nvinfer1::PluginTensorDesc const& desc) noexcept
{
    int64_t count = 1;
    for (int32_t i = 0; i < desc.dims.nbDims; ++i)
    {
        count *= desc.dims.d[i];
    }
    return count;
}

} // namespace

NonZeroPlugin::NonZeroPlugin(NonZeroPluginParameters const& parameters, std::string const& pluginNamespace)
    : mParameters{parameters}, mNamespace{pluginNamespace}
{
}

nvinfer1::IPluginCapability* NonZeroPlugin::getCapabilityInterface(PluginCapabilityType type) noexcept
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

nvinfer1::IPluginV3* NonZeroPlugin::clone() noexcept
{
    try
    {
        return new NonZeroPlugin{*this};
    }
    catch (std::exception const&)
    {
        return nullptr; // no memory; no exception may leave a plugin
    }
}

char const* NonZeroPlugin::getPluginName() const noexcept
{
    return kName;
}

char const* NonZeroPlugin::getPluginVersion() const noexcept
{
    return kVersion;
}

char const* NonZeroPlugin::getPluginNamespace() const noexcept
{
    return mNamespace.c_str();
}

int32_t NonZeroPlugin::getNbOutputs() const noexcept
{
    return kNbOutputs;
}

int32_t NonZeroPlugin::getOutputDataTypes(DataType* outputTypes, int32_t nbOutputs, DataType const* inputTypes,
                                          int32_t nbInputs) const noexcept
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

int32_t NonZeroPlugin::getOutputShapes(DimsExprs const* inputs, int32_t nbInputs, DimsExprs const* /*shapeInputs*/,
                                       int32_t nbShapeInputs, DimsExprs* outputs, int32_t nbOutputs,
                                       nvinfer1::IExprBuilder& exprBuilder) noexcept
{
    bool const counted = nbInputs == kNbInputs && nbShapeInputs == 0 && nbOutputs == kNbOutputs;
    if (inputs == nullptr || outputs == nullptr || !counted)
    {
        return kFailed;
    }
    if (inputs[0].nbDims != 2) // x
    {
        return kFailed;
    }
    auto const apply = [&exprBuilder](DimensionOperation operation, IDimensionExpr const* a, IDimensionExpr const* b)
    { return a != nullptr && b != nullptr ? exprBuilder.operation(operation, *a, *b) : nullptr; };
    // count: only enqueue() knows it. TensorRT gives memory for its upper bound.
    IDimensionExpr const* const s1 = apply(DimensionOperation::kPROD, inputs[0].d[0], inputs[0].d[1]);
    IDimensionExpr const* const s0 = apply(DimensionOperation::kFLOOR_DIV, s1, exprBuilder.constant(2));
    IDimensionExpr const* const s2 = apply(DimensionOperation::kPROD, inputs[0].d[0], inputs[0].d[1]);
    if (s0 == nullptr || s2 == nullptr)
    {
        return kFailed;
    }
    IDimensionExpr const* const size1 = exprBuilder.declareSizeTensor(1, *s0, *s2);
    {
        DimsExprs& output = outputs[0]; // indices
        output.nbDims = 2;
        output.d[0] = exprBuilder.constant(2);
        output.d[1] = size1;
    }
    {
        DimsExprs& output = outputs[1]; // count
        output.nbDims = 0;
    }
    bool const failed = std::any_of(outputs, outputs + nbOutputs, [](DimsExprs const& output)
                                    { return std::count(output.d, output.d + output.nbDims, nullptr) > 0; });
    return failed ? kFailed : 0;
}

bool NonZeroPlugin::supportsFormatCombination(int32_t pos, nvinfer1::DynamicPluginTensorDesc const* inOut,
                                              int32_t nbInputs, int32_t nbOutputs) noexcept
{
    if (inOut == nullptr || nbInputs != kNbInputs || nbOutputs != kNbOutputs || pos < 0 || pos >= kNbTensors)
    {
        return false;
    }
    // What stands behind pos is not chosen yet and must not be looked at.
    return inOut[pos].desc.format == TensorFormat::kLINEAR &&
           findRow(pos + 1, [inOut](int32_t i) { return inOut[i].desc.type; }) != kNoRow;
}

int32_t NonZeroPlugin::configurePlugin(nvinfer1::DynamicPluginTensorDesc const* /*in*/, int32_t /*nbInputs*/,
                                       nvinfer1::DynamicPluginTensorDesc const* /*out*/, int32_t /*nbOutputs*/) noexcept
{
    return 0; // nothing depends on the types or shapes before the kernel runs
}

size_t NonZeroPlugin::getWorkspaceSize(nvinfer1::DynamicPluginTensorDesc const* /*inputs*/, int32_t /*nbInputs*/,
                                       nvinfer1::DynamicPluginTensorDesc const* /*outputs*/,
                                       int32_t /*nbOutputs*/) const noexcept
{
    return 0;
}

nvinfer1::PluginFieldCollection const* NonZeroPlugin::getFieldsToSerialize() noexcept
{
    return &mKeptFields;
}

bool NonZeroPlugin::restore(nvinfer1::PluginFieldCollection const* fields) noexcept
{
    pluginkit::FieldReader const reader{fields};
    bool read = fields != nullptr;
    return read;
}

nvinfer1::IPluginV3* NonZeroPlugin::attachToContext(nvinfer1::IPluginResourceContext* /*context*/) noexcept
{
    return clone(); // each context has a plugin of its own
}

int32_t NonZeroPlugin::onShapeChange(nvinfer1::PluginTensorDesc const* /*in*/, int32_t /*nbInputs*/,
                                     nvinfer1::PluginTensorDesc const* /*out*/, int32_t /*nbOutputs*/) noexcept
{
    return 0; // enqueue() gets the shapes too
}

int32_t NonZeroPlugin::enqueue(nvinfer1::PluginTensorDesc const* inputDesc,
                               nvinfer1::PluginTensorDesc const* outputDesc, void const* const* inputs,
                               void* const* outputs, void* /*workspace*/, cudaStream_t stream) noexcept
{
    if (inputDesc == nullptr || outputDesc == nullptr || inputs == nullptr || outputs == nullptr)
    {
        return kFailed;
    }
    auto const typeAt = [inputDesc, outputDesc](int32_t i)
    { return i < kNbInputs ? inputDesc[i].type : outputDesc[i - kNbInputs].type; };
    int32_t const row = findRow(kNbTensors, typeAt);
    if (row == kNoRow)
    {
        return kFailed;
    }

    NonZeroPluginArguments args{};
    args.parameters = mParameters;
    auto const at = [inputDesc](int32_t input, int32_t dim) { return inputDesc[input].dims.d[dim]; };
    args.inputs.x.data = inputs[0];
    args.inputs.x.count = elementCount(inputDesc[0]);
    pluginkit::setShape(args.inputs.x, inputDesc[0].dims);
    args.outputs.indices.data = outputs[0];
    // Its size is what the kernel will find; here and in memory it is as large as it may be.
    nvinfer1::PluginTensorDesc most0 = outputDesc[0];
    most0.dims.nbDims = 2;
    most0.dims.d[0] = 2;
    most0.dims.d[1] = at(0, 0) * at(0, 1);
    args.outputs.indices.count = elementCount(most0);
    pluginkit::setShape(args.outputs.indices, most0.dims);
    args.count = std::max(args.count, args.outputs.indices.count);
    args.outputs.count.data = outputs[1];
    args.outputs.count.count = elementCount(outputDesc[1]);
    pluginkit::setShape(args.outputs.count, outputDesc[1].dims);
    args.outputs.count.upper = at(0, 0) * at(0, 1);
    args.count = std::max(args.count, args.outputs.count.count);
    auto const precision = static_cast<NonZeroPluginPrecision>(row);
    cudaError_t const error = launchNonZeroPlugin(args, precision, stream);
    return error == cudaSuccess ? 0 : kFailed;
}

NonZeroPluginCreator::NonZeroPluginCreator() noexcept
{
    setPluginNamespace(kNamespace);
}

char const* NonZeroPluginCreator::getPluginName() const noexcept
{
    return kName;
}

char const* NonZeroPluginCreator::getPluginVersion() const noexcept
{
    return kVersion;
}

char const* NonZeroPluginCreator::getPluginNamespace() const noexcept
{
    return mNamespace.c_str();
}

nvinfer1::PluginFieldCollection const* NonZeroPluginCreator::getFieldNames() noexcept
{
    return &mFieldNames;
}

nvinfer1::IPluginV3* NonZeroPluginCreator::createPlugin(char const* /*name*/,
                                                        nvinfer1::PluginFieldCollection const* fields,
                                                        nvinfer1::TensorRTPhase phase) noexcept
{
    if (fields == nullptr)
    {
        return nullptr;
    }
    try
    {
        if (phase == nvinfer1::TensorRTPhase::kRUNTIME)
        {
            auto plugin = std::make_unique<NonZeroPlugin>(NonZeroPluginParameters{}, mNamespace);
            return plugin->restore(fields) ? plugin.release() : nullptr;
        }
        NonZeroPluginParameters const parameters;
        return new NonZeroPlugin{parameters, mNamespace};
    }
    catch (std::exception const&)
    {
        return nullptr;
    }
}

void NonZeroPluginCreator::setPluginNamespace(char const* pluginNamespace) noexcept
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

} // namespace non_zero_plugin
