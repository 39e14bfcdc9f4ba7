#include "cumsum_signature.h"

#include <pluginkit/entry.h>
#include <pluginkit/layer.h>

namespace cumsum_plugin
{

//! An IPluginV2DynamicExt, made of pluginkit.toml and cumsum.cu. Each of its methods may be overridden here.
class Cumsum final : public pluginkit::Layer<Cumsum, Signature>
{
};

} // namespace cumsum_plugin

// What the library exports: getCreators and setLoggerFinder, which TensorRT's registry calls when it loads the library,
// and initCumsumPlugins(logger, namespace), which registers the plugin in a process that links the library.
PLUGINKIT_PLUGINS(Cumsum, pluginkit::Creator<cumsum_plugin::Cumsum>)
