#include "accumulate.h"

#include <pluginkit/fields.h>
#include <pluginkit/shape.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <memory>

namespace accumulate_plugin
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

constexpr char const* kName = "Accumulate";
constexpr char const* kVersion = "1";
// clang-format off
constexpr char const* kNamespace = "";
// clang-format on
// What a method of IPluginV3 answers where it can't do what it is asked.
constexpr int32_t kFailed = 1;

constexpr int32_t kNbInputs = 2;
constexpr int32_t kNbOutputs = 1;
constexpr int32_t kNbTensors = kNbInputs + kNbOutputs;

// The types that go together: those of the inputs, then those of the outputs; a row each for the enumerators of
// AccumulatePrecision, in their order.
// clang-format off
constexpr DataType kTypes[][kNbTensors] = {
    {DataType::kFLOAT, DataType::kFLOAT, DataType::kFLOAT},
    {DataType::kHALF, DataType::kHALF, DataType::kHALF},
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

bool isValid(AccumulateParameters const& parameters) noexcept
{
    if (!std::isfinite(parameters.weight))
    {
        return false;
    }
    return true;
}

} // namespace

Accumulate::Accumulate(AccumulateParameters const& parameters, std::string const& pluginNamespace)
    : mParameters{parameters}, mNamespace{pluginNamespace}
{
}

nvinfer1::IPluginCapability* Accumulate::getCapabilityInterface(PluginCapabilityType type) noexcept
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

nvinfer1::IPluginV3* Accumulate::clone() noexcept
{
    try
    {
        return new Accumulate{*this};
    }
    catch (std::exception const&)
    {
        return nullptr; // no memory; no exception may leave a plugin
    }
}

char const* Accumulate::getPluginName() const noexcept
{
    return kName;
}

char const* Accumulate::getPluginVersion() const noexcept
{
    return kVersion;
}

char const* Accumulate::getPluginNamespace() const noexcept
{
    return mNamespace.c_str();
}

int32_t Accumulate::getNbOutputs() const noexcept
{
    return kNbOutputs;
}

