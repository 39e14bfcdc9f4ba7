#include "my_plugin.h"

#include <pluginkit/fields.h>
#include <pluginkit/serialize.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <initializer_list>
#include <iterator>
#include <memory>

namespace my_plugin
{
namespace
{

using nvinfer1::DataType;
using nvinfer1::Dims;
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

//! Dimensions from number `first` on; an impossible shape where one is negative.
Dims asDims(std::initializer_list<int64_t> all, int32_t first) noexcept
{
    Dims dims{};
    for (int64_t const* dim = all.begin() + first; dim < all.end(); ++dim)
    {
        if (*dim < 0)
        {
            return Dims{-1, {}};
        }
        dims.d[dims.nbDims] = *dim;
        ++dims.nbDims;
    }
    return dims;
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
    constexpr size_t shapes = sizeof mRow + sizeof mCounts;
    return pluginkit::serializedSize<float, float, float, float, float>() + shapes;
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
    writer.put(mRow);
    writer.put(mCounts);
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
    read = read && reader.get(mRow) && mRow >= kNoRow && mRow < static_cast<int32_t>(std::size(kTypes));
    read = read && reader.get(mCounts) && *std::min_element(mCounts.begin(), mCounts.end()) >= 0;
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

nvinfer1::IPluginV2IOExt* MyPlugin::clone() const noexcept
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

Dims MyPlugin::getOutputDimensions(int32_t index, Dims const* inputs, int32_t nbInputs) noexcept
{
    Dims const impossible{-1, {}};
    if (inputs == nullptr || nbInputs != kNbInputs)
    {
        return impossible;
    }
    // The batch is the first of the dimensions, or it stands beside them (batchSize): TensorRT's documents say both,
    // and the
    // number of dimensions tells which.
    int32_t const beside = inputs[0].nbDims == 3 ? 1 : 0;
    if (inputs[0].nbDims != 4 - beside) // x
    {
        return impossible;
    }
    auto const at = [inputs, beside](int32_t input, int32_t dim)
    { return dim < beside ? int64_t{1} : inputs[input].d[dim - beside]; };
    switch (index)
    {
    case 0: // y
        return asDims({at(0, 0), at(0, 1), at(0, 2), at(0, 3)}, beside);
    default:
        return impossible;
    }
}

bool MyPlugin::supportsFormatCombination(int32_t pos, nvinfer1::PluginTensorDesc const* inOut, int32_t nbInputs,
                                         int32_t nbOutputs) const noexcept
{
    if (inOut == nullptr || nbInputs != kNbInputs || nbOutputs != kNbOutputs || pos < 0 || pos >= kNbTensors)
    {
        return false;
    }
    // What stands behind pos is not chosen yet and must not be looked at.
    return inOut[pos].format == TensorFormat::kLINEAR &&
           findRow(pos + 1, [inOut](int32_t i) { return inOut[i].type; }) != kNoRow;
}

void MyPlugin::configurePlugin(nvinfer1::PluginTensorDesc const* in, int32_t nbInputs,
                               nvinfer1::PluginTensorDesc const* out, int32_t nbOutputs) noexcept
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
    // A scale that the node's attributes give wins. In implicit quantization TensorRT knows the scales and gives them
    // here;
    // in explicit quantization (Q/DQ) it doesn't: then the attributes are the only place that they can come from.
    if (!isScale(mParameters.x_scale))
    {
        takeScale(mScales[0], in[0]);
    }
    if (!isScale(mParameters.y_scale))
    {
        takeScale(mScales[1], out[0]);
    }
}

size_t MyPlugin::getWorkspaceSize(int32_t /*maxBatchSize*/) const noexcept
{
    return 0;
}

#if NV_TENSORRT_MAJOR < 11
bool MyPlugin::isOutputBroadcastAcrossBatch(int32_t /*index*/, bool const* /*inputIsBroadcast*/,
                                            int32_t /*nbInputs*/) const noexcept
{
    return false;
}

bool MyPlugin::canBroadcastInputAcrossBatch(int32_t /*index*/) const noexcept
{
    return false;
}

#endif
int32_t MyPlugin::initialize() noexcept
{
    return 0;
}

int32_t MyPlugin::enqueue(int32_t batchSize, void const* const* inputs, void* const* outputs, void* /*workspace*/,
                          cudaStream_t stream) noexcept
{
    constexpr int32_t kFailed = 1;
    if (batchSize < 0 || inputs == nullptr || outputs == nullptr || mRow == kNoRow)
    {
        return kFailed; // mRow: not configured, or for types that there is no row for
    }
    for (int32_t i = 0; i < kNbTensors; ++i)
    {
        if (kTypes[mRow][i] == DataType::kINT8 && !isScale(mScales[static_cast<size_t>(i)]))
        {
            return kFailed; // nobody said what the INT8 values stand for
        }
    }
    // Element by element it does not matter whether the batch is among the dimensions.
    auto const countOf = [this, batchSize](size_t i) { return mCounts[i] * batchSize; };

    MyPluginArguments args{};
    args.parameters = mParameters;
    args.inputs.x.data = inputs[0];
    args.inputs.x.count = countOf(0);
    args.inputs.x.scale = mScales[0];
    args.outputs.y.data = outputs[0];
    args.outputs.y.count = countOf(1);
    args.outputs.y.scale = mScales[1];
    args.count = std::max(args.count, args.outputs.y.count);
    if (args.inputs.x.count != args.count)
    {
        return kFailed; // the kernel would read beyond the tensor
    }
    auto const precision = static_cast<MyPluginPrecision>(mRow);
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
