//! Makes the plugin: from the attributes of a node when a network is built, from bytes when an engine is loaded.
class @{ plugin.name }@Creator final : public nvinfer1::IPluginCreator
{
public:
    @{ plugin.name }@Creator() noexcept;

    char const* getPluginName() const noexcept override;
    char const* getPluginVersion() const noexcept override;
    nvinfer1::PluginFieldCollection const* getFieldNames() noexcept override;
    nvinfer1::IPluginV2* createPlugin(char const* name, nvinfer1::PluginFieldCollection const* fields) noexcept override;
    nvinfer1::IPluginV2* deserializePlugin(char const* name, void const* data, size_t length) noexcept override;
    void setPluginNamespace(char const* pluginNamespace) noexcept override;
    char const* getPluginNamespace() const noexcept override;

private:
@% if plugin.fields %@
    std::array<nvinfer1::PluginField, @{ plugin.fields|length }@> mFields;
@% endif %@
    nvinfer1::PluginFieldCollection mFieldNames{};
    std::string mNamespace;
};

