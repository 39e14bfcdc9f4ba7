#pragma once

#include "my_plugin_kernel.h"

#include <NvInfer.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

namespace my_plugin
{

//! The layer as TensorRT sees it: one object that is the plugin and its three capabilities. It holds no device memory,
//! so that copying its members is all that a clone takes.
class MyPlugin final : public nvinfer1::IPluginV3,
                       public nvinfer1::IPluginV3OneCore,
                       public nvinfer1::IPluginV3OneBuild,
                       public nvinfer1::IPluginV3OneRuntime
{
public:
    MyPlugin(MyPluginParameters const& parameters, std::string const& pluginNamespace);

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
    int32_t getOutputDataTypes(nvinfer1::DataType* outputTypes, int32_t nbOutputs, nvinfer1::DataType const* inputTypes,
                               int32_t nbInputs) const noexcept override;
    int32_t getOutputShapes(nvinfer1::DimsExprs const* inputs, int32_t nbInputs, nvinfer1::DimsExprs const* shapeInputs,
                            int32_t nbShapeInputs, nvinfer1::DimsExprs* outputs, int32_t nbOutputs,
                            nvinfer1::IExprBuilder& exprBuilder) noexcept override;
    bool supportsFormatCombination(int32_t pos, nvinfer1::DynamicPluginTensorDesc const* inOut, int32_t nbInputs,
                                   int32_t nbOutputs) noexcept override;
    int32_t configurePlugin(nvinfer1::DynamicPluginTensorDesc const* in, int32_t nbInputs,
                            nvinfer1::DynamicPluginTensorDesc const* out, int32_t nbOutputs) noexcept override;
    size_t getWorkspaceSize(nvinfer1::DynamicPluginTensorDesc const* inputs, int32_t nbInputs,
                            nvinfer1::DynamicPluginTensorDesc const* outputs,
                            int32_t nbOutputs) const noexcept override;

    // What happens when the engine is written, loaded and run.
    nvinfer1::PluginFieldCollection const* getFieldsToSerialize() noexcept override;
    nvinfer1::IPluginV3* attachToContext(nvinfer1::IPluginResourceContext* context) noexcept override;
    int32_t onShapeChange(nvinfer1::PluginTensorDesc const* in, int32_t nbInputs, nvinfer1::PluginTensorDesc const* out,
                          int32_t nbOutputs) noexcept override;
    int32_t enqueue(nvinfer1::PluginTensorDesc const* inputDesc, nvinfer1::PluginTensorDesc const* outputDesc,
                    void const* const* inputs, void* const* outputs, void* workspace,
                    cudaStream_t stream) noexcept override;

private:
    MyPluginParameters mParameters;
    //! What an INT8 step is worth in each input, then in each output; 0 is not known.
    std::array<float, 2> mScales{};
    std::string mNamespace;
    //! What getFieldsToSerialize() answers lives here; its data are the members above.
    std::array<nvinfer1::PluginField, 4> mKept;
    nvinfer1::PluginFieldCollection mKeptFields{};
};

//! Makes the plugin: from the attributes of a node when a network is built, from the fields that the plugin gave when
//! an engine is loaded.
class MyPluginCreator final : public nvinfer1::IPluginCreatorV3One
{
public:
    MyPluginCreator() noexcept;

    char const* getPluginName() const noexcept override;
    char const* getPluginVersion() const noexcept override;
    char const* getPluginNamespace() const noexcept override;
    nvinfer1::PluginFieldCollection const* getFieldNames() noexcept override;
    nvinfer1::IPluginV3* createPlugin(char const* name, nvinfer1::PluginFieldCollection const* fields,
                                      nvinfer1::TensorRTPhase phase) noexcept override;

    //! Not TensorRT's: initMyPluginPlugins (entry.cpp) registers a creator under another namespace by it.
    void setPluginNamespace(char const* pluginNamespace) noexcept;

private:
    std::array<nvinfer1::PluginField, 3> mFields;
    nvinfer1::PluginFieldCollection mFieldNames{};
    std::string mNamespace;
};

} // namespace my_plugin
