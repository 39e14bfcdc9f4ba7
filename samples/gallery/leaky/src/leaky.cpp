#include "leaky_signature.h"

#include <pluginkit/entry.h>
#include <pluginkit/layer.h>

namespace leaky_plugin
{

//! An IPluginV2DynamicExt, made of pluginkit.toml and leaky.cu. Each of its methods may be overridden here.
class Leaky final : public pluginkit::Layer<Leaky, Signature>
{
};

} // namespace leaky_plugin

// What the library exports: getCreators and setLoggerFinder, which TensorRT's registry calls when it loads the library,
// and initLeakyPlugins(logger, namespace), which registers the plugin in a process that links the library.
PLUGINKIT_PLUGINS(Leaky, pluginkit::Creator<leaky_plugin::Leaky>)
