#include "layer_norm_signature.h"

#include <pluginkit/entry.h>
#include <pluginkit/layer.h>

namespace layer_norm
{

//! An IPluginV2DynamicExt with pluginkit.toml's signature and layer_norm.cu's kernels. Override its methods here.
class LayerNorm final : public pluginkit::Layer<LayerNorm, Signature>
{
};

} // namespace layer_norm

// What the library exports: getCreators and setLoggerFinder, which TensorRT's registry calls when it loads the library,
// and initLayerNormPlugins(logger, namespace), which registers the plugin in a process that links the library.
PLUGINKIT_PLUGINS(LayerNorm, pluginkit::Creator<layer_norm::LayerNorm>)
