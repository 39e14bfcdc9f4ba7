#include "swi_glu_signature.h"

#include <pluginkit/entry.h>
#include <pluginkit/layer.h>

namespace swi_glu
{

//! An IPluginV2DynamicExt with pluginkit.toml's signature and swi_glu.cu's kernels. Override its methods here.
class SwiGlu final : public pluginkit::Layer<SwiGlu, Signature>
{
};

} // namespace swi_glu

// What the library exports: getCreators and setLoggerFinder, which TensorRT's registry calls when it loads the library,
// and initSwiGluPlugins(logger, namespace), which registers the plugin in a process that links the library.
PLUGINKIT_PLUGINS(SwiGlu, pluginkit::Creator<swi_glu::SwiGlu>)
