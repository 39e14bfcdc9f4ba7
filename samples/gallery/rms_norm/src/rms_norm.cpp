#include "rms_norm_signature.h"

#include <pluginkit/entry.h>
#include <pluginkit/layer.h>

namespace rms_norm
{

//! An IPluginV2DynamicExt with pluginkit.toml's signature and rms_norm.cu's kernels. Override its methods here.
class RmsNorm final : public pluginkit::Layer<RmsNorm, Signature>
{
};

} // namespace rms_norm

// What the library exports: getCreators and setLoggerFinder, which TensorRT's registry calls when it loads the library,
// and initRmsNormPlugins(logger, namespace), which registers the plugin in a process that links the library.
PLUGINKIT_PLUGINS(RmsNorm, pluginkit::Creator<rms_norm::RmsNorm>)
