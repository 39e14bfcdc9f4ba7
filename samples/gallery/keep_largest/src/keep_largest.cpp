#include "keep_largest_signature.h"

#include <pluginkit/entry.h>
#include <pluginkit/layer.h>

namespace keep_largest
{

//! An IPluginV2DynamicExt, made of pluginkit.toml and keep_largest.cu. Each of its methods may be overridden here.
class KeepLargest final : public pluginkit::Layer<KeepLargest, Signature>
{
};

} // namespace keep_largest

// What the library exports: getCreators and setLoggerFinder, which TensorRT's registry calls when it loads the library,
// and initKeepLargestPlugins(logger, namespace), which registers the plugin in a process that links the library.
PLUGINKIT_PLUGINS(KeepLargest, pluginkit::Creator<keep_largest::KeepLargest>)
