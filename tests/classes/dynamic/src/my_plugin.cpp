#include "my_plugin.h"

#include <pluginkit/fields.h>
#include <pluginkit/serialize.h>
#include <pluginkit/shape.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <memory>

namespace my_plugin
{
namespace
{

using nvinfer1::DataType;
using nvinfer1::DimensionOperation;
using nvinfer1::DimsExprs;
using nvinfer1::IDimensionExpr;
using nvinfer1::PluginFieldType;
using nvinfer1::TensorFormat;

constexpr char const* kName = "MyPlugin";
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
// MyPluginPrecision, in their order.
// clang-format off
constexpr DataType kTypes[][kNbTensors] = {
    {DataType::kFLOAT, DataType::kFLOAT},
    {DataType::kHALF, DataType::kHALF},
    {DataType::kINT8, DataType::kINT8},
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

//! Whether a scale says something: TensorRT gives 0, -1 or NaN where there is none.
bool isScale(float scale) noexcept
{
    return std::isfinite(scale) && scale > 0.0F;
}

void takeScale(float& scale, nvinfer1::PluginTensorDesc const& desc) noexcept
{
    if (desc.type == DataType::kINT8 && isScale(desc.scale))
    {
        scale = desc.scale;
    }
}

bool isValid(MyPluginParameters const& parameters) noexcept
{
    if (!std::isfinite(parameters.alpha))
    {
        return false;
    }
    if (!std::isfinite(parameters.x_scale))
    {
        return false;
    }
    if (parameters.x_scale < 0.0F)
    {
        return false;
    }
    if (!std::isfinite(parameters.y_scale))
    {
        return false;
    }
    if (parameters.y_scale < 0.0F)
    {
        return false;
    }
    return true;
}

//! A namespace as TensorRT allows it: never null, never too long.
std::string asNamespace(char const* pluginNamespace)
{
    return std::string{pluginNamespace != nullptr ? pluginNamespace : ""}.substr(0, kMaxNamespace);
}

} // namespace

MyPlugin::MyPlugin(MyPluginParameters const& parameters) : mParameters{parameters}, mNamespace{kNamespace}
{
    mScales[0] = parameters.x_scale;
    mScales[1] = parameters.y_scale;
}

size_t MyPlugin::getSerializationSize() const noexcept
{
    return pluginkit::serializedSize<float, float, float, float, float>();
}

void MyPlugin::serialize(void* buffer) const noexcept
{
    pluginkit::Writer writer{buffer, getSerializationSize(), kSerialVersion};
    writer.put(mParameters.alpha);
    writer.put(mParameters.x_scale);
    writer.put(mParameters.y_scale);
    for (float const scale : mScales)
    {
        writer.put(scale);
    }
}

bool MyPlugin::restore(void const* data, size_t length) noexcept
{
    pluginkit::Reader reader{data, length, kSerialVersion};
    bool read = true;
    read = read && reader.get(mParameters.alpha);
    read = read && reader.get(mParameters.x_scale);
    read = read && reader.get(mParameters.y_scale);
    for (float& scale : mScales)
    {
        read = read && reader.get(scale) && std::isfinite(scale) && scale >= 0.0F;
    }
    return read && reader.finished() && isValid(mParameters);
}

char const* MyPlugin::getPluginType() const noexcept
{
    return kName;
}

char const* MyPlugin::getPluginVersion() const noexcept
{
    return kVersion;
}

void MyPlugin::setPluginNamespace(char const* pluginNamespace) noexcept
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

char const* MyPlugin::getPluginNamespace() const noexcept
{
    return mNamespace.c_str();
}

nvinfer1::IPluginV2DynamicExt* MyPlugin::clone() const noexcept
{
    try
    {
        return new MyPlugin{*this};
    }
    catch (std::exception const&)
    {
        return nullptr;
    }
}

void MyPlugin::destroy() noexcept
{
    delete this;
}

int32_t MyPlugin::getNbOutputs() const noexcept
{
    return kNbOutputs;
}

DataType MyPlugin::getOutputDataType(int32_t index, DataType const* inputTypes, int32_t nbInputs) const noexcept
{
    if (index < 0 || index >= kNbOutputs || inputTypes == nullptr || nbInputs != kNbInputs)
    {
        return DataType::kFLOAT;
    }
    int32_t const row = findRow(kNbInputs, [inputTypes](int32_t i) { return inputTypes[i]; });
    // TensorRT may ask before it has chosen the types: any row's answer will do then.
    return kTypes[row == kNoRow ? 0 : row][kNbInputs + index];
}

DimsExprs MyPlugin::getOutputDimensions(int32_t outputIndex, DimsExprs const* inputs, int32_t nbInputs,
                                        nvinfer1::IExprBuilder& exprBuilder) noexcept
{
    DimsExprs const impossible{-1, {}};
    if (inputs == nullptr || nbInputs != kNbInputs)
    {
        return impossible;
    }
    if (inputs[0].nbDims != 4) // x
    {
        return impossible;
    }
    static_cast<void>(exprBuilder); // needed for dimensions that are computed
    DimsExprs output{};
    switch (outputIndex)
    {
    case 0: // y
    {
        output.nbDims = 4;
        output.d[0] = inputs[0].d[0];
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

bool MyPlugin::supportsFormatCombination(int32_t pos, nvinfer1::PluginTensorDesc const* inOut, int32_t nbInputs,
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

void MyPlugin::configurePlugin(nvinfer1::DynamicPluginTensorDesc const* in, int32_t nbInputs,
                               nvinfer1::DynamicPluginTensorDesc const* out, int32_t nbOutputs) noexcept
{
    if (in == nullptr || out == nullptr || nbInputs != kNbInputs || nbOutputs != kNbOutputs)
    {
        return;
    }
    // A scale that the node's attributes give wins. In implicit quantization TensorRT knows the scales and gives them
    // here; in explicit quantization (Q/DQ) it doesn't: then the attributes are the only place that they can come from.
    if (!isScale(mParameters.x_scale))
    {
        takeScale(mScales[0], in[0].desc);
    }
    if (!isScale(mParameters.y_scale))
    {
        takeScale(mScales[1], out[0].desc);
    }
}

size_t MyPlugin::getWorkspaceSize(nvinfer1::PluginTensorDesc const* /*inputs*/, int32_t /*nbInputs*/,
                                  nvinfer1::PluginTensorDesc const* /*outputs*/, int32_t /*nbOutputs*/) const noexcept
{
    return 0;
}

int32_t MyPlugin::initialize() noexcept
{
    return 0;
}

int32_t MyPlugin::enqueue(nvinfer1::PluginTensorDesc const* inputDesc, nvinfer1::PluginTensorDesc const* outputDesc,
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
    int32_t const row = findRow(kNbTensors, typeAt);
    if (row == kNoRow)
    {
        return kFailed;
    }
    for (int32_t i = 0; i < kNbTensors; ++i)
    {
        if (typeAt(i) == DataType::kINT8 && !isScale(mScales[static_cast<size_t>(i)]))
        {
            return kFailed; // nobody said what the INT8 values stand for
        }
    }

    MyPluginArguments args{};
    args.parameters = mParameters;
    args.inputs.x.data = inputs[0];
    args.inputs.x.count = elementCount(inputDesc[0]);
    pluginkit::setShape(args.inputs.x, inputDesc[0].dims);
    args.inputs.x.scale = mScales[0];
    args.outputs.y.data = outputs[0];
    args.outputs.y.count = elementCount(outputDesc[0]);
    pluginkit::setShape(args.outputs.y, outputDesc[0].dims);
    args.outputs.y.scale = mScales[1];
    args.count = std::max(args.count, args.outputs.y.count);
    if (args.inputs.x.count != args.count)
    {
        return kFailed; // the kernel would read beyond the tensor
    }
    auto const precision = static_cast<MyPluginPrecision>(row);
    cudaError_t const error = launchMyPlugin(args, precision, stream);
    return error == cudaSuccess ? 0 : kFailed;
}

void MyPlugin::terminate() noexcept
{
    // initialize() took nothing.
}

MyPluginCreator::MyPluginCreator() noexcept
{
    // Each field's name, type and number of elements; the values come from the node.
    mFields[0] = {"alpha", nullptr, PluginFieldType::kFLOAT32, 1};
    mFields[1] = {"x_scale", nullptr, PluginFieldType::kFLOAT32, 1};
    mFields[2] = {"y_scale", nullptr, PluginFieldType::kFLOAT32, 1};
    mFieldNames.nbFields = static_cast<int32_t>(mFields.size());
    mFieldNames.fields = mFields.data();
    setPluginNamespace(kNamespace);
}

char const* MyPluginCreator::getPluginName() const noexcept
{
    return kName;
}

char const* MyPluginCreator::getPluginVersion() const noexcept
{
    return kVersion;
}

nvinfer1::PluginFieldCollection const* MyPluginCreator::getFieldNames() noexcept
{
    return &mFieldNames;
}

nvinfer1::IPluginV2* MyPluginCreator::createPlugin(char const* /*name*/,
                                                   nvinfer1::PluginFieldCollection const* fields) noexcept
{
    if (fields == nullptr)
    {
        return nullptr;
    }
    // A field that is absent keeps its default; one of a wrong type or length makes no plugin.
    pluginkit::FieldReader const reader{fields};
    MyPluginParameters parameters;
    bool read = true;
    read = read && reader.optional("alpha", parameters.alpha);
    read = read && reader.optional("x_scale", parameters.x_scale);
    read = read && reader.optional("y_scale", parameters.y_scale);
    if (!read || !isValid(parameters))
    {
        return nullptr;
    }
    try
    {
        auto plugin = std::make_unique<MyPlugin>(parameters);
        plugin->setPluginNamespace(mNamespace.c_str());
        return plugin.release();
    }
    catch (std::exception const&)
    {
        return nullptr;
    }
}

nvinfer1::IPluginV2* MyPluginCreator::deserializePlugin(char const* /*name*/, void const* data, size_t length) noexcept
{
    try
    {
        auto plugin = std::make_unique<MyPlugin>(MyPluginParameters{});
        plugin->setPluginNamespace(mNamespace.c_str());
        return plugin->restore(data, length) ? plugin.release() : nullptr;
    }
    catch (std::exception const&)
    {
        return nullptr;
    }
}

void MyPluginCreator::setPluginNamespace(char const* pluginNamespace) noexcept
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

char const* MyPluginCreator::getPluginNamespace() const noexcept
{
    return mNamespace.c_str();
}

} // namespace my_plugin
