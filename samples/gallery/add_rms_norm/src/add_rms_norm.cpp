#include "add_rms_norm_signature.h"

#include <pluginkit/entry.h>
#include <pluginkit/layer.h>

namespace add_rms_norm
{

//! An IPluginV2DynamicExt with pluginkit.toml's signature and add_rms_norm.cu's kernels. Override its methods here.
class AddRmsNorm final : public pluginkit::Layer<AddRmsNorm, Signature>
{
};

} // namespace add_rms_norm

// What the library exports: getCreators and setLoggerFinder, which TensorRT's registry calls when it loads the library,
// and initAddRmsNormPlugins(logger, namespace), which registers the plugin in a process that links the library.
PLUGINKIT_PLUGINS(AddRmsNorm, pluginkit::Creator<add_rms_norm::AddRmsNorm>)
