//! Plays TensorRT's part for the V3 adapter, call by call, and ends with 1 at the first wrong answer.
//! Prints what the V2 plugin was asked between marks, for the test to compare with the documented order.
#include "echo.h"
#include <pluginkit/v3_adapter.h>

#include <array>
#include <deque>
#include <memory>

using namespace nvinfer1;

#define CHECK(condition)                                                                                               \
    do                                                                                                                 \
    {                                                                                                                  \
        if (!(condition))                                                                                              \
        {                                                                                                              \
            std::fprintf(stderr, "line %d: %s\n", __LINE__, #condition);                                               \
            std::exit(1);                                                                                              \
        }                                                                                                              \
    } while (false)

namespace
{

//! The library's side of expressions, for constants and sums.
class Value final : public IDimensionExpr, public apiv::VDimensionExpr
{
public:
    explicit Value(int64_t value) : mValue(value)
    {
        mImpl = this;
    }
    bool isConstant() const override
    {
        return true;
    }
    int64_t getConstantValue() const override
    {
        return mValue;
    }
    bool isSizeTensor() const override
    {
        return false;
    }

private:
    int64_t mValue;
};

class Builder final : public IExprBuilder, public apiv::VExprBuilder
{
public:
    Builder()
    {
        mImpl = this;
    }
    IDimensionExpr const* constant(int64_t value) override
    {
        return &mValues.emplace_back(value);
    }
    IDimensionExpr const* operation(DimensionOperation op, IDimensionExpr const& a, IDimensionExpr const& b) override
    {
        CHECK(op == DimensionOperation::kSUM);
        return constant(a.getConstantValue() + b.getConstantValue());
    }
    IDimensionExpr const* declareSizeTensor(int32_t, IDimensionExpr const&, IDimensionExpr const&) override
    {
        return nullptr;
    }

private:
    std::deque<Value> mValues;
};

class Context final : public IPluginResourceContext
{
public:
    IGpuAllocator* getGpuAllocator() const noexcept override
    {
        return nullptr;
    }
    IErrorRecorder* getErrorRecorder() const noexcept override
    {
        return nullptr;
    }
};

DynamicPluginTensorDesc described(int64_t first)
{
    PluginTensorDesc const desc{Dims{2, {-1, 3}}, DataType::kFLOAT, TensorFormat::kLINEAR, 0.125F};
    return {desc, Dims{2, {first, 3}}, Dims{2, {4 * first, 3}}, Dims{2, {2 * first, 3}}};
}

void mark(char const* what)
{
    echo::trace("# %s", what);
}

template <typename T>
T* capability(IPluginV3* plugin, PluginCapabilityType type)
{
    auto* const found = static_cast<T*>(plugin->getCapabilityInterface(type));
    CHECK(found != nullptr);
    return found;
}

void checkBuild(IPluginV3* plugin)
{
    auto* const core = capability<IPluginV3OneCore>(plugin, PluginCapabilityType::kCORE);
    CHECK(std::strcmp(core->getPluginName(), "Echo") == 0 && std::strcmp(core->getPluginVersion(), "1") == 0);
    CHECK(std::strcmp(core->getPluginNamespace(), "acme") == 0);
    auto* const build = capability<IPluginV3OneBuild>(plugin, PluginCapabilityType::kBUILD);
    CHECK(std::strcmp(build->getInterfaceInfo().kind, "PLUGIN_V3ONE_BUILD") == 0);
    CHECK(build->getInterfaceInfo().major == 1 && build->getNbOutputs() == 2);

    std::array<DataType, 2> types{DataType::kBOOL, DataType::kBOOL};
    DataType const input{DataType::kINT8};
    CHECK(build->getOutputDataTypes(types.data(), 2, &input, 1) == 0);
    CHECK(types[0] == DataType::kINT8 && types[1] == DataType::kINT8);

    Builder builder;
    DimsExprs const in{2, {builder.constant(5), builder.constant(3)}};
    std::array<DimsExprs, 2> out{};
    CHECK(build->getOutputShapes(&in, 1, nullptr, 0, out.data(), 2, builder) == 0);
    CHECK(out[0].nbDims == 2 && out[0].d[0]->getConstantValue() == 5);
    CHECK(out[1].nbDims == 2 && out[1].d[0]->getConstantValue() == 10 && out[1].d[1]->getConstantValue() == 3);
    CHECK(build->getOutputShapes(&in, 1, &in, 1, out.data(), 2, builder) != 0); // V2 has no shape inputs

    std::array<DynamicPluginTensorDesc, 3> descs{described(1), described(1), described(2)};
    CHECK(build->supportsFormatCombination(2, descs.data(), 1, 2));
    descs[2].desc.type = DataType::kHALF;
    CHECK(!build->supportsFormatCombination(2, descs.data(), 1, 2));
    descs[2].desc.type = DataType::kFLOAT;
    CHECK(build->configurePlugin(descs.data(), 1, descs.data() + 1, 2) == 0);
    CHECK(build->getWorkspaceSize(descs.data(), 1, descs.data() + 1, 2) == 64); // 16 bytes a row, at max
}

void checkRun(IPluginV3* attached)
{
    auto* const runtime = capability<IPluginV3OneRuntime>(attached, PluginCapabilityType::kRUNTIME);
    PluginTensorDesc const in{Dims{2, {2, 3}}, DataType::kFLOAT, TensorFormat::kLINEAR, 0.375F};
    std::array<PluginTensorDesc, 2> out{in, in};
    out[1].dims.d[0] = 4;
    mark("shape");
    CHECK(runtime->onShapeChange(&in, 1, out.data(), 2) == 0);
    std::array<float, 6> const x{1, 2, 3, 4, 5, 6};
    std::array<float, 6> y{};
    std::array<float, 12> twice{};
    void const* inputs[]{x.data()};
    void* outputs[]{y.data(), twice.data()};
    mark("enqueue");
    CHECK(runtime->enqueue(&in, out.data(), inputs, outputs, nullptr, nullptr) == 0);
    CHECK(y[5] == 1.5F && twice[5] == 6 && twice[6] == 1); // alpha is 0.25
}

} // namespace

int main()
{
    echo::EchoCreator v2;
    v2.setPluginNamespace("acme");
    pluginkit::detail::V3AdapterCreator creator{v2};
    float const alpha{0.25F};
    PluginField const given{"alpha", &alpha, PluginFieldType::kFLOAT32, 1};
    PluginFieldCollection const fields{1, &given};

    mark("build");
    std::unique_ptr<IPluginV3> original{creator.createPlugin("layer", &fields, TensorRTPhase::kBUILD)};
    CHECK(original != nullptr);
    std::unique_ptr<IPluginV3> plugin{original->clone()};
    original.reset();
    checkBuild(plugin.get());
    mark("serialize");
    auto* const saved = capability<IPluginV3OneRuntime>(plugin.get(), PluginCapabilityType::kRUNTIME);
    PluginFieldCollection const* const state = saved->getFieldsToSerialize();
    CHECK(state != nullptr && state->nbFields == 1 && state->fields[0].length == 12);
    // What a runtime hands over later is a copy, at any alignment.
    std::array<char, 13> bytes{};
    std::memcpy(bytes.data() + 1, state->fields[0].data, 12);
    std::string const name{state->fields[0].name};
    PluginField field{name.c_str(), bytes.data() + 1, state->fields[0].type, 12};
    PluginFieldCollection const kept{1, &field};
    plugin.reset();

    mark("restore");
    CHECK(creator.createPlugin("layer", &fields, TensorRTPhase::kRUNTIME) == nullptr); // no state among them
    CHECK(creator.createPlugin("layer", nullptr, TensorRTPhase::kRUNTIME) == nullptr);
    field.length = 11;
    CHECK(creator.createPlugin("layer", &kept, TensorRTPhase::kRUNTIME) == nullptr);
    field.length = -1;
    CHECK(creator.createPlugin("layer", &kept, TensorRTPhase::kRUNTIME) == nullptr);
    field.length = 12;
    std::unique_ptr<IPluginV3> engine{creator.createPlugin("layer", &kept, TensorRTPhase::kRUNTIME)};
    CHECK(engine != nullptr);

    Context context;
    auto* const runtime = capability<IPluginV3OneRuntime>(engine.get(), PluginCapabilityType::kRUNTIME);
    mark("attach");
    std::unique_ptr<IPluginV3> first{runtime->attachToContext(&context)};
    mark("attach another");
    std::unique_ptr<IPluginV3> second{runtime->attachToContext(nullptr)};
    CHECK(first != nullptr && second != nullptr);
    checkRun(first.get());
    mark("end of contexts");
    first.reset();
    second.reset();
    mark("end of engine");
    engine.reset();

    // A builder that times a plugin enqueues it without a context.
    mark("timing");
    plugin.reset(creator.createPlugin("layer", &fields, TensorRTPhase::kBUILD));
    checkRun(plugin.get());
    plugin.reset();
    return 0;
}
