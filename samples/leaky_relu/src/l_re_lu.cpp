#include "l_re_lu_signature.h"

#include <pluginkit/entry.h>
#include <pluginkit/layer.h>

namespace l_re_lu
{

//! An IPluginV2DynamicExt with pluginkit.toml's signature and l_re_lu.cu's kernels. Override its methods here.
class LReLU final : public pluginkit::Layer<LReLU, Signature>
{
};

} // namespace l_re_lu

// What the library exports: getCreators and setLoggerFinder, which TensorRT's registry calls when it loads the library,
// and initLReLUPlugins(logger, namespace), which registers the plugin in a process that links the library.
PLUGINKIT_PLUGINS(LReLU, pluginkit::Creator<l_re_lu::LReLU>)
