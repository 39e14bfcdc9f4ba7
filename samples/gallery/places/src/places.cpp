#include "places.h"

#include <pluginkit/dimension.h>
#include <pluginkit/fields.h>
#include <pluginkit/shape.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <limits>
#include <memory>

namespace places_plugin
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

constexpr char const* kName = "Places";
constexpr char const* kVersion = "1";
// clang-format off
constexpr char const* kNamespace = "";
// clang-format on
// The field that an engine keeps the scales in; no attribute of a node.
constexpr char const* kScalesField = "pluginkit_scales";
// What a method of IPluginV3 answers where it can't do what it is asked.
constexpr int32_t kFailed = 1;

constexpr int32_t kNbInputs = 1;
constexpr int32_t kNbOutputs = 2;
constexpr int32_t kNbTensors = kNbInputs + kNbOutputs;

// The types that go together: those of the inputs, then those of the outputs; a row each for the enumerators of
// PlacesPrecision, in their order.
// clang-format off
constexpr DataType kTypes[][kNbTensors] = {
    {DataType::kFLOAT, DataType::kINT64, DataType::kINT32},
    {DataType::kHALF, DataType::kINT64, DataType::kINT32},
    {DataType::kBF16, DataType::kINT64, DataType::kINT32},
    {DataType::kINT8, DataType::kINT64, DataType::kINT32},
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

bool isValid(PlacesParameters const& parameters) noexcept
{
    if (!std::isfinite(parameters.x_scale))
    {
        return false;
    }
    if (parameters.x_scale < 0.0F)
    {
        return false;
    }
    return true;
}

//! What a run needs as workspace, in bytes: ceil_div(r * c, 8192) * 1184. No number where that overflows or divides by
//! zero.
pluginkit::Dimension workspaceBytes(PlacesParameters const& /*parameters*/,
                                    std::array<nvinfer1::Dims, kNbInputs> const& inputs) noexcept
{
    auto const at = [&inputs](int32_t input, int32_t dim) { return inputs[static_cast<size_t>(input)].d[dim]; };
    return ceilQuotient((pluginkit::Dimension{at(0, 0)} * pluginkit::Dimension{at(0, 1)}), pluginkit::Dimension{8192}) *
           pluginkit::Dimension{1184};
}

//! The answer of getWorkspaceSize(): where the bytes are no number, more than any device has, so that no engine is
//! built.
size_t answered(pluginkit::Dimension bytes) noexcept
{
    int64_t const some = bytes.isNumber() ? std::max(bytes.value(), int64_t{0}) : std::numeric_limits<int64_t>::max();
    return static_cast<size_t>(some);
}

} // namespace

Places::Places(PlacesParameters const& parameters, std::string const& pluginNamespace)
    : mParameters{parameters}, mNamespace{pluginNamespace}
{
    mScales[0] = parameters.x_scale;
}

nvinfer1::IPluginCapability* Places::getCapabilityInterface(PluginCapabilityType type) noexcept
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

nvinfer1::IPluginV3* Places::clone() noexcept
{
    try
    {
        return new Places{*this};
    }
    catch (std::exception const&)
    {
        return nullptr; // no memory; no exception may leave a plugin
    }
}

char const* Places::getPluginName() const noexcept
{
    return kName;
}

char const* Places::getPluginVersion() const noexcept
{
    return kVersion;
}

char const* Places::getPluginNamespace() const noexcept
{
    return mNamespace.c_str();
}

int32_t Places::getNbOutputs() const noexcept
{
    return kNbOutputs;
}

