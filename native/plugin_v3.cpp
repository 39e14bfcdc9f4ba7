#include "plugin_v3.h"

#include "call_file.h"
#include "nodes.h"

#include <pybind11/stl.h>

namespace py = pybind11;

namespace pluginkit
{

namespace
{

using nvinfer1::PluginCapabilityType;

//! The bytes of a field's data, by NvInferPluginBase.h's rules for its length: elements, bytes for kUNKNOWN.
std::size_t bytesOf(nvinfer1::PluginField const& field)
{
    using Type = nvinfer1::PluginFieldType;
    auto const length = static_cast<std::size_t>(std::max(field.length, 0));
    switch (static_cast<std::int32_t>(field.type))
    {
    case static_cast<std::int32_t>(Type::kFLOAT64):
    case static_cast<std::int32_t>(Type::kINT64):
        return length * 8;
    case static_cast<std::int32_t>(Type::kFLOAT32):
    case static_cast<std::int32_t>(Type::kINT32):
        return length * 4;
    case static_cast<std::int32_t>(Type::kFLOAT16):
    case static_cast<std::int32_t>(Type::kBF16):
    case static_cast<std::int32_t>(Type::kINT16):
        return length * 2;
    case static_cast<std::int32_t>(Type::kDIMS):
        return length * sizeof(nvinfer1::Dims64);
    case static_cast<std::int32_t>(Type::kINT4):
    case static_cast<std::int32_t>(Type::kFP4):
        return (length + 1) / 2;
    default:
        return length; // kINT8, kCHAR, kFP8, kUNKNOWN
    }
}

//! Writes over what a returned function has left on the stack and the heap has just got back.
__attribute__((noinline)) void churn()
{
    unsigned char volatile stack[16384];
    for (auto volatile& byte : stack)
    {
        byte = 0xEE;
    }
    std::vector<std::vector<unsigned char>> heap;
    for (std::size_t size = 16; size <= 1024; size += 16)
    {
        heap.emplace_back(size, static_cast<unsigned char>(0xEE));
    }
}

//! What a plugin gets with a context: no allocator and no recorder, since this host has none.
class ResourceContext final : public nvinfer1::IPluginResourceContext
{
public:
    nvinfer1::IGpuAllocator* getGpuAllocator() const noexcept override
    {
        return nullptr;
    }
    nvinfer1::IErrorRecorder* getErrorRecorder() const noexcept override
    {
        return nullptr;
    }
};

std::vector<std::variant<std::int32_t, std::string>> rootsOf(ExprSession const& session,
                                                             nvinfer1::DimsExprs const& dims)
{
    std::vector<std::variant<std::int32_t, std::string>> roots;
    for (std::int32_t i = 0; i < dims.nbDims && i < nvinfer1::Dims64::MAX_DIMS; ++i)
    {
        if (auto const node = session.find(dims.d[i]))
        {
            roots.emplace_back(*node);
        }
        else
        {
            roots.emplace_back(ExprSession::describe(dims.d[i]));
        }
    }
    return roots;
}

} // namespace

nvinfer1::IPluginV3& PyPluginV3::get() const
{
    if (mPlugin == nullptr)
    {
        throw UseError{"a plugin was called after it was deleted"};
    }
    return *mPlugin;
}

nvinfer1::IPluginCapability* PyPluginV3::find(PluginCapabilityType type) const
{
    Call const call{"IPluginV3::getCapabilityInterface"};
    return get().getCapabilityInterface(type);
}

nvinfer1::IPluginCapability& PyPluginV3::need(PluginCapabilityType type, char const* name) const
{
    auto* const found = find(type);
    if (found == nullptr)
    {
        throw UseError{"a plugin without the capability " + std::string{name} + " was asked for it"};
    }
    return *found;
}

nvinfer1::IPluginV3OneCore& PyPluginV3::core() const
{
    return static_cast<nvinfer1::IPluginV3OneCore&>(need(PluginCapabilityType::kCORE, "kCORE"));
}

nvinfer1::IPluginV3OneBuild& PyPluginV3::build() const
{
    return static_cast<nvinfer1::IPluginV3OneBuild&>(need(PluginCapabilityType::kBUILD, "kBUILD"));
}

nvinfer1::IPluginV3OneRuntime& PyPluginV3::runtime() const
{
    return static_cast<nvinfer1::IPluginV3OneRuntime&>(need(PluginCapabilityType::kRUNTIME, "kRUNTIME"));
}

std::optional<PyPluginV3::Info> PyPluginV3::capability(std::int32_t type) const
{
    auto* const found = find(static_cast<PluginCapabilityType>(type));
    if (found == nullptr)
    {
        return std::nullopt;
    }
    Call const call{"IPluginCapability::getInterfaceInfo"};
    auto const info = found->getInterfaceInfo();
    return Info{text(info.kind), info.major, info.minor};
}

std::unique_ptr<PyPluginV3> PyPluginV3::clone() const
{
    Call const call{"IPluginV3::clone"};
    auto* const copy = get().clone();
    return copy == nullptr ? nullptr : std::make_unique<PyPluginV3>(copy);
}

std::pair<std::unique_ptr<PyPluginV3>, bool> PyPluginV3::attachToContext() const
{
    static ResourceContext resources;
    auto& from = runtime();
    Call const call{"IPluginV3OneRuntime::attachToContext"};
    auto* const attached = from.attachToContext(&resources);
    bool const same = attached == mPlugin;
    // The same plugin must not get a second owner.
    return {attached == nullptr || same ? nullptr : std::make_unique<PyPluginV3>(attached), same};
}

std::optional<std::pair<std::int32_t, std::optional<std::vector<PyPluginV3::Kept>>>>
PyPluginV3::fieldsToSerialize() const
{
    auto& from = runtime();
    // Until the end: a collection that is gone is the plugin's fault, and reading it may be a crash.
    Call const call{"IPluginV3OneRuntime::getFieldsToSerialize"};
    auto const* const answer = from.getFieldsToSerialize();
    churn();
    if (answer == nullptr)
    {
        return std::nullopt;
    }
    if (answer->fields == nullptr)
    {
        return std::pair{answer->nbFields, std::nullopt};
    }
    std::vector<Kept> fields;
    for (std::int32_t i = 0; i < answer->nbFields; ++i)
    {
        auto const& field = answer->fields[i];
        std::optional<py::bytes> data;
        if (field.data != nullptr)
        {
            data = py::bytes{static_cast<char const*>(field.data), bytesOf(field)};
        }
        fields.emplace_back(text(field.name), static_cast<std::int32_t>(field.type), field.length, data);
    }
    return std::pair{answer->nbFields, std::optional{fields}};
}

std::pair<std::int32_t, std::vector<std::int32_t>>
PyPluginV3::outputDataTypes(std::int32_t nbOutputs, std::vector<std::int32_t> const& inputs) const
{
    constexpr auto kUNWRITTEN = static_cast<nvinfer1::DataType>(-1);
    auto const types = toTypes(inputs, "inputTypes");
    ClosedArray<nvinfer1::DataType> const answers{static_cast<std::size_t>(nbOutputs), "outputTypes", kUNWRITTEN};
    auto& from = build();
    Call const call{"IPluginV3OneBuild::getOutputDataTypes"};
    auto const code = from.getOutputDataTypes(answers.data(), nbOutputs, types.data(), count(types));
    std::vector<std::int32_t> codes;
    for (auto const type : answers)
    {
        codes.push_back(static_cast<std::int32_t>(type));
    }
    return {code, codes};
}

py::tuple PyPluginV3::outputShapes(std::vector<PyDims> const& inputs, std::vector<std::int32_t> const& shapeInputs,
                                   std::int32_t nbOutputs)
{
    // Kept until the plugin is gone, so that faults of later calls are collected too.
    auto& session = *mSessions.emplace_back(std::make_unique<ExprSession>(nbOutputs));
    auto const exprs = toExprs(session, inputs);
    ClosedArray<nvinfer1::DimsExprs> const values{shapeInputs.size(), "shapeInputs"};
    for (std::size_t place = 0; place < values.size(); ++place)
    {
        std::int32_t const length = shapeInputs[place];
        nvinfer1::DimsExprs& one = values[place];
        one.nbDims = length;
        for (std::int32_t i = 0; i < length && i < nvinfer1::Dims64::MAX_DIMS; ++i)
        {
            one.d[i] = session.symbol();
        }
    }
    nvinfer1::DimsExprs unwritten{};
    unwritten.nbDims = -1;
    ClosedArray<nvinfer1::DimsExprs> const outputs{static_cast<std::size_t>(nbOutputs), "outputs", unwritten};
    std::int32_t code = 0;
    {
        auto& from = build();
        Call const call{"IPluginV3OneBuild::getOutputShapes"};
        code = from.getOutputShapes(exprs.data(), count(exprs), values.data(), count(values), outputs.data(), nbOutputs,
                                    session.builder());
    }
    session.end();
    py::list shapes;
    for (auto const& output : outputs)
    {
        shapes.append(py::make_tuple(output.nbDims, rootsOf(session, output)));
    }
    py::list sizes;
    for (auto const& size : session.sizes())
    {
        sizes.append(py::make_tuple(size.output, size.opt, size.upper, size.symbol));
    }
    return py::make_tuple(code, shapes, toPython(session.nodes()), sizes, session.faults(), session.warnings());
}

std::vector<std::string> PyPluginV3::shapeFaults() const
{
    std::vector<std::string> all;
    for (auto const& session : mSessions)
    {
        all.insert(all.end(), session->faults().begin(), session->faults().end());
    }
    return all;
}

void PyPluginV3::destroy()
{
    auto* const plugin = &get();
    mPlugin = nullptr;
    Call const call{"IPluginV3::~IPluginV3"};
    delete plugin;
}

} // namespace pluginkit
