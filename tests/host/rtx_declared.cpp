// pluginkit/rtx.h with classes that stand in for NVIDIA's: prints the model that the parser is given, in hexadecimal
// digits, then what wiring and wrong calls give, a line each.
#include "NvInfer.h"

#include "pluginkit/rtx.h"

#include <cstdio>
#include <functional>

namespace
{

using namespace nvinfer1;
using pluginkit::rtx::Declaration;

//! Two outputs; "refuse" as the field "mode" makes no plugin.
class Build : public IPluginV3, public IPluginV3OneBuild
{
public:
    InterfaceInfo getInterfaceInfo() const noexcept override
    {
        return IPluginV3OneBuild::getInterfaceInfo();
    }
    IPluginCapability* getCapabilityInterface(PluginCapabilityType) noexcept override
    {
        return static_cast<IPluginV3OneBuild*>(this);
    }
    IPluginV3* clone() noexcept override
    {
        return nullptr;
    }
    int32_t configurePlugin(DynamicPluginTensorDesc const*, int32_t, DynamicPluginTensorDesc const*,
                            int32_t) noexcept override
    {
        return 0;
    }
    int32_t getOutputDataTypes(DataType*, int32_t, DataType const*, int32_t) const noexcept override
    {
        return 0;
    }
    int32_t getOutputShapes(DimsExprs const*, int32_t, DimsExprs const*, int32_t, DimsExprs*, int32_t,
                            IExprBuilder&) noexcept override
    {
        return 0;
    }
    bool supportsFormatCombination(int32_t, DynamicPluginTensorDesc const*, int32_t, int32_t) noexcept override
    {
        return true;
    }
    int32_t getNbOutputs() const noexcept override
    {
        return 2;
    }
};

class Creator : public IPluginCreatorV3One
{
public:
    IPluginV3* createPlugin(AsciiChar const*, PluginFieldCollection const* fields, TensorRTPhase) noexcept override
    {
        for (int32_t i = 0; i < fields->nbFields; ++i)
        {
            auto const& field = fields->fields[i];
            std::printf("field %s %d %d\n", field.name, static_cast<int>(field.type), field.length);
            if (field.type == PluginFieldType::kCHAR && std::string{static_cast<char const*>(field.data)} == "refuse")
            {
                return nullptr;
            }
        }
        return new Build;
    }
    PluginFieldCollection const* getFieldNames() noexcept override
    {
        return nullptr;
    }
    AsciiChar const* getPluginName() const noexcept override
    {
        return "Two";
    }
    AsciiChar const* getPluginVersion() const noexcept override
    {
        return "3";
    }
    AsciiChar const* getPluginNamespace() const noexcept override
    {
        return "acme";
    }
};

struct Tensor
{
    DataType type;
    Dims dims;

    DataType getType() const
    {
        return type;
    }
    Dims getDimensions() const
    {
        return dims;
    }
};

struct Layer
{
    std::string name;
    std::vector<Tensor*> inputs;
    std::vector<Tensor> outputs;

    char const* getName() const
    {
        return name.c_str();
    }
    void setInput(int32_t index, Tensor& tensor)
    {
        inputs.at(static_cast<std::size_t>(index)) = &tensor;
    }
    int32_t getNbOutputs() const
    {
        return static_cast<int32_t>(outputs.size());
    }
    Tensor* getOutput(int32_t index)
    {
        return &outputs.at(static_cast<std::size_t>(index));
    }
};

struct Registry
{
    Creator creator;

    IPluginCreatorInterface* getCreator(char const* name, char const* version, char const* space)
    {
        return std::string{name} == "Two" && std::string{version} == "3" && std::string{space} == "acme" ? &creator
                                                                                                         : nullptr;
    }
};

struct Builder
{
    Registry registry;

    Registry& getPluginRegistry()
    {
        return registry;
    }
};

struct Network
{
    Builder builder;
    std::vector<Layer> layers;

