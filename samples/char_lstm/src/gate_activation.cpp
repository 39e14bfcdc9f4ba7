#include "gate_activation.h"

#include <pluginkit/fields.h>
#include <pluginkit/log.h>
#include <pluginkit/serialize.h>
#include <pluginkit/shape.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <memory>
#include <optional>

namespace gate_activation
{
namespace
{

using nvinfer1::DataType;
using nvinfer1::DimensionOperation;
using nvinfer1::DimsExprs;
using nvinfer1::IDimensionExpr;
using nvinfer1::PluginFieldType;
using nvinfer1::TensorFormat;

constexpr char const* kName = "GateActivation";
constexpr char const* kVersion = "1";
// Until TensorRT sets another one.
// clang-format off
constexpr char const* kNamespace = "";
// clang-format on
// TensorRT's limit, without the closing zero.
constexpr size_t kMaxNamespace = 1023;
// To be raised whenever serialize() writes something else.
constexpr uint32_t kSerialVersion = 1;

constexpr int32_t kNbInputs = 1;
constexpr int32_t kNbOutputs = 1;
constexpr int32_t kNbTensors = kNbInputs + kNbOutputs;

// The types that go together: those of the inputs, then those of the outputs; a row each for the enumerators of
// GateActivationPrecision, in their order.
// clang-format off
constexpr DataType kTypes[][kNbTensors] = {
    {DataType::kFLOAT, DataType::kFLOAT},
    {DataType::kHALF, DataType::kHALF},
    {DataType::kBF16, DataType::kBF16},
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

//! The function of a name; none where there is no such one.
std::optional<GateActivationKind> kindOf(std::string const& name) noexcept
{
    if (name == "tanh")
    {
        return GateActivationKind::kTanh;
    }
    if (name == "sigmoid")
    {
        return GateActivationKind::kSigmoid;
    }
    return std::nullopt;
}

GateActivationNumbers numbersOf(GateActivationParameters const& parameters) noexcept
{
    GateActivationNumbers numbers{};
    numbers.kind = kindOf(parameters.kind).value_or(GateActivationKind::kTanh);
    return numbers;
}

//! A namespace as TensorRT allows it: never null, never too long.
std::string asNamespace(char const* pluginNamespace)
{
    return std::string{pluginNamespace != nullptr ? pluginNamespace : ""}.substr(0, kMaxNamespace);
}

} // namespace

GateActivation::GateActivation(GateActivationParameters const& parameters)
    : mParameters{parameters}, mNamespace{kNamespace}
{
}

size_t GateActivation::getSerializationSize() const noexcept
{
    return pluginkit::serializedSize<>() + pluginkit::storedSize(mParameters.kind);
}

void GateActivation::serialize(void* buffer) const noexcept
{
    pluginkit::Writer writer{buffer, getSerializationSize(), kSerialVersion};
    writer.put(mParameters.kind);
}

bool GateActivation::restore(void const* data, size_t length) noexcept
{
    pluginkit::Reader reader{data, length, kSerialVersion};
    bool read = true;
    read = read && reader.get(mParameters.kind, 0, 255);
    return read && reader.finished() && kindOf(mParameters.kind).has_value();
}

char const* GateActivation::getPluginType() const noexcept
{
    return kName;
}

char const* GateActivation::getPluginVersion() const noexcept
{
    return kVersion;
}

void GateActivation::setPluginNamespace(char const* pluginNamespace) noexcept
{
    try
    {
        mNamespace = asNamespace(pluginNamespace);
    }
    catch (std::exception const&)
    {
        mNamespace.clear(); // no memory; no exception may leave a plugin
    }
}

char const* GateActivation::getPluginNamespace() const noexcept
{
    return mNamespace.c_str();
}

nvinfer1::IPluginV2DynamicExt* GateActivation::clone() const noexcept
{
    try
    {
        return new GateActivation{*this};
    }
    catch (std::exception const&)
    {
        return nullptr;
    }
}

void GateActivation::destroy() noexcept
{
    delete this;
}

int32_t GateActivation::getNbOutputs() const noexcept
{
    return kNbOutputs;
}

DataType GateActivation::getOutputDataType(int32_t index, DataType const* inputTypes, int32_t nbInputs) const noexcept
{
    if (index < 0 || index >= kNbOutputs || inputTypes == nullptr || nbInputs != kNbInputs)
    {
        return DataType::kFLOAT;
    }
    int32_t const row = findRow(kNbInputs, [inputTypes](int32_t i) { return inputTypes[i]; });
    // TensorRT may ask before it has chosen the types: any row's answer will do then.
    return kTypes[row == kNoRow ? 0 : row][kNbInputs + index];
}

DimsExprs GateActivation::getOutputDimensions(int32_t outputIndex, DimsExprs const* inputs, int32_t nbInputs,
                                              nvinfer1::IExprBuilder& exprBuilder) noexcept
{
    DimsExprs const impossible{-1, {}};
    if (inputs == nullptr || nbInputs != kNbInputs)
    {
        return impossible;
    }
    if (inputs[0].nbDims != 2) // x
    {
        return impossible;
    }
    static_cast<void>(exprBuilder); // needed for dimensions that are computed
    DimsExprs output{};
    switch (outputIndex)
    {
    case 0: // y
    {
        output.nbDims = 2;
        output.d[0] = inputs[0].d[0];
        output.d[1] = inputs[0].d[1];
        break;
    }
    default:
        return impossible;
    }
    bool const failed = std::count(output.d, output.d + output.nbDims, nullptr) > 0;
    return failed ? impossible : output;
}

bool GateActivation::supportsFormatCombination(int32_t pos, nvinfer1::PluginTensorDesc const* inOut, int32_t nbInputs,
                                               int32_t nbOutputs) noexcept
{
    if (inOut == nullptr || nbInputs != kNbInputs || nbOutputs != kNbOutputs || pos < 0 || pos >= kNbTensors)
    {
        return false;
    }
    // What stands behind pos is not chosen yet and must not be looked at.
    return inOut[pos].format == TensorFormat::kLINEAR &&
           findRow(pos + 1, [inOut](int32_t i) { return inOut[i].type; }) != kNoRow;
}

void GateActivation::configurePlugin(nvinfer1::DynamicPluginTensorDesc const* /*in*/, int32_t /*nbInputs*/,
                                     nvinfer1::DynamicPluginTensorDesc const* /*out*/, int32_t /*nbOutputs*/) noexcept
{
    // Nothing depends on the types or shapes before the kernel runs.
}

size_t GateActivation::getWorkspaceSize(nvinfer1::PluginTensorDesc const* /*inputs*/, int32_t /*nbInputs*/,
                                        nvinfer1::PluginTensorDesc const* /*outputs*/,
                                        int32_t /*nbOutputs*/) const noexcept
{
    return 0;
}

int32_t GateActivation::initialize() noexcept
{
    return 0;
}

int32_t GateActivation::enqueue(nvinfer1::PluginTensorDesc const* inputDesc,
                                nvinfer1::PluginTensorDesc const* outputDesc, void const* const* inputs,
                                void* const* outputs, void* /*workspace*/, cudaStream_t stream) noexcept
{
    constexpr int32_t kFailed = 1;
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

    GateActivationArguments args{};
    args.parameters = numbersOf(mParameters);
    args.inputs.x.data = inputs[0];
    args.inputs.x.count = elementCount(inputDesc[0]);
    pluginkit::setShape(args.inputs.x, inputDesc[0].dims);
    args.outputs.y.data = outputs[0];
    args.outputs.y.count = elementCount(outputDesc[0]);
    pluginkit::setShape(args.outputs.y, outputDesc[0].dims);
    args.count = std::max(args.count, args.outputs.y.count);
    if (args.inputs.x.count != args.count)
    {
        return kFailed; // the kernel would read beyond the tensor
    }
    auto const precision = static_cast<GateActivationPrecision>(row);
    cudaError_t const error = launchGateActivation(args, precision, stream);
    return error == cudaSuccess ? 0 : kFailed;
}

void GateActivation::terminate() noexcept
{
    // initialize() took nothing.
}

GateActivationCreator::GateActivationCreator() noexcept
{
    // Each field's name, type and number of elements; the values come from the node.
    mFields[0] = {"kind", nullptr, PluginFieldType::kCHAR, 0};
    mFieldNames.nbFields = static_cast<int32_t>(mFields.size());
    mFieldNames.fields = mFields.data();
    setPluginNamespace(kNamespace);
}

char const* GateActivationCreator::getPluginName() const noexcept
{
    return kName;
}

char const* GateActivationCreator::getPluginVersion() const noexcept
{
    return kVersion;
}

nvinfer1::PluginFieldCollection const* GateActivationCreator::getFieldNames() noexcept
{
    return &mFieldNames;
}

nvinfer1::IPluginV2* GateActivationCreator::createPlugin(char const* /*name*/,
                                                         nvinfer1::PluginFieldCollection const* fields) noexcept
{
    if (fields == nullptr)
    {
        return nullptr;
    }
    try
    {
        // A field that is absent keeps its default; one of a wrong type or length makes no plugin.
        pluginkit::FieldReader const reader{fields};
        GateActivationParameters parameters;
        bool read = true;
        read = read && reader.optional("kind", parameters.kind, pluginkit::Length{0, 255});
        if (!read)
        {
            return nullptr;
        }
        if (!kindOf(parameters.kind))
        {
            pluginkit::logError("GateActivation: kind must be tanh or sigmoid");
            return nullptr;
        }
        auto plugin = std::make_unique<GateActivation>(parameters);
        plugin->setPluginNamespace(mNamespace.c_str());
        return plugin.release();
    }
    catch (std::exception const&)
    {
        return nullptr;
    }
}

nvinfer1::IPluginV2* GateActivationCreator::deserializePlugin(char const* /*name*/, void const* data,
                                                              size_t length) noexcept
{
    try
    {
        auto plugin = std::make_unique<GateActivation>(GateActivationParameters{});
        plugin->setPluginNamespace(mNamespace.c_str());
        return plugin->restore(data, length) ? plugin.release() : nullptr;
    }
    catch (std::exception const&)
    {
        return nullptr;
    }
}

void GateActivationCreator::setPluginNamespace(char const* pluginNamespace) noexcept
{
    try
    {
        mNamespace = asNamespace(pluginNamespace);
    }
    catch (std::exception const&)
    {
        mNamespace.clear();
    }
}

char const* GateActivationCreator::getPluginNamespace() const noexcept
{
    return mNamespace.c_str();
}

} // namespace gate_activation
