#include "pool_int8.h"

#include <pluginkit/fields.h>
#include <pluginkit/log.h>
#include <pluginkit/serialize.h>

#include <cmath>
#include <exception>
#include <iterator>
#include <memory>
#include <string>
#include <utility>

namespace pool_int8
{
namespace
{

using nvinfer1::DataType;
using nvinfer1::Dims;
using nvinfer1::PluginFieldType;
using nvinfer1::TensorFormat;

constexpr char const* kName = "PoolInt8";
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
// PoolInt8Precision, in their order.
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

constexpr int32_t kMaxWindow = 32768;
// INT8 sums of that many elements fit into 32 bits.
constexpr int64_t kMaxWindowElements = int64_t{1} << 24;
constexpr int64_t kMaxPixels = int64_t{1} << 30;

//! A layer's words when it refuses something: what it is, and what it should have been.
std::string refusal(std::string const& what)
{
    return std::string{kName} + ": " + what;
}

std::string outside(char const* field, int64_t value, int64_t least, int64_t most)
{
    return refusal(std::string{field} + " is " + std::to_string(value) + ", must be from " + std::to_string(least) +
                   " to " + std::to_string(most));
}

//! What is wrong with the parameters; empty if nothing is.
std::string problem(PoolInt8Parameters const& p)
{
    struct Limited
    {
        char const* name;
        int32_t value;
        int32_t least;
        int32_t most;
    };
    Limited const limited[]{
        {"mode", p.mode, kMaximum, kAverage},
        {"kernel_h", p.kernel_h, 1, kMaxWindow},
        {"kernel_w", p.kernel_w, 1, kMaxWindow},
        {"stride_h", p.stride_h, 1, kMaxWindow},
        {"stride_w", p.stride_w, 1, kMaxWindow},
        // A window must never lie in the padding alone.
        {"pad_h", p.pad_h, 0, p.kernel_h - 1},
        {"pad_w", p.pad_w, 0, p.kernel_w - 1},
        {"ceil_mode", p.ceil_mode, 0, 1},
        {"count_include_pad", p.count_include_pad, 0, 1},
    };
    for (Limited const& one : limited)
    {
        if (one.value < one.least || one.value > one.most)
        {
            return outside(one.name, one.value, one.least, one.most);
        }
    }
    if (int64_t{p.kernel_h} * p.kernel_w > kMaxWindowElements)
    {
        return outside("kernel_h * kernel_w", int64_t{p.kernel_h} * p.kernel_w, 1, kMaxWindowElements);
    }
    for (float const scale : {p.x_scale, p.y_scale})
    {
        if (!std::isfinite(scale) || scale < 0.0F)
        {
            return refusal("x_scale and y_scale must be 0 (not known) or more, and finite");
        }
    }
    return {};
}

//! How many windows there are along `size` elements; 0 or less where not even one fits.
int64_t pooled(int64_t size, int32_t kernel, int32_t stride, int32_t pad, bool ceil) noexcept
{
    int64_t const beyond = size + 2 * int64_t{pad} - kernel;
    if (beyond < 0)
    {
        return 0;
    }
    int64_t const count = (beyond + (ceil ? stride - 1 : 0)) / stride + 1;
    // Rounded up, a window may begin in the padding behind the image: ONNX leaves that one out.
    return ceil && (count - 1) * stride >= size + pad ? count - 1 : count;
}

bool isScale(float scale) noexcept
{
    return std::isfinite(scale) && scale > 0.0F;
}

//! The output's shape; nbDims is -1, and the reason is said, where there is none.
Dims pooled(PoolInt8Parameters const& p, Dims const& input)
{
    Dims output{input};
    if (input.nbDims < 2 || input.nbDims > Dims::MAX_DIMS)
    {
        pluginkit::logError(
            refusal("the input has " + std::to_string(input.nbDims) + " dimensions, must have 2 (an image) or more"));
        output.nbDims = -1;
        return output;
    }
    int32_t const row = input.nbDims - 2;
    int32_t const column = input.nbDims - 1;
    output.d[row] = pooled(input.d[row], p.kernel_h, p.stride_h, p.pad_h, p.ceil_mode != 0);
    output.d[column] = pooled(input.d[column], p.kernel_w, p.stride_w, p.pad_w, p.ceil_mode != 0);
    if (output.d[row] < 1 || output.d[column] < 1)
    {
        pluginkit::logError(refusal("a window of " + std::to_string(p.kernel_h) + " x " + std::to_string(p.kernel_w) +
                                    " is larger than an image of " + std::to_string(input.d[row]) + " x " +
                                    std::to_string(input.d[column]) + " with its padding"));
        output.nbDims = -1;
    }
    return output;
}

//! Whether a shape is one that these parameters make: what the kernels rely on.
bool fits(PoolInt8Parameters const& p, PoolInt8Shape const& s) noexcept
{
    return s.planes >= 0 && s.h > 0 && s.w > 0 && int64_t{s.h} * s.w <= kMaxPixels &&
           int64_t{s.outH} * s.outW <= kMaxPixels &&
           s.outH == pooled(s.h, p.kernel_h, p.stride_h, p.pad_h, p.ceil_mode != 0) &&
           s.outW == pooled(s.w, p.kernel_w, p.stride_w, p.pad_w, p.ceil_mode != 0);
}

//! Takes the fields over; what it says of the one that can't be read, or nothing.
std::string unread(nvinfer1::PluginFieldCollection const& fields, PoolInt8Parameters& p)
{
    pluginkit::FieldReader const reader{&fields};
    std::pair<char const*, int32_t*> const numbers[]{
        {"mode", &p.mode},         {"kernel_h", &p.kernel_h},   {"kernel_w", &p.kernel_w},
        {"stride_h", &p.stride_h}, {"stride_w", &p.stride_w},   {"pad_h", &p.pad_h},
        {"pad_w", &p.pad_w},       {"ceil_mode", &p.ceil_mode}, {"count_include_pad", &p.count_include_pad},
    };
    for (auto const& [name, number] : numbers)
    {
        if (!reader.optional(name, *number))
        {
            return refusal(std::string{name} + " must be one INT32 number");
        }
    }
    for (auto const& [name, scale] : {std::pair{"x_scale", &p.x_scale}, std::pair{"y_scale", &p.y_scale}})
    {
        if (!reader.optional(name, *scale))
        {
            return refusal(std::string{name} + " must be one finite FLOAT32 number");
        }
    }
    return {};
}

//! A namespace as TensorRT allows it: never null, never too long.
std::string asNamespace(char const* pluginNamespace)
{
    return std::string{pluginNamespace != nullptr ? pluginNamespace : ""}.substr(0, kMaxNamespace);
}

} // namespace

PoolInt8::PoolInt8(PoolInt8Parameters const& parameters) : mParameters{parameters}, mNamespace{kNamespace}
{
    mScales[0] = parameters.x_scale;
    mScales[1] = parameters.y_scale;
}

size_t PoolInt8::getSerializationSize() const noexcept
{
    return pluginkit::serializedSize<PoolInt8Parameters, decltype(mScales), int32_t, PoolInt8Shape>();
}

void PoolInt8::serialize(void* buffer) const noexcept
{
    pluginkit::Writer writer{buffer, getSerializationSize(), kSerialVersion};
    writer.put(mParameters);
    writer.put(mScales);
    writer.put(mRow);
    writer.put(mShape);
}

bool PoolInt8::restore(void const* data, size_t length) noexcept
{
    try
    {
        pluginkit::Reader reader{data, length, kSerialVersion};
        bool const read = reader.get(mParameters) && reader.get(mScales) && reader.get(mRow) && reader.get(mShape);
        if (!read || !reader.finished())
        {
            pluginkit::logError(refusal(std::to_string(length) + " serialized bytes are not a layer of this version, " +
                                        "which has " + std::to_string(getSerializationSize())));
            return false;
        }
        bool good = problem(mParameters).empty() && mRow >= kNoRow && mRow < static_cast<int32_t>(std::size(kTypes));
        for (float const scale : mScales)
        {
            good = good && std::isfinite(scale) && scale >= 0.0F;
        }
        good = good && (mRow == kNoRow || fits(mParameters, mShape));
        if (!good)
        {
            pluginkit::logError(refusal("the serialized bytes contradict themselves: they are damaged"));
        }
        return good;
    }
    catch (std::exception const&)
    {
        return false; // no memory for words
    }
}

char const* PoolInt8::getPluginType() const noexcept
{
    return kName;
}

char const* PoolInt8::getPluginVersion() const noexcept
{
    return kVersion;
}

void PoolInt8::setPluginNamespace(char const* pluginNamespace) noexcept
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

char const* PoolInt8::getPluginNamespace() const noexcept
{
    return mNamespace.c_str();
}

nvinfer1::IPluginV2IOExt* PoolInt8::clone() const noexcept
{
    try
    {
        return new PoolInt8{*this};
    }
    catch (std::exception const&)
    {
        return nullptr;
    }
}

void PoolInt8::destroy() noexcept
{
    delete this;
}

int32_t PoolInt8::getNbOutputs() const noexcept
{
    return kNbOutputs;
}

DataType PoolInt8::getOutputDataType(int32_t index, DataType const* inputTypes, int32_t nbInputs) const noexcept
{
    if (index < 0 || index >= kNbOutputs || inputTypes == nullptr || nbInputs != kNbInputs)
    {
        return DataType::kFLOAT;
    }
    int32_t const row = findRow(kNbInputs, [inputTypes](int32_t i) { return inputTypes[i]; });
    // TensorRT may ask before it has chosen the types: any row's answer will do then.
    return kTypes[row == kNoRow ? 0 : row][kNbInputs + index];
}

Dims PoolInt8::getOutputDimensions(int32_t index, Dims const* inputs, int32_t nbInputs) noexcept
{
    Dims const impossible{-1, {}};
    try
    {
        bool const asked = index == 0 && inputs != nullptr && nbInputs == kNbInputs;
        return asked ? pooled(mParameters, inputs[0]) : impossible;
    }
    catch (std::exception const&)
    {
        return impossible; // no memory for words
    }
}

bool PoolInt8::supportsFormatCombination(int32_t pos, nvinfer1::PluginTensorDesc const* inOut, int32_t nbInputs,
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

void PoolInt8::configurePlugin(nvinfer1::PluginTensorDesc const* in, int32_t nbInputs,
                               nvinfer1::PluginTensorDesc const* out, int32_t nbOutputs) noexcept
{
    mRow = kNoRow;
    if (in == nullptr || out == nullptr || nbInputs != kNbInputs || nbOutputs != kNbOutputs)
    {
        return;
    }
    Dims const& image = in[0].dims;
    Dims const& small = out[0].dims;
    if (image.nbDims < 2 || image.nbDims > Dims::MAX_DIMS || small.nbDims != image.nbDims)
    {
        return;
    }
    int64_t planes = 1;
    for (int32_t i = 0; i < image.nbDims - 2; ++i)
    {
        planes *= image.d[i];
    }
    auto const last = [](Dims const& dims, int32_t fromEnd) { return dims.d[dims.nbDims - fromEnd]; };
    for (Dims const* dims : {&image, &small})
    {
        if (last(*dims, 2) < 0 || last(*dims, 1) < 0 || last(*dims, 2) > kMaxPixels || last(*dims, 1) > kMaxPixels)
        {
            return;
        }
    }
    mShape = {planes, static_cast<int32_t>(last(image, 2)), static_cast<int32_t>(last(image, 1)),
              static_cast<int32_t>(last(small, 2)), static_cast<int32_t>(last(small, 1))};
    DataType const types[kNbTensors]{in[0].type, out[0].type};
    if (fits(mParameters, mShape))
    {
        mRow = findRow(kNbTensors, [&types](int32_t i) { return types[i]; });
    }
    // A scale that the node's attributes give wins. In implicit quantization TensorRT knows the scales and gives them
    // here; in explicit quantization (Q/DQ) it doesn't: then the attributes are the only place that they can come from.
    if (!isScale(mParameters.x_scale) && in[0].type == DataType::kINT8 && isScale(in[0].scale))
    {
        mScales[0] = in[0].scale;
    }
    if (!isScale(mParameters.y_scale) && out[0].type == DataType::kINT8 && isScale(out[0].scale))
    {
        mScales[1] = out[0].scale;
    }
}

size_t PoolInt8::getWorkspaceSize(int32_t /*maxBatchSize*/) const noexcept
{
    return 0;
}

#if NV_TENSORRT_MAJOR < 11
bool PoolInt8::isOutputBroadcastAcrossBatch(int32_t /*index*/, bool const* /*inputIsBroadcast*/,
                                            int32_t /*nbInputs*/) const noexcept
{
    return false;
}

bool PoolInt8::canBroadcastInputAcrossBatch(int32_t /*index*/) const noexcept
{
    return false;
}

#endif
int32_t PoolInt8::initialize() noexcept
{
    return 0;
}

int32_t PoolInt8::enqueue(int32_t batchSize, void const* const* inputs, void* const* outputs, void* /*workspace*/,
                          cudaStream_t stream) noexcept
{
    constexpr int32_t kFailed = 1;
    if (batchSize < 0 || inputs == nullptr || outputs == nullptr || mRow == kNoRow)
    {
        return kFailed; // mRow: not configured, or for what this layer can't be
    }
    bool const int8 = kTypes[mRow][0] == DataType::kINT8;
    if (int8 && (!isScale(mScales[0]) || !isScale(mScales[1])))
    {
        return kFailed; // nobody said what the INT8 values stand for
    }
    // Planes follow one another in memory, whichever dimension they are of.
    PoolInt8Arguments const args{mParameters,
                                 inputs[0],
                                 outputs[0],
                                 mShape.planes * batchSize,
                                 mShape.h,
                                 mShape.w,
                                 mShape.outH,
                                 mShape.outW,
                                 int8 ? mScales[0] / mScales[1] : 1.0F};
    cudaError_t const error = launchPoolInt8(args, static_cast<PoolInt8Precision>(mRow), stream);
    return error == cudaSuccess ? 0 : kFailed;
}

void PoolInt8::terminate() noexcept
{
    // initialize() took nothing.
}

PoolInt8Creator::PoolInt8Creator() noexcept
{
    // Each field's name, type and number of elements; the values come from the node.
    mFields[0] = {"mode", nullptr, PluginFieldType::kINT32, 1};
    mFields[1] = {"kernel_h", nullptr, PluginFieldType::kINT32, 1};
    mFields[2] = {"kernel_w", nullptr, PluginFieldType::kINT32, 1};
    mFields[3] = {"stride_h", nullptr, PluginFieldType::kINT32, 1};
    mFields[4] = {"stride_w", nullptr, PluginFieldType::kINT32, 1};
    mFields[5] = {"pad_h", nullptr, PluginFieldType::kINT32, 1};
    mFields[6] = {"pad_w", nullptr, PluginFieldType::kINT32, 1};
    mFields[7] = {"ceil_mode", nullptr, PluginFieldType::kINT32, 1};
    mFields[8] = {"count_include_pad", nullptr, PluginFieldType::kINT32, 1};
    mFields[9] = {"x_scale", nullptr, PluginFieldType::kFLOAT32, 1};
    mFields[10] = {"y_scale", nullptr, PluginFieldType::kFLOAT32, 1};
    mFieldNames.nbFields = static_cast<int32_t>(mFields.size());
    mFieldNames.fields = mFields.data();
    setPluginNamespace(kNamespace);
}

char const* PoolInt8Creator::getPluginName() const noexcept
{
    return kName;
}

char const* PoolInt8Creator::getPluginVersion() const noexcept
{
    return kVersion;
}

nvinfer1::PluginFieldCollection const* PoolInt8Creator::getFieldNames() noexcept
{
    return &mFieldNames;
}

nvinfer1::IPluginV2* PoolInt8Creator::createPlugin(char const* /*name*/,
                                                   nvinfer1::PluginFieldCollection const* fields) noexcept
{
    if (fields == nullptr)
    {
        return nullptr;
    }
    try
    {
        // A field that is absent keeps its default; one of a wrong type or length makes no plugin.
        PoolInt8Parameters parameters;
        std::string wrong = unread(*fields, parameters);
        wrong = wrong.empty() ? problem(parameters) : wrong;
        if (!wrong.empty())
        {
            pluginkit::logError(wrong);
            return nullptr;
        }
        auto plugin = std::make_unique<PoolInt8>(parameters);
        plugin->setPluginNamespace(mNamespace.c_str());
        return plugin.release();
    }
    catch (std::exception const&)
    {
        return nullptr;
    }
}

nvinfer1::IPluginV2* PoolInt8Creator::deserializePlugin(char const* /*name*/, void const* data, size_t length) noexcept
{
    try
    {
        auto plugin = std::make_unique<PoolInt8>(PoolInt8Parameters{});
        plugin->setPluginNamespace(mNamespace.c_str());
        return plugin->restore(data, length) ? plugin.release() : nullptr;
    }
    catch (std::exception const&)
    {
        return nullptr;
    }
}

void PoolInt8Creator::setPluginNamespace(char const* pluginNamespace) noexcept
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

char const* PoolInt8Creator::getPluginNamespace() const noexcept
{
    return mNamespace.c_str();
}

} // namespace pool_int8
