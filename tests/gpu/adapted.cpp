// A V2 plugin as hosts see it that take V3 alone: through pluginkit's adapter.

#include "planted_signature.h"

#include <pluginkit/entry.h>
#include <pluginkit/layer.h>

namespace planted_plugin
{

class Planted final : public pluginkit::DynamicLayer<Planted, Signature>
{
};

} // namespace planted_plugin

namespace
{

class Adapted final : public nvinfer1::IPluginCreatorV3One
{
public:
    nvinfer1::IPluginV3* createPlugin(nvinfer1::AsciiChar const* name, nvinfer1::PluginFieldCollection const* fields,
                                      nvinfer1::TensorRTPhase phase) noexcept override
    {
        return mAdapter.createPlugin(name, fields, phase);
    }

    nvinfer1::PluginFieldCollection const* getFieldNames() noexcept override
    {
        return mAdapter.getFieldNames();
    }

    nvinfer1::AsciiChar const* getPluginName() const noexcept override
    {
        return mAdapter.getPluginName();
    }

    nvinfer1::AsciiChar const* getPluginVersion() const noexcept override
    {
        return mAdapter.getPluginVersion();
    }

    nvinfer1::AsciiChar const* getPluginNamespace() const noexcept override
    {
        return mAdapter.getPluginNamespace();
    }

private:
    pluginkit::Creator<planted_plugin::Planted> mPlain;
    pluginkit::detail::V3AdapterCreator mAdapter{mPlain};
};

} // namespace

PLUGINKIT_PLUGINS(Planted, Adapted)
