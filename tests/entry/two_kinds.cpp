//! The same name as a creator of V2 and as one of V3: what no library of pluginkit's gives a registry.
#include "echo.h"
#include <pluginkit/entry.h>

namespace echo
{

class EchoV3Creator final : public nvinfer1::IPluginCreatorV3One
{
public:
    char const* getPluginName() const noexcept override
    {
        return "Echo";
    }
    char const* getPluginVersion() const noexcept override
    {
        return "1";
    }
    char const* getPluginNamespace() const noexcept override
    {
        return mNamespace.c_str();
    }
    void setPluginNamespace(char const* pluginNamespace)
    {
        mNamespace = pluginNamespace;
    }
    nvinfer1::PluginFieldCollection const* getFieldNames() noexcept override
    {
        return &mFields;
    }
    nvinfer1::IPluginV3* createPlugin(char const* /*name*/, nvinfer1::PluginFieldCollection const* /*fields*/,
                                      nvinfer1::TensorRTPhase /*phase*/) noexcept override
    {
        return nullptr;
    }

private:
    std::string mNamespace;
    nvinfer1::PluginFieldCollection mFields{};
};

} // namespace echo

#ifdef V3_LAST
PLUGINKIT_PLUGINS(Echo, echo::EchoCreator, echo::EchoV3Creator)
#else
PLUGINKIT_PLUGINS(Echo, echo::EchoV3Creator, echo::EchoCreator)
#endif
