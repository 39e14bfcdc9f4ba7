//! Plugins in networks that are made by TensorRT-RTX's network API, which has no addPluginV3:
//!
//!     nvonnxparser::IParser& parser = *nvonnxparser::createParser(network, logger);
//!     auto layers = pluginkit::rtx::plugins(network, parser,
//!         {{"act", "acme::MyPlugin", {{nvinfer1::DataType::kFLOAT, {-1, 64}}}, {{"alpha", 0.5F}}}});
//!     nvinfer1::ITensor* y = layers.at("act")({x})[0];
//!
//! RTX's ONNX parser makes plugin layers, and takes only a network without layers: so all plugins are declared in one
//! call, before the first layer, and wired later. The parser must live as long as the network. Include <NvInfer.h> and
//! <NvOnnxParser.h> of TensorRT-RTX before this header. docs/rtx.md says more.
#pragma once

#include "NvInfer.h"
#include "pluginkit/onnx_bytes.h"

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace pluginkit
{
namespace rtx
{

//! A tensor that a plugin takes: its type, and its dimensions, -1 where they are open. The plugin is asked for its
//! output shapes once with 1 in the place of each -1, when it is declared.
struct Input
{
    nvinfer1::DataType type;
    std::vector<int64_t> dims;
};

//! The value of a creator's field: a number, a list of numbers, or a text.
class Field
{
public:
    Field(std::string fieldName, float value) : name{std::move(fieldName)}, floats{value} {}
    Field(std::string fieldName, int32_t value)
        : name{std::move(fieldName)}, type{nvinfer1::PluginFieldType::kINT32}, integers{value}
    {
    }
    Field(std::string fieldName, std::vector<float> values) : name{std::move(fieldName)}, list{true}, floats{values} {}
    Field(std::string fieldName, std::vector<int32_t> values)
        : name{std::move(fieldName)}, type{nvinfer1::PluginFieldType::kINT32}, list{true}, integers{values}
    {
    }
    Field(std::string fieldName, std::string value)
        : name{std::move(fieldName)}, type{nvinfer1::PluginFieldType::kCHAR}, text{std::move(value)}
    {
    }
    Field(std::string fieldName, char const* value) : Field{std::move(fieldName), std::string{value}} {}

    //! As NVIDIA's ONNX parser gives it to createPlugin: a text's length counts its zero byte.
    nvinfer1::PluginField asParsed() const
    {
        switch (type)
        {
        case nvinfer1::PluginFieldType::kCHAR:
            return {name.c_str(), text.c_str(), type, static_cast<int32_t>(text.size()) + 1};
        case nvinfer1::PluginFieldType::kINT32:
            return {name.c_str(), integers.data(), type, static_cast<int32_t>(integers.size())};
        default:
            return {name.c_str(), floats.data(), type, static_cast<int32_t>(floats.size())};
        }
    }

    //! As an AttributeProto of a node.
    std::string asAttribute() const
    {
        switch (type)
        {
        case nvinfer1::PluginFieldType::kCHAR:
            return onnx::attribute(name, text);
        case nvinfer1::PluginFieldType::kINT32:
            return list ? onnx::attribute(name, integers) : onnx::attribute(name, integers[0]);
        default:
            return list ? onnx::attribute(name, floats) : onnx::attribute(name, floats[0]);
        }
    }

    std::string name;

private:
    nvinfer1::PluginFieldType type{nvinfer1::PluginFieldType::kFLOAT32};
    bool list{};
    std::vector<float> floats;
    std::vector<int32_t> integers;
    std::string text;
};

//! A plugin layer of a network that has not been begun. `plugin` is `namespace::Name`, or the name alone; `shapeInputs`
//! are tensors of sizes that it takes behind the others, as addPluginV3's.
struct Declaration
{
    std::string layer;
    std::string plugin;
    std::vector<Input> inputs;
    std::vector<Field> fields{};
    std::string version{"1"};
    std::vector<Input> shapeInputs{};
};

//! A plugin layer that waits to be wired. `Layer` is nvinfer1::ILayer, `Tensor` nvinfer1::ITensor.
template <typename Layer, typename Tensor>
class DeclaredLayer
{
public:
    DeclaredLayer(Declaration const& declaration, Layer& pluginLayer)
        : layer{&pluginLayer}, name{declaration.layer}, wanted{declaration.inputs}
    {
        wanted.insert(wanted.end(), declaration.shapeInputs.begin(), declaration.shapeInputs.end());
    }

    //! Wires the layer: its inputs, then its shape inputs. Returns its outputs.
    //! Throws std::invalid_argument where their number, a type, a rank or a fixed dimension is not what was declared;
    //! then nothing is wired.
    std::vector<Tensor*> operator()(std::vector<Tensor*> const& tensors) const
    {
        if (tensors.size() != wanted.size())
        {
            throw std::invalid_argument(name + " takes " + std::to_string(wanted.size()) + " inputs, and is given " +
                                        std::to_string(tensors.size()));
        }
        for (std::size_t i = 0; i < wanted.size(); ++i)
        {
            check(i, *tensors[i]);
        }
        for (std::size_t i = 0; i < wanted.size(); ++i)
        {
            layer->setInput(static_cast<int32_t>(i), *tensors[i]);
        }
        std::vector<Tensor*> outputs;
        for (int32_t i = 0; i < layer->getNbOutputs(); ++i)
        {
            outputs.push_back(layer->getOutput(i));
        }
        return outputs;
    }

    //! NVIDIA's layer, an nvinfer1::IPluginV3Layer.
    Layer* layer;

private:
    void check(std::size_t index, Tensor& tensor) const
    {
        auto const where = name + ", input " + std::to_string(index) + ": ";
        auto const& declared = wanted[index];
        if (tensor.getType() != declared.type)
        {
            throw std::invalid_argument(where + "its nvinfer1::DataType is " +
                                        std::to_string(static_cast<int32_t>(tensor.getType())) + ", declared is " +
                                        std::to_string(static_cast<int32_t>(declared.type)));
        }
        auto const dims = tensor.getDimensions();
        if (dims.nbDims != static_cast<int32_t>(declared.dims.size()))
        {
            throw std::invalid_argument(where + "its rank is " + std::to_string(dims.nbDims) + ", declared is " +
                                        std::to_string(declared.dims.size()));
        }
        for (std::size_t i = 0; i < declared.dims.size(); ++i)
        {
            if (dims.d[i] != -1 && declared.dims[i] != -1 && dims.d[i] != declared.dims[i])
            {
                throw std::invalid_argument(where + "dimension " + std::to_string(i) + " is " +
                                            std::to_string(dims.d[i]) + ", declared is " +
                                            std::to_string(declared.dims[i]));
            }
        }
    }

    std::string name;
    std::vector<Input> wanted;
};

namespace detail
{

inline std::string nameOf(Declaration const& declaration)
{
    auto const colons = declaration.plugin.rfind("::");
    return colons == std::string::npos ? declaration.plugin : declaration.plugin.substr(colons + 2);
}

inline std::string namespaceOf(Declaration const& declaration)
{
    auto const colons = declaration.plugin.rfind("::");
    return colons == std::string::npos ? std::string{} : declaration.plugin.substr(0, colons);
}

//! The number of outputs: the creator is asked to make the plugin once more than RTX does.
template <typename Registry>
int32_t outputsOf(Declaration const& declaration, Registry& registry)
{
    using namespace nvinfer1;
    auto* const found =
        registry.getCreator(nameOf(declaration).c_str(), declaration.version.c_str(), namespaceOf(declaration).c_str());
    if (found == nullptr || std::string{found->getInterfaceInfo().kind} != "PLUGIN CREATOR_V3ONE")
    {
        throw std::invalid_argument(declaration.layer + ": the registry has no V3 creator of " + declaration.plugin +
                                    " version " + declaration.version);
    }
    std::vector<PluginField> fields;
    for (auto const& field : declaration.fields)
    {
        fields.push_back(field.asParsed());
    }
    PluginFieldCollection const collection{static_cast<int32_t>(fields.size()), fields.data()};
    std::unique_ptr<IPluginV3> const plugin{static_cast<IPluginCreatorV3One*>(found)->createPlugin(
        declaration.layer.c_str(), &collection, TensorRTPhase::kBUILD)};
    auto* const build = plugin ? plugin->getCapabilityInterface(PluginCapabilityType::kBUILD) : nullptr;
    if (build == nullptr)
    {
        throw std::runtime_error(declaration.layer + ": the creator of " + declaration.plugin +
                                 " makes no plugin of these fields");
    }
    return static_cast<IPluginV3OneBuild*>(build)->getNbOutputs();
}

//! A node, and the initializers that stand in for its inputs.
inline void addNode(Declaration const& declaration, int32_t outputs, onnx::Message& graph)
{
    onnx::Message node;
    std::vector<int32_t> shapeInputs;
    auto inputs = declaration.inputs;
    inputs.insert(inputs.end(), declaration.shapeInputs.begin(), declaration.shapeInputs.end());
    for (std::size_t i = 0; i < inputs.size(); ++i)
    {
        auto const name = declaration.layer + ":" + std::to_string(i);
        node.add(onnx::kNODE_INPUT, name);
        graph.add(onnx::kGRAPH_INITIALIZER, onnx::ones(name, inputs[i].type, inputs[i].dims));
        if (i >= declaration.inputs.size())
        {
            shapeInputs.push_back(static_cast<int32_t>(i));
        }
    }
    for (int32_t i = 0; i < outputs; ++i)
    {
        node.add(onnx::kNODE_OUTPUT, declaration.layer + ":output:" + std::to_string(i));
    }
    node.add(onnx::kNODE_NAME, declaration.layer);
    node.add(onnx::kNODE_OP_TYPE, nameOf(declaration));
    node.add(onnx::kNODE_ATTRIBUTE, onnx::attribute("plugin_namespace", namespaceOf(declaration)));
    node.add(onnx::kNODE_ATTRIBUTE, onnx::attribute("plugin_version", declaration.version));
    if (!shapeInputs.empty())
    {
        node.add(onnx::kNODE_ATTRIBUTE, onnx::attribute("tensorrt_plugin_shape_input_indices", shapeInputs));
    }
    for (auto const& field : declaration.fields)
    {
        node.add(onnx::kNODE_ATTRIBUTE, field.asAttribute());
    }
    node.add(onnx::kNODE_DOMAIN, onnx::kDOMAIN);
    graph.add(onnx::kGRAPH_NODE, node.bytes());
}

} // namespace detail

//! Makes plugin layers in an empty network, each to be wired by calling it.
//!
//! The plugins' libraries are in the registry of the network's builder before. Throws std::invalid_argument where the
//! network has layers, two layers have one name, or the registry has no such creator; std::runtime_error where the
//! creator or RTX's parser refuses. Then neither network nor parser can be used any more, and both must be kept until
//! the network is destroyed.
template <typename Network, typename Parser>
auto plugins(Network& network, Parser& parser, std::vector<Declaration> const& declarations)
{
    using Layer = std::remove_pointer_t<decltype(network.getLayer(0))>;
    using Tensor = std::remove_pointer_t<decltype(network.getInput(0))>;
    if (network.getNbLayers() != 0)
    {
        throw std::invalid_argument("The network has layers already: declare all plugins in one call, before the "
                                    "first layer, and wire them later");
    }
    onnx::Message graph;
    std::set<std::string> names;
    for (auto const& declaration : declarations)
    {
        if (!names.insert(declaration.layer).second)
        {
            throw std::invalid_argument("Several plugin layers are called " + declaration.layer);
        }
        detail::addNode(declaration, detail::outputsOf(declaration, network.getBuilder().getPluginRegistry()), graph);
    }
    auto const model = onnx::model(graph);
    if (!parser.parse(model.data(), model.size()))
    {
        std::string reasons;
        for (int32_t i = 0; i < parser.getNbErrors(); ++i)
        {
            reasons += std::string{"\n"} + parser.getError(i)->desc();
        }
        throw std::runtime_error("RTX's parser refuses the declared plugins:" + reasons);
    }
    std::map<std::string, Layer*> made;
    for (int32_t i = 0; i < network.getNbLayers(); ++i)
    {
        made[network.getLayer(i)->getName()] = network.getLayer(i);
    }
    std::map<std::string, DeclaredLayer<Layer, Tensor>> layers;
    for (auto const& declaration : declarations)
    {
        layers.emplace(declaration.layer, DeclaredLayer<Layer, Tensor>{declaration, *made.at(declaration.layer)});
    }
    return layers;
}

} // namespace rtx
} // namespace pluginkit