int32_t Accumulate::getOutputDataTypes(DataType* outputTypes, int32_t nbOutputs, DataType const* inputTypes,
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

int32_t Accumulate::getOutputShapes(DimsExprs const* inputs, int32_t nbInputs, DimsExprs const* /*shapeInputs*/,
                                    int32_t nbShapeInputs, DimsExprs* outputs, int32_t nbOutputs,
                                    nvinfer1::IExprBuilder& exprBuilder) noexcept
{
    bool const counted = nbInputs == kNbInputs && nbShapeInputs == 0 && nbOutputs == kNbOutputs;
    if (inputs == nullptr || outputs == nullptr || !counted)
    {
        return kFailed;
    }
    if (inputs[0].nbDims != 1) // so_far
    {
        return kFailed;
    }
    if (inputs[1].nbDims != 1) // item
    {
        return kFailed;
    }
    static_cast<void>(exprBuilder); // needed for dimensions that are computed
    {
        DimsExprs& output = outputs[0]; // accumulated
        output.nbDims = 1;
        output.d[0] = inputs[0].d[0];
    }
    bool const failed = std::any_of(outputs, outputs + nbOutputs, [](DimsExprs const& output)
                                    { return std::count(output.d, output.d + output.nbDims, nullptr) > 0; });
    return failed ? kFailed : 0;
}

bool Accumulate::supportsFormatCombination(int32_t pos, nvinfer1::DynamicPluginTensorDesc const* inOut,
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

int32_t Accumulate::configurePlugin(nvinfer1::DynamicPluginTensorDesc const* /*in*/, int32_t /*nbInputs*/,
                                    nvinfer1::DynamicPluginTensorDesc const* /*out*/, int32_t /*nbOutputs*/) noexcept
{
    return 0; // nothing depends on the types or shapes before the kernel runs
}

size_t Accumulate::getWorkspaceSize(nvinfer1::DynamicPluginTensorDesc const* /*inputs*/, int32_t /*nbInputs*/,
                                    nvinfer1::DynamicPluginTensorDesc const* /*outputs*/,
                                    int32_t /*nbOutputs*/) const noexcept
{
    return 0;
}

nvinfer1::PluginFieldCollection const* Accumulate::getFieldsToSerialize() noexcept
{
    mKept[0] = PluginField{"weight", &mParameters.weight, PluginFieldType::kFLOAT32, 1};
    mKeptFields.nbFields = static_cast<int32_t>(mKept.size());
    mKeptFields.fields = mKept.data();
    return &mKeptFields;
}

bool Accumulate::restore(nvinfer1::PluginFieldCollection const* fields) noexcept
{
    pluginkit::FieldReader const reader{fields};
    bool read = fields != nullptr;
    read = read && reader.required("weight", mParameters.weight);
    return read && isValid(mParameters);
}

nvinfer1::IPluginV3* Accumulate::attachToContext(nvinfer1::IPluginResourceContext* /*context*/) noexcept
{
    return clone(); // each context has a plugin of its own
}

int32_t Accumulate::onShapeChange(nvinfer1::PluginTensorDesc const* /*in*/, int32_t /*nbInputs*/,
                                  nvinfer1::PluginTensorDesc const* /*out*/, int32_t /*nbOutputs*/) noexcept
{
    return 0; // enqueue() gets the shapes too
}

int32_t Accumulate::enqueue(nvinfer1::PluginTensorDesc const* inputDesc, nvinfer1::PluginTensorDesc const* outputDesc,
                            void const* const* inputs, void* const* outputs, void* /*workspace*/,
                            cudaStream_t stream) noexcept
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

    AccumulateArguments args{};
    args.parameters = mParameters;
    args.inputs.so_far.data = inputs[0];
    args.inputs.so_far.count = elementCount(inputDesc[0]);
    pluginkit::setShape(args.inputs.so_far, inputDesc[0].dims);
    args.inputs.item.data = inputs[1];
    args.inputs.item.count = elementCount(inputDesc[1]);
    pluginkit::setShape(args.inputs.item, inputDesc[1].dims);
    args.outputs.accumulated.data = outputs[0];
    args.outputs.accumulated.count = elementCount(outputDesc[0]);
    pluginkit::setShape(args.outputs.accumulated, outputDesc[0].dims);
    args.count = std::max(args.count, args.outputs.accumulated.count);
    if (args.inputs.so_far.count != args.count)
    {
        return kFailed; // the kernel would read beyond the tensor
    }
    if (args.inputs.item.count != args.count)
    {
        return kFailed; // the kernel would read beyond the tensor
    }
    auto const precision = static_cast<AccumulatePrecision>(row);
    cudaError_t const error = launchAccumulate(args, precision, stream);
    return error == cudaSuccess ? 0 : kFailed;
}

AccumulateCreator::AccumulateCreator() noexcept
{
    // Each field's name, type and number of elements; the values come from the node.
    mFields[0] = {"weight", nullptr, PluginFieldType::kFLOAT32, 1};
    mFieldNames.nbFields = static_cast<int32_t>(mFields.size());
    mFieldNames.fields = mFields.data();
    setPluginNamespace(kNamespace);
}

char const* AccumulateCreator::getPluginName() const noexcept
{
    return kName;
}

char const* AccumulateCreator::getPluginVersion() const noexcept
{
    return kVersion;
}

char const* AccumulateCreator::getPluginNamespace() const noexcept
{
    return mNamespace.c_str();
}

nvinfer1::PluginFieldCollection const* AccumulateCreator::getFieldNames() noexcept
{
    return &mFieldNames;
}

nvinfer1::IPluginV3* AccumulateCreator::createPlugin(char const* /*name*/,
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
            auto plugin = std::make_unique<Accumulate>(AccumulateParameters{}, mNamespace);
            return plugin->restore(fields) ? plugin.release() : nullptr;
        }
        // A field that is absent keeps its default; one of a wrong type or length makes no plugin.
        pluginkit::FieldReader const reader{fields};
        AccumulateParameters parameters;
        bool read = true;
        read = read && reader.optional("weight", parameters.weight);
        if (!read || !isValid(parameters))
        {
            return nullptr;
        }
        return new Accumulate{parameters, mNamespace};
    }
    catch (std::exception const&)
    {
        return nullptr;
    }
}

void AccumulateCreator::setPluginNamespace(char const* pluginNamespace) noexcept
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

} // namespace accumulate_plugin
