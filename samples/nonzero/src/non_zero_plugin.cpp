#include "non_zero_plugin_signature.h"

#include <pluginkit/entry.h>
#include <pluginkit/layer.h>

namespace non_zero_plugin
{

//! An IPluginV3 with pluginkit.toml's signature and non_zero_plugin.cu's kernels. Override its methods here.
class NonZeroPlugin final : public pluginkit::Layer<NonZeroPlugin, Signature>
{
};

} // namespace non_zero_plugin

// What the library exports: getCreators and setLoggerFinder, which TensorRT's registry calls when it loads the library,
// and initNonZeroPluginPlugins(logger, namespace), which registers the plugin in a process that links the library.
PLUGINKIT_PLUGINS(NonZeroPlugin, pluginkit::Creator<non_zero_plugin::NonZeroPlugin>)
