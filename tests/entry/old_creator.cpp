//! A creator whose plugins are IPluginV2Ext, which V3 can't carry: TensorRT takes it, TensorRT-RTX must get nothing.
#include <NvInfer.h>
#include <pluginkit/entry.h>

namespace old
{

class Old final : public nvinfer1::IPluginV2Ext
{
public:
    char const* getPluginType() const noexcept override
    {
        return "Old";
    }
    char const* getPluginVersion() const noexcept override
    {
        return "1";
    }
    int32_t getNbOutputs() const noexcept override
    {
        return 1;
    }
    nvinfer1::Dims getOutputDimensions(int32_t, nvinfer1::Dims const* inputs, int32_t) noexcept override
    {
        return inputs[0];
    }
    int32_t initialize() noexcept override
    {
        return 0;
    }
    void terminate() noexcept override {}
    size_t getWorkspaceSize(int32_t) const noexcept override
    {
        return 0;
    }
    int32_t enqueue(int32_t, void const* const*, void* const*, void*, cudaStream_t) noexcept override
    {
        return 0;
    }
    size_t getSerializationSize() const noexcept override
    {
        return 0;
    }
    void serialize(void*) const noexcept override {}
    void destroy() noexcept override
    {
        delete this;
    }
    void setPluginNamespace(char const*) noexcept override {}
    char const* getPluginNamespace() const noexcept override
    {
        return "";
    }
    nvinfer1::DataType getOutputDataType(int32_t, nvinfer1::DataType const* types, int32_t) const noexcept override
    {
        return types[0];
    }
#if NV_TENSORRT_MAJOR < 11
    bool isOutputBroadcastAcrossBatch(int32_t, bool const*, int32_t) const noexcept override
    {
        return false;
    }
    bool canBroadcastInputAcrossBatch(int32_t) const noexcept override
    {
        return false;
    }
#endif
    nvinfer1::IPluginV2Ext* clone() const noexcept override
    {
        return new Old;
    }
    void configurePlugin(nvinfer1::Dims const*, int32_t, nvinfer1::Dims const*, int32_t, nvinfer1::DataType const*,
                         nvinfer1::DataType const*, bool const*, bool const*, nvinfer1::PluginFormat,
                         int32_t) noexcept override
    {
    }
    bool supportsFormat(nvinfer1::DataType, nvinfer1::PluginFormat) const noexcept override
    {
        return true;
    }
};

class OldCreator final : public nvinfer1::IPluginCreator
{
public:
    char const* getPluginName() const noexcept override
    {
        return "Old";
    }
    char const* getPluginVersion() const noexcept override
    {
        return "1";
    }
    nvinfer1::PluginFieldCollection const* getFieldNames() noexcept override
    {
        return &mFields;
    }
    nvinfer1::IPluginV2* createPlugin(char const*, nvinfer1::PluginFieldCollection const*) noexcept override
    {
        return new Old;
    }
    nvinfer1::IPluginV2* deserializePlugin(char const*, void const*, size_t) noexcept override
    {
        return new Old;
    }
    void setPluginNamespace(char const*) noexcept override {}
    char const* getPluginNamespace() const noexcept override
    {
        return nullptr; // as careless creators answer before anybody has set one
    }

private:
    nvinfer1::PluginFieldCollection mFields{};
};

} // namespace old

PLUGINKIT_PLUGINS(Old, old::OldCreator)