int32_t Places::getOutputDataTypes(DataType* outputTypes, int32_t nbOutputs, DataType const* inputTypes,
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

int32_t Places::getOutputShapes(DimsExprs const* inputs, int32_t nbInputs, DimsExprs const* /*shapeInputs*/,
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

bool Places::supportsFormatCombination(int32_t pos, nvinfer1::DynamicPluginTensorDesc const* inOut, int32_t nbInputs,
                                       int32_t nbOutputs) noexcept
{
    if (inOut == nullptr || nbInputs != kNbInputs || nbOutputs != kNbOutputs || pos < 0 || pos >= kNbTensors)
    {
        return false;
    }
    // What stands behind pos is not chosen yet and must not be looked at.
    return inOut[pos].desc.format == TensorFormat::kLINEAR &&
           findRow(pos + 1, [inOut](int32_t i) { return inOut[i].desc.type; }) != kNoRow;
}

int32_t Places::configurePlugin(nvinfer1::DynamicPluginTensorDesc const* in, int32_t nbInputs,
                                nvinfer1::DynamicPluginTensorDesc const* out, int32_t nbOutputs) noexcept
{
    if (in == nullptr || out == nullptr || nbInputs != kNbInputs || nbOutputs != kNbOutputs)
    {
        return kFailed;
    }
    // A scale that the node's attributes give wins. In implicit quantization TensorRT knows the scales and gives them
    // here; in explicit quantization (Q/DQ) it doesn't: then the attributes are the only place that they can come from.
    if (!isScale(mParameters.x_scale))
    {
        takeScale(mScales[0], in[0].desc);
    }
    return 0;
}

size_t Places::getWorkspaceSize(nvinfer1::DynamicPluginTensorDesc const* inputs, int32_t nbInputs,
                                nvinfer1::DynamicPluginTensorDesc const* /*outputs*/,
                                int32_t /*nbOutputs*/) const noexcept
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

int32_t Places::getNbTactics() noexcept
{
    return tacticsOfPlaces(); // TensorRT times each
}

int32_t Places::getValidTactics(int32_t* tactics, int32_t nbTactics) noexcept
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

int32_t Places::setTactic(int32_t tactic) noexcept
{
    mTactic = tactic; // one that this library has no more is taken as 0
    return 0;
}

nvinfer1::PluginFieldCollection const* Places::getFieldsToSerialize() noexcept
{
    mKept[0] = PluginField{"x_scale", &mParameters.x_scale, PluginFieldType::kFLOAT32, 1};
    mKept[1] = PluginField{kScalesField, mScales.data(), PluginFieldType::kFLOAT32, kNbTensors};
    mKeptFields.nbFields = static_cast<int32_t>(mKept.size());
    mKeptFields.fields = mKept.data();
    return &mKeptFields;
}

bool Places::restore(nvinfer1::PluginFieldCollection const* fields) noexcept
{
    pluginkit::FieldReader const reader{fields};
    bool read = fields != nullptr;
    read = read && reader.required("x_scale", mParameters.x_scale);
    read = read && reader.required(kScalesField, mScales);
    for (float const scale : mScales)
    {
        read = read && scale >= 0.0F;
    }
    return read && isValid(mParameters);
}

nvinfer1::IPluginV3* Places::attachToContext(nvinfer1::IPluginResourceContext* /*context*/) noexcept
{
    return clone(); // each context has a plugin of its own
}

int32_t Places::onShapeChange(nvinfer1::PluginTensorDesc const* /*in*/, int32_t /*nbInputs*/,
                              nvinfer1::PluginTensorDesc const* /*out*/, int32_t /*nbOutputs*/) noexcept
{
    return 0; // enqueue() gets the shapes too
}

int32_t Places::enqueue(nvinfer1::PluginTensorDesc const* inputDesc, nvinfer1::PluginTensorDesc const* outputDesc,
                        void const* const* inputs, void* const* outputs, void* workspace, cudaStream_t stream) noexcept
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
    for (int32_t i = 0; i < kNbTensors; ++i)
    {
        if (typeAt(i) == DataType::kINT8 && !isScale(mScales[static_cast<size_t>(i)]))
        {
            return kFailed; // nobody said what the INT8 values stand for
        }
    }

    std::array<nvinfer1::Dims, kNbInputs> dims{};
    std::transform(inputDesc, inputDesc + kNbInputs, dims.begin(), [](auto const& desc) { return desc.dims; });
    int64_t const workspaceSize = workspaceBytes(mParameters, dims).value();
    if (workspaceSize < 0 || (workspaceSize > 0 && workspace == nullptr))
    {
        return kFailed; // -1: the bytes are no number
    }
    PlacesArguments args{};
    args.workspace = workspace;
    args.workspaceBytes = workspaceSize;
    args.parameters = mParameters;
    auto const at = [inputDesc](int32_t input, int32_t dim) { return inputDesc[input].dims.d[dim]; };
    args.inputs.x.data = inputs[0];
    args.inputs.x.count = elementCount(inputDesc[0]);
    pluginkit::setShape(args.inputs.x, inputDesc[0].dims);
    args.inputs.x.scale = mScales[0];
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
    args.tactic = mTactic;
    auto const precision = static_cast<PlacesPrecision>(row);
    cudaError_t const error = launchPlaces(args, precision, stream);
    return error == cudaSuccess ? 0 : kFailed;
}

PlacesCreator::PlacesCreator() noexcept
{
    // Each field's name, type and number of elements; the values come from the node.
    mFields[0] = {"x_scale", nullptr, PluginFieldType::kFLOAT32, 1};
    mFieldNames.nbFields = static_cast<int32_t>(mFields.size());
    mFieldNames.fields = mFields.data();
    setPluginNamespace(kNamespace);
}

char const* PlacesCreator::getPluginName() const noexcept
{
    return kName;
}

char const* PlacesCreator::getPluginVersion() const noexcept
{
    return kVersion;
}

char const* PlacesCreator::getPluginNamespace() const noexcept
{
    return mNamespace.c_str();
}

nvinfer1::PluginFieldCollection const* PlacesCreator::getFieldNames() noexcept
{
    return &mFieldNames;
}

nvinfer1::IPluginV3* PlacesCreator::createPlugin(char const* /*name*/, nvinfer1::PluginFieldCollection const* fields,
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
            auto plugin = std::make_unique<Places>(PlacesParameters{}, mNamespace);
            return plugin->restore(fields) ? plugin.release() : nullptr;
        }
        // A field that is absent keeps its default; one of a wrong type or length makes no plugin.
        pluginkit::FieldReader const reader{fields};
        PlacesParameters parameters;
        bool read = true;
        read = read && reader.optional("x_scale", parameters.x_scale);
        if (!read || !isValid(parameters))
        {
            return nullptr;
        }
        return new Places{parameters, mNamespace};
    }
    catch (std::exception const&)
    {
        return nullptr;
    }
}

void PlacesCreator::setPluginNamespace(char const* pluginNamespace) noexcept
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

} // namespace places_plugin
