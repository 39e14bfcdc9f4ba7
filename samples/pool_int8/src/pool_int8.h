#pragma once

#include "pool_int8_kernel.h"

#include <NvInfer.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

namespace pool_int8
{

//! The shapes of an image before and after, and how many there are in one batch.
struct PoolInt8Shape
{
    int64_t planes;
    int32_t h;
    int32_t w;
    int32_t outH;
    int32_t outW;
};

//! Max and average pooling over the last two dimensions. All dimensions before them are planes, and so are the batches
//! that stand beside the dimensions: it does not matter which of the two a batch is. Its shapes are static: what
//! configurePlugin() says of them is kept, serialized, and all that enqueue() knows.
class PoolInt8 final : public nvinfer1::IPluginV2IOExt
{
public:
    explicit PoolInt8(PoolInt8Parameters const& parameters);

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

    PoolInt8Parameters mParameters;
    //! What an INT8 step is worth in each input, then in each output; 0 is not known.
    std::array<float, 2> mScales{};
    std::string mNamespace;
    int32_t mRow{-1}; //!< of kTypes; -1 before configurePlugin()
    PoolInt8Shape mShape{};
};

//! Makes the plugin: from the attributes of a node when a network is built, from bytes when an engine is loaded.
class PoolInt8Creator final : public nvinfer1::IPluginCreator
{
public:
    PoolInt8Creator() noexcept;

    char const* getPluginName() const noexcept override;
    char const* getPluginVersion() const noexcept override;
    nvinfer1::PluginFieldCollection const* getFieldNames() noexcept override;
    nvinfer1::IPluginV2* createPlugin(char const* name,
                                      nvinfer1::PluginFieldCollection const* fields) noexcept override;
    nvinfer1::IPluginV2* deserializePlugin(char const* name, void const* data, size_t length) noexcept override;
    void setPluginNamespace(char const* pluginNamespace) noexcept override;
    char const* getPluginNamespace() const noexcept override;

private:
    std::array<nvinfer1::PluginField, 11> mFields;
    nvinfer1::PluginFieldCollection mFieldNames{};
    std::string mNamespace;
};

} // namespace pool_int8