    Builder& getBuilder()
    {
        return builder;
    }
    int32_t getNbLayers() const
    {
        return static_cast<int32_t>(layers.size());
    }
    Layer* getLayer(int32_t index)
    {
        return &layers.at(static_cast<std::size_t>(index));
    }
    Tensor* getInput(int32_t)
    {
        return nullptr;
    }
};

struct Error
{
    char const* desc() const
    {
        return "no such node";
    }
};

struct Parser
{
    Network* network;
    bool refuses{};

    bool parse(void const* data, std::size_t size)
    {
        for (std::size_t i = 0; i < size; ++i)
        {
            std::printf("%02x", static_cast<unsigned char const*>(data)[i]);
        }
        std::printf("\n");
        network->layers = {{"a:0", {}, {}}, {"a", {nullptr, nullptr}, {Tensor{}, Tensor{}}}};
        return !refuses;
    }
    int32_t getNbErrors() const
    {
        return 1;
    }
    Error const* getError(int32_t) const
    {
        static constexpr Error error{};
        return &error;
    }
};

void refused(std::function<void()> const& call)
{
    try
    {
        call();
        std::printf("not refused\n");
    }
    catch (std::exception const& error)
    {
        std::printf("%s\n", error.what());
    }
}

} // namespace

int main()
{
    Network network{};
    Parser parser{&network};
    Declaration const declared{"a",
                               "acme::Two",
                               {{DataType::kHALF, {-1, 300}}},
                               {{"alpha", 0.5F},
                                {"count", -3},
                                {"axes", std::vector<int32_t>{1, 200000}},
                                {"weights", std::vector<float>{1.5F, -2.0F}},
                                {"mode", "nearest"}},
                               "3",
                               {{DataType::kINT64, {2}}}};
    auto const layers = pluginkit::rtx::plugins(network, parser, {declared});
    Tensor x{DataType::kHALF, {2, {7, 300}}};
    Tensor size{DataType::kINT64, {1, {2}}};
    Tensor single{DataType::kFLOAT, {2, {7, 300}}};
    Tensor flat{DataType::kHALF, {1, {300}}};
    Tensor wide{DataType::kHALF, {2, {7, 301}}};
    auto const& layer = layers.at("a");
    refused([&] { layer({&x}); });
    refused([&] { layer({&single, &size}); });
    refused([&] { layer({&flat, &size}); });
    refused([&] { layer({&wide, &size}); });
    auto const untouched = layer.layer->inputs[0] == nullptr;
    auto const outputs = layer({&x, &size});
    std::printf("wired %d %d %zu\n", untouched, layer.layer->inputs == std::vector<Tensor*>{&x, &size}, outputs.size());
    refused([&] { pluginkit::rtx::plugins(network, parser, {declared}); });
    network.layers.clear();
    refused([&] { pluginkit::rtx::plugins(network, parser, {declared, declared}); });
    refused([&] { pluginkit::rtx::plugins(network, parser, {{"a", "Two", {}}}); });
    refused([&] { pluginkit::rtx::plugins(network, parser, {{"a", "acme::Two", {}, {{"mode", "refuse"}}, "3"}}); });
    refused([&] { pluginkit::rtx::plugins(network, parser, {{"a", "acme::Two", {{DataType::kBOOL, {1}}}, {}, "3"}}); });
    parser.refuses = true;
    refused([&] { pluginkit::rtx::plugins(network, parser, {{"a", "acme::Two", {}, {}, "3"}}); });
    for (auto const type : {DataType::kFLOAT, DataType::kBF16, DataType::kINT8, DataType::kINT32, DataType::kFP8})
    {
        auto const bytes = pluginkit::onnx::ones("t", type, {2, -1});
        for (auto const byte : bytes)
        {
            std::printf("%02x", static_cast<unsigned char>(byte));
        }
        std::printf("\n");
    }
    return 0;
}
