#include "rim_signature.h"

#include <pluginkit/entry.h>
#include <pluginkit/layer.h>

namespace rim_plugin
{

//! An IPluginV2DynamicExt, made of pluginkit.toml and rim.cu. Each of its methods may be overridden here.
class Rim final : public pluginkit::Layer<Rim, Signature>
{
};

} // namespace rim_plugin

// What the library exports: getCreators and setLoggerFinder, which TensorRT's registry calls when it loads the library,
// and initRimPlugins(logger, namespace), which registers the plugin in a process that links the library.
PLUGINKIT_PLUGINS(Rim, pluginkit::Creator<rim_plugin::Rim>)
