#include "channels_last_signature.h"

#include <pluginkit/entry.h>
#include <pluginkit/layer.h>

namespace channels_last
{

//! An IPluginV2DynamicExt, made of pluginkit.toml and channels_last.cu. Each of its methods may be overridden here.
class ChannelsLast final : public pluginkit::Layer<ChannelsLast, Signature>
{
};

} // namespace channels_last

// What the library exports: getCreators and setLoggerFinder, which TensorRT's registry calls when it loads the library,
// and initChannelsLastPlugins(logger, namespace), which registers the plugin in a process that links the library.
PLUGINKIT_PLUGINS(ChannelsLast, pluginkit::Creator<channels_last::ChannelsLast>)
