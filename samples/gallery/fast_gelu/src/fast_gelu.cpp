#include "fast_gelu_signature.h"

#include <pluginkit/entry.h>
#include <pluginkit/layer.h>

namespace fast_gelu
{

//! An IPluginV2DynamicExt with pluginkit.toml's signature and fast_gelu.cu's kernels. Override its methods here.
class FastGelu final : public pluginkit::Layer<FastGelu, Signature>
{
};

} // namespace fast_gelu

// What the library exports: getCreators and setLoggerFinder, which TensorRT's registry calls when it loads the library,
// and initFastGeluPlugins(logger, namespace), which registers the plugin in a process that links the library.
PLUGINKIT_PLUGINS(FastGelu, pluginkit::Creator<fast_gelu::FastGelu>)
