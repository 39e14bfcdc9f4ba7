#include "@{ cookiecutter.slug }@.h"

#include <pluginkit/fields.h>
#include <pluginkit/serialize.h>

#include <algorithm>
#include <cmath>
#include <exception>
@% if cookiecutter.vectorized %@
#include <iterator>
@% endif %@
#include <memory>

namespace @{ cookiecutter.namespace_cpp }@
{
namespace
{

using nvinfer1::DataType;
using nvinfer1::DimensionOperation;
using nvinfer1::DimsExprs;
using nvinfer1::IDimensionExpr;
using nvinfer1::PluginFieldType;
using nvinfer1::TensorFormat;

constexpr char const* kName = @{ cookiecutter.name_literal }@;
constexpr char const* kVersion = @{ cookiecutter.version_literal }@;
// Until TensorRT sets another one.
// clang-format off
constexpr char const* kNamespace = @{ cookiecutter.namespace_literal }@;
// clang-format on
// TensorRT's limit, without the closing zero.
constexpr size_t kMaxNamespace = 1023;
// To be raised whenever serialize() writes something else.
constexpr uint32_t kSerialVersion = 1;

constexpr int32_t kNbInputs = @{ cookiecutter.inputs|length }@;
constexpr int32_t kNbOutputs = @{ cookiecutter.outputs|length }@;
constexpr int32_t kNbTensors = kNbInputs + kNbOutputs;

// The types that go together: those of the inputs, then those of the outputs; a row each for the enumerators of
// @{ cookiecutter.name }@Precision, in their order.
// clang-format off
constexpr DataType kTypes[][kNbTensors] = {
@% for precision in cookiecutter.precisions %@
    {@{ precision.row }@},
@% endfor %@
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

@% if cookiecutter.vectorized %@
// The formats that go together, each row for a row of kTypes.
struct Combination
{
    int32_t types;
    TensorFormat formats[kNbTensors];
};

// clang-format off
constexpr Combination kCombinations[] = {
@% for row in cookiecutter.combinations %@
    {@{ row.types }@, {@{ row.formats }@}},
@% endfor %@
};
// clang-format on

//! Whether a row of kCombinations starts with the types and formats of the first `count` tensors.
bool isCombination(nvinfer1::PluginTensorDesc const* inOut, int32_t count) noexcept
{
    auto const fits = [inOut, count](Combination const& row)
    {
        bool same = true;
        for (int32_t i = 0; i < count; ++i)
        {
            same = same && inOut[i].type == kTypes[row.types][i] && inOut[i].format == row.formats[i];
        }
        return same;
    };
    return std::any_of(std::begin(kCombinations), std::end(kCombinations), fits);
}

//! How a tensor lies in memory: with `axis` as the channel's dimension, counted from the end, `channels` of them are
//! told in vectors of `lanes`. A vector-minor format is one vector of all channels, rounded up.
@{ cookiecutter.name }@Layout layoutOf(nvinfer1::PluginTensorDesc const& desc) noexcept
{
    int32_t axis = 0;
    int64_t lanes = 1;
    bool minor = false;
    switch (desc.format)
    {
@% for form in cookiecutter.formats %@
    case TensorFormat::@{ form.trt }@:
        axis = @{ form.axis }@;
@% if form.lanes > 1 %@
        lanes = @{ form.lanes }@;
@% endif %@
@% if form.minor %@
        minor = true;
@% endif %@
        break;
@% endfor %@
    default: // linear: vectors of one channel
        break;
    }
    @{ cookiecutter.name }@Layout layout{1, 1, 1};
    if (axis == 0 || desc.dims.nbDims < axis)
    {
        return layout;
    }
    layout.channels = desc.dims.d[desc.dims.nbDims - axis];
    for (int32_t i = desc.dims.nbDims - axis + 1; i < desc.dims.nbDims; ++i)
    {
        layout.inner *= desc.dims.d[i];
    }
    int64_t const vectors = (layout.channels + lanes - 1) / lanes;
    layout.lanes = minor ? vectors * lanes : lanes;
    return layout;
}

@% endif %@
int64_t elementCount(nvinfer1::PluginTensorDesc const& desc) noexcept
{
    int64_t count = 1;
    for (int32_t i = 0; i < desc.dims.nbDims; ++i)
    {
        count *= desc.dims.d[i];
    }
    return count;
}

@% if cookiecutter.int8 %@
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

@% endif %@
@% if cookiecutter.checks %@
bool isValid(@{ cookiecutter.name }@Parameters const& parameters) noexcept
{
@% for check in cookiecutter.checks %@
    if (@{ check }@)
    {
        return false;
    }
@% endfor %@
    return true;
}

@% endif %@
//! A namespace as TensorRT allows it: never null, never too long.
std::string asNamespace(char const* pluginNamespace)
{
    return std::string{pluginNamespace != nullptr ? pluginNamespace : ""}.substr(0, kMaxNamespace);
}

} // namespace

@{ cookiecutter.name }@::@{ cookiecutter.name }@(@{ cookiecutter.name }@Parameters const& parameters) : mParameters{parameters}, mNamespace{kNamespace}@{ "" if cookiecutter.scaled else " {}" }@
@% if cookiecutter.scaled %@
{
@% for tensor in cookiecutter.scaled %@
    mScales[@{ tensor.index }@] = parameters.@{ tensor.scale }@;
@% endfor %@
}
@% endif %@

size_t @{ cookiecutter.name }@::getSerializationSize() const noexcept
{
    return @{ cookiecutter.serialized_size }@;
}

void @{ cookiecutter.name }@::serialize(void* buffer) const noexcept
{
    pluginkit::Writer writer{buffer, getSerializationSize(), kSerialVersion};
@% for field in cookiecutter.fields %@
    writer.put(mParameters.@{ field.name }@);
@% endfor %@
@% if cookiecutter.int8 %@
    for (float const scale : mScales)
    {
        writer.put(scale);
    }
@% endif %@
}

bool @{ cookiecutter.name }@::restore(void const* data, size_t length) noexcept
{
    pluginkit::Reader reader{data, length, kSerialVersion};
    bool read = true;
@% for field in cookiecutter.fields %@
    read = read && reader.get(mParameters.@{ field.name }@);
@% endfor %@
@% if cookiecutter.int8 %@
    for (float& scale : mScales)
    {
        read = read && reader.get(scale) && std::isfinite(scale) && scale >= 0.0F;
    }
@% endif %@
    return read && reader.finished()@{ " && isValid(mParameters)" if cookiecutter.checks }@;
}

char const* @{ cookiecutter.name }@::getPluginType() const noexcept
{
    return kName;
}

char const* @{ cookiecutter.name }@::getPluginVersion() const noexcept
{
    return kVersion;
}

void @{ cookiecutter.name }@::setPluginNamespace(char const* pluginNamespace) noexcept
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

char const* @{ cookiecutter.name }@::getPluginNamespace() const noexcept
{
    return mNamespace.c_str();
}

nvinfer1::IPluginV2DynamicExt* @{ cookiecutter.name }@::clone() const noexcept
{
    try
    {
        return new @{ cookiecutter.name }@{*this};
    }
    catch (std::exception const&)
    {
        return nullptr;
    }
}

void @{ cookiecutter.name }@::destroy() noexcept
{
    delete this;
}

int32_t @{ cookiecutter.name }@::getNbOutputs() const noexcept
{
    return kNbOutputs;
}

DataType @{ cookiecutter.name }@::getOutputDataType(int32_t index, DataType const* inputTypes, int32_t nbInputs) const noexcept
{
    if (index < 0 || index >= kNbOutputs || inputTypes == nullptr || nbInputs != kNbInputs)
    {
        return DataType::kFLOAT;
    }
    int32_t const row = findRow(kNbInputs, [inputTypes](int32_t i) { return inputTypes[i]; });
    // TensorRT may ask before it has chosen the types: any row's answer will do then.
    return kTypes[row == kNoRow ? 0 : row][kNbInputs + index];
}

DimsExprs @{ cookiecutter.name }@::getOutputDimensions(int32_t outputIndex, DimsExprs const* inputs, int32_t nbInputs, nvinfer1::IExprBuilder& exprBuilder) noexcept
{
    DimsExprs const impossible{-1, {}};
    if (inputs == nullptr || nbInputs != kNbInputs)
    {
        return impossible;
    }
@% for tensor in cookiecutter.inputs %@
    if (inputs[@{ tensor.index }@].nbDims != @{ tensor.rank }@) // @{ tensor.name }@
    {
        return impossible;
    }
@% endfor %@
@% if cookiecutter.operations %@
    auto const apply = [&exprBuilder](DimensionOperation operation, IDimensionExpr const* a, IDimensionExpr const* b)
    { return a != nullptr && b != nullptr ? exprBuilder.operation(operation, *a, *b) : nullptr; };
@% elif not cookiecutter.constants %@
    static_cast<void>(exprBuilder); // needed for dimensions that are computed
@% endif %@
    DimsExprs output{};
    switch (outputIndex)
    {
@% for tensor in cookiecutter.outputs %@
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

bool @{ cookiecutter.name }@::supportsFormatCombination(int32_t pos, nvinfer1::PluginTensorDesc const* inOut, int32_t nbInputs, int32_t nbOutputs) noexcept
{
    if (inOut == nullptr || nbInputs != kNbInputs || nbOutputs != kNbOutputs || pos < 0 || pos >= kNbTensors)
    {
        return false;
    }
    // What stands behind pos is not chosen yet and must not be looked at.
@% if cookiecutter.vectorized %@
    return isCombination(inOut, pos + 1);
@% else %@
    return inOut[pos].format == TensorFormat::kLINEAR &&
           findRow(pos + 1, [inOut](int32_t i) { return inOut[i].type; }) != kNoRow;
@% endif %@
}

@% if cookiecutter.int8 %@
void @{ cookiecutter.name }@::configurePlugin(nvinfer1::DynamicPluginTensorDesc const* in, int32_t nbInputs, nvinfer1::DynamicPluginTensorDesc const* out, int32_t nbOutputs) noexcept
{
    if (in == nullptr || out == nullptr || nbInputs != kNbInputs || nbOutputs != kNbOutputs)
    {
        return;
    }
    // A scale that the node's attributes give wins. In implicit quantization TensorRT knows the scales and gives them here;
    // in explicit quantization (Q/DQ) it doesn't: then the attributes are the only place that they can come from.
@% for tensor in cookiecutter.scaled %@
    if (!isScale(mParameters.@{ tensor.scale }@))
    {
        takeScale(mScales[@{ tensor.index }@], @{ tensor.desc }@.desc);
    }
@% endfor %@
}
@% else %@
void @{ cookiecutter.name }@::configurePlugin(nvinfer1::DynamicPluginTensorDesc const* /*in*/, int32_t /*nbInputs*/, nvinfer1::DynamicPluginTensorDesc const* /*out*/, int32_t /*nbOutputs*/) noexcept
{
    // Nothing depends on the types or shapes before the kernel runs.
}
@% endif %@

size_t @{ cookiecutter.name }@::getWorkspaceSize(nvinfer1::PluginTensorDesc const* /*inputs*/, int32_t /*nbInputs*/, nvinfer1::PluginTensorDesc const* /*outputs*/, int32_t /*nbOutputs*/) const noexcept
{
    return 0;
}

int32_t @{ cookiecutter.name }@::initialize() noexcept
{
    return 0;
}

int32_t @{ cookiecutter.name }@::enqueue(nvinfer1::PluginTensorDesc const* inputDesc, nvinfer1::PluginTensorDesc const* outputDesc, void const* const* inputs, void* const* outputs, void* /*workspace*/, cudaStream_t stream) noexcept
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
@% if cookiecutter.int8 %@
    for (int32_t i = 0; i < kNbTensors; ++i)
    {
        if (typeAt(i) == DataType::kINT8 && !isScale(mScales[static_cast<size_t>(i)]))
        {
            return kFailed; // nobody said what the INT8 values stand for
        }
    }
@% endif %@

    @{ cookiecutter.name }@Arguments args{};
    args.parameters = mParameters;
@% for tensor in cookiecutter.inputs %@
    args.inputs.@{ tensor.name }@.data = inputs[@{ loop.index0 }@];
    args.inputs.@{ tensor.name }@.count = elementCount(inputDesc[@{ loop.index0 }@]);
@% if cookiecutter.vectorized %@
    args.inputs.@{ tensor.name }@.layout = layoutOf(inputDesc[@{ loop.index0 }@]);
@% endif %@
@% if tensor.int8 %@
    args.inputs.@{ tensor.name }@.scale = mScales[@{ tensor.index }@];
@% endif %@
@% endfor %@
@% for tensor in cookiecutter.outputs %@
    args.outputs.@{ tensor.name }@.data = outputs[@{ loop.index0 }@];
    args.outputs.@{ tensor.name }@.count = elementCount(outputDesc[@{ loop.index0 }@]);
@% if cookiecutter.vectorized %@
    args.outputs.@{ tensor.name }@.layout = layoutOf(outputDesc[@{ loop.index0 }@]);
@% endif %@
@% if tensor.int8 %@
    args.outputs.@{ tensor.name }@.scale = mScales[@{ tensor.index }@];
@% endif %@
    args.count = std::max(args.count, args.outputs.@{ tensor.name }@.count);
@% endfor %@
@% for tensor in cookiecutter.inputs if tensor.load == "load" %@
    if (args.inputs.@{ tensor.name }@.count != args.count)
    {
        return kFailed; // the kernel would read beyond the tensor
    }
@% endfor %@
    auto const precision = static_cast<@{ cookiecutter.name }@Precision>(row);
    cudaError_t const error = launch@{ cookiecutter.name }@(args, precision, stream);
    return error == cudaSuccess ? 0 : kFailed;
}

void @{ cookiecutter.name }@::terminate() noexcept
{
    // initialize() took nothing.
}

@{ cookiecutter.name }@Creator::@{ cookiecutter.name }@Creator() noexcept
{
@% if cookiecutter.fields %@
    // Each field's name, type and number of elements; the values come from the node.
@% for field in cookiecutter.fields %@
    mFields[@{ loop.index0 }@] = {"@{ field.name }@", nullptr, PluginFieldType::@{ field.trt }@, 1};
@% endfor %@
    mFieldNames.nbFields = static_cast<int32_t>(mFields.size());
    mFieldNames.fields = mFields.data();
@% endif %@
    setPluginNamespace(kNamespace);
}

char const* @{ cookiecutter.name }@Creator::getPluginName() const noexcept
{
    return kName;
}

char const* @{ cookiecutter.name }@Creator::getPluginVersion() const noexcept
{
    return kVersion;
}

nvinfer1::PluginFieldCollection const* @{ cookiecutter.name }@Creator::getFieldNames() noexcept
{
    return &mFieldNames;
}

nvinfer1::IPluginV2* @{ cookiecutter.name }@Creator::createPlugin(char const* /*name*/, nvinfer1::PluginFieldCollection const* fields) noexcept
{
@% if cookiecutter.fields %@
    if (fields == nullptr)
    {
        return nullptr;
    }
    // A field that is absent keeps its default; one of a wrong type or length makes no plugin.
    pluginkit::FieldReader const reader{fields};
    @{ cookiecutter.name }@Parameters parameters;
    bool read = true;
@% for field in cookiecutter.fields %@
    read = read && reader.@{ field.reader }@("@{ field.name }@", parameters.@{ field.name }@);
@% endfor %@
    if (!read@{ " || !isValid(parameters)" if cookiecutter.checks }@)
    {
        return nullptr;
    }
@% else %@
    if (fields == nullptr)
    {
        return nullptr;
    }
    @{ cookiecutter.name }@Parameters const parameters;
@% endif %@
    try
    {
        auto plugin = std::make_unique<@{ cookiecutter.name }@>(parameters);
        plugin->setPluginNamespace(mNamespace.c_str());
        return plugin.release();
    }
    catch (std::exception const&)
    {
        return nullptr;
    }
}

nvinfer1::IPluginV2* @{ cookiecutter.name }@Creator::deserializePlugin(char const* /*name*/, void const* data, size_t length) noexcept
{
    try
    {
        auto plugin = std::make_unique<@{ cookiecutter.name }@>(@{ cookiecutter.name }@Parameters{});
        plugin->setPluginNamespace(mNamespace.c_str());
        return plugin->restore(data, length) ? plugin.release() : nullptr;
    }
    catch (std::exception const&)
    {
        return nullptr;
    }
}

void @{ cookiecutter.name }@Creator::setPluginNamespace(char const* pluginNamespace) noexcept
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

char const* @{ cookiecutter.name }@Creator::getPluginNamespace() const noexcept
{
    return mNamespace.c_str();
}

} // namespace @{ cookiecutter.namespace_cpp }@
