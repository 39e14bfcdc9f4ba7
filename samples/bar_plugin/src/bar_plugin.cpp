#include "bar_plugin.h"

#include <pluginkit/serialize.h>

#include <algorithm>
#include <exception>
#include <memory>

namespace bar_plugin
{
namespace
{

using nvinfer1::DataType;
using nvinfer1::DimensionOperation;
using nvinfer1::DimsExprs;
using nvinfer1::IDimensionExpr;
using nvinfer1::TensorFormat;

constexpr char const* kName = "BarPlugin";
constexpr char const* kVersion = "1";
// Until TensorRT sets another one.
// clang-format off
constexpr char const* kNamespace = "";
// clang-format on
// TensorRT's limit, without the closing zero.
constexpr size_t kMaxNamespace = 1023;
// To be raised whenever serialize() writes something else.
constexpr uint32_t kSerialVersion = 1;

constexpr int32_t kNbInputs = 2;
constexpr int32_t kNbOutputs = 2;
constexpr int32_t kNbTensors = kNbInputs + kNbOutputs;

// The types that go together: those of the inputs, then those of the outputs.
// clang-format off
constexpr DataType kTypes[][kNbTensors] = {
    {DataType::kFLOAT, DataType::kFLOAT, DataType::kFLOAT, DataType::kFLOAT},
    {DataType::kHALF, DataType::kHALF, DataType::kHALF, DataType::kHALF},
    {DataType::kBF16, DataType::kBF16, DataType::kBF16, DataType::kBF16},
    {DataType::kINT8, DataType::kINT8, DataType::kINT8, DataType::kINT8},
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

//! How many channels a vector of the format holds; 1 for linear.
int64_t lanesOf(TensorFormat format) noexcept
{
    return format == TensorFormat::kCHW2 ? 2 : format == TensorFormat::kHWC8 ? 8 : 1;
}

//! The bytes of [n, c, h, w] with its padded channels. The first dimension is the outermost in each format, so joining
//! along it is joining memory, whatever lies within.
size_t byteCount(nvinfer1::PluginTensorDesc const& desc) noexcept
{
    size_t const element = desc.type == DataType::kFLOAT ? 4 : desc.type == DataType::kINT8 ? 1 : 2;
    int64_t const lanes = lanesOf(desc.format);
    size_t count = element;
    for (int32_t i = 0; i < desc.dims.nbDims; ++i)
    {
        int64_t const size = desc.dims.d[i];
        count *= static_cast<size_t>(i == 1 ? (size + lanes - 1) / lanes * lanes : size);
    }
    return count;
}

bool isFormatFor(DataType type, TensorFormat format) noexcept
{
    bool const half = type == DataType::kHALF || type == DataType::kBF16;
    return format == TensorFormat::kLINEAR ||
           (half && (format == TensorFormat::kCHW2 || format == TensorFormat::kHWC8));
}

//! A namespace as TensorRT allows it: never null, never too long.
std::string asNamespace(char const* pluginNamespace)
{
    return std::string{pluginNamespace != nullptr ? pluginNamespace : ""}.substr(0, kMaxNamespace);
}

} // namespace

BarPlugin::BarPlugin() : mNamespace{kNamespace} {}

size_t BarPlugin::getSerializationSize() const noexcept
{
    return pluginkit::serializedSize<>();
}

void BarPlugin::serialize(void* buffer) const noexcept
{
    // The plugin has no state, but an engine must be able to tell its bytes from another plugin's.
    pluginkit::Writer const writer{buffer, getSerializationSize(), kSerialVersion};
}

bool BarPlugin::restore(void const* data, size_t length) noexcept
{
    return pluginkit::Reader{data, length, kSerialVersion}.finished();
}

char const* BarPlugin::getPluginType() const noexcept
{
    return kName;
}

char const* BarPlugin::getPluginVersion() const noexcept
{
    return kVersion;
}

void BarPlugin::setPluginNamespace(char const* pluginNamespace) noexcept
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

char const* BarPlugin::getPluginNamespace() const noexcept
{
    return mNamespace.c_str();
}

nvinfer1::IPluginV2DynamicExt* BarPlugin::clone() const noexcept
{
    try
    {
        return new BarPlugin{*this};
    }
    catch (std::exception const&)
    {
        return nullptr;
    }
}

void BarPlugin::destroy() noexcept
{
    delete this;
}

int32_t BarPlugin::getNbOutputs() const noexcept
{
    return kNbOutputs;
}

DataType BarPlugin::getOutputDataType(int32_t index, DataType const* inputTypes, int32_t nbInputs) const noexcept
{
    if (index < 0 || index >= kNbOutputs || inputTypes == nullptr || nbInputs != kNbInputs)
    {
        return DataType::kFLOAT;
    }
    int32_t const row = findRow(kNbInputs, [inputTypes](int32_t i) { return inputTypes[i]; });
    // TensorRT may ask before it has chosen the types: any row's answer will do then.
    return kTypes[row == kNoRow ? 0 : row][kNbInputs + index];
}

DimsExprs BarPlugin::getOutputDimensions(int32_t outputIndex, DimsExprs const* inputs, int32_t nbInputs,
                                         nvinfer1::IExprBuilder& exprBuilder) noexcept
{
    DimsExprs const impossible{-1, {}};
    if (inputs == nullptr || nbInputs != kNbInputs)
    {
        return impossible;
    }
    if (inputs[0].nbDims != 4) // a
    {
        return impossible;
    }
    if (inputs[1].nbDims != 4) // b
    {
        return impossible;
    }
    auto const apply = [&exprBuilder](DimensionOperation operation, IDimensionExpr const* a, IDimensionExpr const* b)
    { return a != nullptr && b != nullptr ? exprBuilder.operation(operation, *a, *b) : nullptr; };
    DimsExprs output{};
    switch (outputIndex)
    {
    case 0: // copy
    {
        output.nbDims = 4;
        output.d[0] = inputs[1].d[0];
        output.d[1] = inputs[1].d[1];
        output.d[2] = inputs[1].d[2];
        output.d[3] = inputs[1].d[3];
        break;
    }
    case 1: // joined
    {
        output.nbDims = 4;
        output.d[0] = apply(DimensionOperation::kSUM, inputs[0].d[0], inputs[1].d[0]);
        output.d[1] = inputs[0].d[1];
        output.d[2] = inputs[0].d[2];
        output.d[3] = inputs[0].d[3];
        break;
    }
    default:
        return impossible;
    }
    bool const failed = std::count(output.d, output.d + output.nbDims, nullptr) > 0;
    return failed ? impossible : output;
}

bool BarPlugin::supportsFormatCombination(int32_t pos, nvinfer1::PluginTensorDesc const* inOut, int32_t nbInputs,
                                          int32_t nbOutputs) noexcept
{
    if (inOut == nullptr || nbInputs != kNbInputs || nbOutputs != kNbOutputs || pos < 0 || pos >= kNbTensors)
    {
        return false;
    }
    // What stands behind pos is not chosen yet and must not be looked at.
    return isFormatFor(inOut[pos].type, inOut[pos].format) && inOut[pos].format == inOut[0].format &&
           findRow(pos + 1, [inOut](int32_t i) { return inOut[i].type; }) != kNoRow;
}

void BarPlugin::configurePlugin(nvinfer1::DynamicPluginTensorDesc const* /*in*/, int32_t /*nbInputs*/,
                                nvinfer1::DynamicPluginTensorDesc const* /*out*/, int32_t /*nbOutputs*/) noexcept
{
    // Shapes and types come with every enqueue, and scales do not matter: the tensors share one.
}

size_t BarPlugin::getWorkspaceSize(nvinfer1::PluginTensorDesc const* /*inputs*/, int32_t /*nbInputs*/,
                                   nvinfer1::PluginTensorDesc const* /*outputs*/, int32_t /*nbOutputs*/) const noexcept
{
    return 0;
}

int32_t BarPlugin::initialize() noexcept
{
    return 0;
}

int32_t BarPlugin::enqueue(nvinfer1::PluginTensorDesc const* inputDesc, nvinfer1::PluginTensorDesc const* outputDesc,
                           void const* const* inputs, void* const* outputs, void* /*workspace*/,
                           cudaStream_t stream) noexcept
{
    constexpr int32_t kFailed = 1;
    if (inputDesc == nullptr || outputDesc == nullptr || inputs == nullptr || outputs == nullptr)
    {
        return kFailed;
    }
    auto const typeAt = [inputDesc, outputDesc](int32_t i)
    { return i < kNbInputs ? inputDesc[i].type : outputDesc[i - kNbInputs].type; };
    if (findRow(kNbTensors, typeAt) == kNoRow)
    {
        return kFailed;
    }
    BarPluginArguments args{};
    args.a = inputs[0];
    args.b = inputs[1];
    args.copy = outputs[0];
    args.joined = outputs[1];
    args.bytesA = byteCount(inputDesc[0]);
    args.bytesB = byteCount(inputDesc[1]);
    if (byteCount(outputDesc[0]) != args.bytesB || byteCount(outputDesc[1]) != args.bytesA + args.bytesB)
    {
        return kFailed; // not the shapes that getOutputDimensions promised
    }
    cudaError_t const error = launchBarPlugin(args, stream);
    return error == cudaSuccess ? 0 : kFailed;
}

void BarPlugin::terminate() noexcept
{
    // initialize() took nothing.
}

BarPluginCreator::BarPluginCreator() noexcept
{
    setPluginNamespace(kNamespace);
}

char const* BarPluginCreator::getPluginName() const noexcept
{
    return kName;
}

char const* BarPluginCreator::getPluginVersion() const noexcept
{
    return kVersion;
}

nvinfer1::PluginFieldCollection const* BarPluginCreator::getFieldNames() noexcept
{
    return &mFieldNames;
}

nvinfer1::IPluginV2* BarPluginCreator::createPlugin(char const* /*name*/,
                                                    nvinfer1::PluginFieldCollection const* fields) noexcept
{
    if (fields == nullptr)
    {
        return nullptr;
    }
    try
    {
        auto plugin = std::make_unique<BarPlugin>();
        plugin->setPluginNamespace(mNamespace.c_str());
        return plugin.release();
    }
    catch (std::exception const&)
    {
        return nullptr;
    }
}

nvinfer1::IPluginV2* BarPluginCreator::deserializePlugin(char const* /*name*/, void const* data, size_t length) noexcept
{
    try
    {
        auto plugin = std::make_unique<BarPlugin>();
        plugin->setPluginNamespace(mNamespace.c_str());
        return plugin->restore(data, length) ? plugin.release() : nullptr;
    }
    catch (std::exception const&)
    {
        return nullptr;
    }
}

void BarPluginCreator::setPluginNamespace(char const* pluginNamespace) noexcept
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

char const* BarPluginCreator::getPluginNamespace() const noexcept
{
    return mNamespace.c_str();
}

} // namespace bar_plugin
