#pragma once

#include "@{ plugin.slug }@_kernel.h"

#include <NvInfer.h>
@% if plugin.channels %@
#include <pluginkit/device_list.h>
@% endif %@

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

namespace @{ plugin.namespace_cpp }@
{

@% if plugin.channels %@
//! The layer as TensorRT sees it: one object that is the plugin and its three capabilities. Its clones share its device
//! memory, so that copying its members is all that a clone takes.
@% else %@
//! The layer as TensorRT sees it: one object that is the plugin and its three capabilities. It holds no device memory,
//! so that copying its members is all that a clone takes.
@% endif %@
class @{ plugin.name }@ final : public nvinfer1::IPluginV3,
@% for capability in ("Core", "Build", "Runtime") %@
@{ " " * (15 + plugin.name|length) }@public nvinfer1::IPluginV3One@{ capability }@@{ "V2" if plugin.aliases and capability == "Build" }@@{ "," if not loop.last }@
@% endfor %@
{
public:
    @{ plugin.name }@(@{ plugin.name }@Parameters const& parameters, std::string const& pluginNamespace);

    //! Takes what getFieldsToSerialize() gave; false where something is missing or makes no sense.
    bool restore(nvinfer1::PluginFieldCollection const* fields) noexcept;

    // The plugin.
    nvinfer1::IPluginCapability* getCapabilityInterface(nvinfer1::PluginCapabilityType type) noexcept override;
    nvinfer1::IPluginV3* clone() noexcept override;

    // Its core: what it is called.
    char const* getPluginName() const noexcept override;
    char const* getPluginVersion() const noexcept override;
    char const* getPluginNamespace() const noexcept override;

    // What TensorRT asks when it builds an engine.
    int32_t getNbOutputs() const noexcept override;
    int32_t getOutputDataTypes(nvinfer1::DataType* outputTypes, int32_t nbOutputs, nvinfer1::DataType const* inputTypes, int32_t nbInputs) const noexcept override;
    int32_t getOutputShapes(nvinfer1::DimsExprs const* inputs, int32_t nbInputs, nvinfer1::DimsExprs const* shapeInputs, int32_t nbShapeInputs, nvinfer1::DimsExprs* outputs, int32_t nbOutputs, nvinfer1::IExprBuilder& exprBuilder) noexcept override;
    bool supportsFormatCombination(int32_t pos, nvinfer1::DynamicPluginTensorDesc const* inOut, int32_t nbInputs, int32_t nbOutputs) noexcept override;
    int32_t configurePlugin(nvinfer1::DynamicPluginTensorDesc const* in, int32_t nbInputs, nvinfer1::DynamicPluginTensorDesc const* out, int32_t nbOutputs) noexcept override;
@% if plugin.aliases %@
    int32_t getAliasedInput(int32_t outputIndex) noexcept override;
@% endif %@
    size_t getWorkspaceSize(nvinfer1::DynamicPluginTensorDesc const* inputs, int32_t nbInputs, nvinfer1::DynamicPluginTensorDesc const* outputs, int32_t nbOutputs) const noexcept override;
@% if plugin.tunable %@
    int32_t getNbTactics() noexcept override;
    int32_t getValidTactics(int32_t* tactics, int32_t nbTactics) noexcept override;
@% endif %@

    // What happens when the engine is written, loaded and run.
    nvinfer1::PluginFieldCollection const* getFieldsToSerialize() noexcept override;
    nvinfer1::IPluginV3* attachToContext(nvinfer1::IPluginResourceContext* context) noexcept override;
@% if plugin.tunable %@
    int32_t setTactic(int32_t tactic) noexcept override;
@% endif %@
    int32_t onShapeChange(nvinfer1::PluginTensorDesc const* in, int32_t nbInputs, nvinfer1::PluginTensorDesc const* out, int32_t nbOutputs) noexcept override;
    int32_t enqueue(nvinfer1::PluginTensorDesc const* inputDesc, nvinfer1::PluginTensorDesc const* outputDesc, void const* const* inputs, void* const* outputs, void* workspace, cudaStream_t stream) noexcept override;

private:
@% if plugin.channels %@
    //! Puts the scales of channels into device memory, unless they are there; false without memory for them.
    bool upload() noexcept;

@% endif %@
@% if plugin.restores_v2 %@
    //! Takes what serialize() wrote when the plugin was of the second generation.
    bool restoreV2(void const* data, size_t length) noexcept;

@% endif %@
    @{ plugin.name }@Parameters mParameters;
@% if plugin.quantized %@
    //! What an @{ plugin.quantized }@ step is worth in each input, then in each output; 0 is not known.
    std::array<float, @{ plugin.tensor_count }@> mScales{};
@% endif %@
@% if plugin.channels %@
    //! The scales of channels in device memory, for each tensor that has such.
    std::array<pluginkit::DeviceList, @{ plugin.channels|length }@> mChannelScales;
@% endif %@
    std::string mNamespace;
@% if plugin.kept_count %@
    //! What getFieldsToSerialize() answers lives here; its data are the members above.
    std::array<nvinfer1::PluginField, @{ plugin.kept_count }@> mKept;
@% endif %@
    nvinfer1::PluginFieldCollection mKeptFields{};
@% if plugin.tunable %@
    int32_t mTactic{};
@% endif %@
};

//! Makes the plugin: from the attributes of a node when a network is built, from the fields that the plugin gave when an
//! engine is loaded.
class @{ plugin.name }@Creator final : public nvinfer1::IPluginCreatorV3One
{
public:
    @{ plugin.name }@Creator() noexcept;

    char const* getPluginName() const noexcept override;
    char const* getPluginVersion() const noexcept override;
    char const* getPluginNamespace() const noexcept override;
    nvinfer1::PluginFieldCollection const* getFieldNames() noexcept override;
    nvinfer1::IPluginV3* createPlugin(char const* name, nvinfer1::PluginFieldCollection const* fields, nvinfer1::TensorRTPhase phase) noexcept override;

    //! Not TensorRT's: init@{ plugin.name }@Plugins (entry.cpp) registers a creator under another namespace by it.
    void setPluginNamespace(char const* pluginNamespace) noexcept;

private:
@% if plugin.fields %@
    std::array<nvinfer1::PluginField, @{ plugin.fields|length }@> mFields;
@% endif %@
    nvinfer1::PluginFieldCollection mFieldNames{};
    std::string mNamespace;
};

} // namespace @{ plugin.namespace_cpp }@
