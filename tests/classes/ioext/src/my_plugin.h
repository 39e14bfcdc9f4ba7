#pragma once

#include "my_plugin_kernel.h"

#include <NvInfer.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

namespace my_plugin
{

//! The layer as TensorRT sees it. Its shapes are static: what configurePlugin() says of them is kept, serialized, and
//! is all that enqueue() knows. It holds no device memory, so that copying its members is all that a clone takes.
class MyPlugin final : public nvinfer1::IPluginV2IOExt
{
public:
    explicit MyPlugin(MyPluginParameters const& parameters);

    //! The plugin that serialize() wrote down; false where the bytes are not from there.
    bool restore(void const* data, size_t length) noexcept;

    // What it is called, and how it is copied.
    char const* getPluginType() const noexcept override;
    char const* getPluginVersion() const noexcept override;
    void setPluginNamespace(char const* pluginNamespace) noexcept override;
    char const* getPluginNamespace() const noexcept override;
    nvinfer1::IPluginV2IOExt* clone() const noexcept override;
    void destroy() noexcept override;

    // What TensorRT asks when it builds an engine.
    int32_t getNbOutputs() const noexcept override;
    nvinfer1::DataType getOutputDataType(int32_t index, nvinfer1::DataType const* inputTypes,
                                         int32_t nbInputs) const noexcept override;
    nvinfer1::Dims getOutputDimensions(int32_t index, nvinfer1::Dims const* inputs, int32_t nbInputs) noexcept override;
    bool supportsFormatCombination(int32_t pos, nvinfer1::PluginTensorDesc const* inOut, int32_t nbInputs,
                                   int32_t nbOutputs) const noexcept override;
    void configurePlugin(nvinfer1::PluginTensorDesc const* in, int32_t nbInputs, nvinfer1::PluginTensorDesc const* out,
                         int32_t nbOutputs) noexcept override;
    size_t getWorkspaceSize(int32_t maxBatchSize) const noexcept override;
    size_t getSerializationSize() const noexcept override;
    void serialize(void* buffer) const noexcept override;
#if NV_TENSORRT_MAJOR < 11
    // TensorRT 10 asks for these; nothing has been broadcast across a batch since 10.0, and 11 has dropped them.
    bool isOutputBroadcastAcrossBatch(int32_t index, bool const* inputIsBroadcast,
                                      int32_t nbInputs) const noexcept override;
    bool canBroadcastInputAcrossBatch(int32_t index) const noexcept override;
#endif

    // What happens when the engine runs.
    int32_t initialize() noexcept override;
    int32_t enqueue(int32_t batchSize, void const* const* inputs, void* const* outputs, void* workspace,
                    cudaStream_t stream) noexcept override;
    void terminate() noexcept override;

private:
    // The overload that IPluginV2IOExt has closed.
    using nvinfer1::IPluginV2Ext::configurePlugin;

    MyPluginParameters mParameters;
    //! What an INT8 step is worth in each input, then in each output; 0 is not known.
    std::array<float, 2> mScales{};
    std::string mNamespace;
    //! Which row of kTypes was chosen, and how many elements each tensor has: the inputs, then the outputs. A batch
    //! that is no dimension is not counted.
    int32_t mRow{-1};
    std::array<int64_t, 2> mCounts{};
};

//! Makes the plugin: from the attributes of a node when a network is built, from bytes when an engine is loaded.
class MyPluginCreator final : public nvinfer1::IPluginCreator
{
public:
    MyPluginCreator() noexcept;

    char const* getPluginName() const noexcept override;
    char const* getPluginVersion() const noexcept override;
    nvinfer1::PluginFieldCollection const* getFieldNames() noexcept override;
    nvinfer1::IPluginV2* createPlugin(char const* name,
                                      nvinfer1::PluginFieldCollection const* fields) noexcept override;
    nvinfer1::IPluginV2* deserializePlugin(char const* name, void const* data, size_t length) noexcept override;
    void setPluginNamespace(char const* pluginNamespace) noexcept override;
    char const* getPluginNamespace() const noexcept override;

private:
    std::array<nvinfer1::PluginField, 3> mFields;
    nvinfer1::PluginFieldCollection mFieldNames{};
    std::string mNamespace;
};

} // namespace my_plugin
