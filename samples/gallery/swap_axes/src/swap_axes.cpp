#include "swap_axes_signature.h"

#include <pluginkit/entry.h>
#include <pluginkit/layer.h>

namespace swap_axes
{

//! An IPluginV2DynamicExt, made of pluginkit.toml and swap_axes.cu. Each of its methods may be overridden here.
class SwapAxes final : public pluginkit::Layer<SwapAxes, Signature>
{
};

} // namespace swap_axes

// What the library exports: getCreators and setLoggerFinder, which TensorRT's registry calls when it loads the library,
// and initSwapAxesPlugins(logger, namespace), which registers the plugin in a process that links the library.
PLUGINKIT_PLUGINS(SwapAxes, pluginkit::Creator<swap_axes::SwapAxes>)
