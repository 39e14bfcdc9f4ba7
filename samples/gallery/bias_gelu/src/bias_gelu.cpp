#include "bias_gelu_signature.h"

#include <pluginkit/entry.h>
#include <pluginkit/layer.h>

namespace bias_gelu
{

//! An IPluginV2DynamicExt with pluginkit.toml's signature and bias_gelu.cu's kernels. Override its methods here.
class BiasGelu final : public pluginkit::Layer<BiasGelu, Signature>
{
};

} // namespace bias_gelu

// What the library exports: getCreators and setLoggerFinder, which TensorRT's registry calls when it loads the library,
// and initBiasGeluPlugins(logger, namespace), which registers the plugin in a process that links the library.
PLUGINKIT_PLUGINS(BiasGelu, pluginkit::Creator<bias_gelu::BiasGelu>)
