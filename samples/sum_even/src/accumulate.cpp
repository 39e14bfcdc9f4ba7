#include "accumulate_signature.h"

#include <pluginkit/entry.h>
#include <pluginkit/layer.h>

namespace accumulate_plugin
{

//! An IPluginV3 with pluginkit.toml's signature and accumulate.cu's kernels. Override its methods here.
class Accumulate final : public pluginkit::Layer<Accumulate, Signature>
{
};

} // namespace accumulate_plugin

// What the library exports: getCreators and setLoggerFinder, which TensorRT's registry calls when it loads the library,
// and initAccumulatePlugins(logger, namespace), which registers the plugin in a process that links the library.
PLUGINKIT_PLUGINS(Accumulate, pluginkit::Creator<accumulate_plugin::Accumulate>)
