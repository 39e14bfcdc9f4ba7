//! A creator of acme::Scale in version 2: all that TensorRT's registries ask of a library that is loaded.
#include <NvInfer.h>
#include <pluginkit/entry.h>

namespace second
{

class ScaleCreator final : public nvinfer1::IPluginCreatorV3One
{
public:
    char const* getPluginName() const noexcept override
    {
        return "Scale";
    }
    char const* getPluginVersion() const noexcept override
    {
        return "2";
    }
    char const* getPluginNamespace() const noexcept override
    {
        return "acme";
    }
    nvinfer1::PluginFieldCollection const* getFieldNames() noexcept override
    {
        return &mFields;
    }
    nvinfer1::IPluginV3* createPlugin(char const*, nvinfer1::PluginFieldCollection const*,
                                      nvinfer1::TensorRTPhase) noexcept override
    {
        return nullptr;
    }

private:
    nvinfer1::PluginFieldCollection mFields{};
};

} // namespace second

PLUGINKIT_PLUGINS(Scale, second::ScaleCreator)
