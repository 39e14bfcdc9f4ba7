#include "places_signature.h"

#include <pluginkit/entry.h>
#include <pluginkit/layer.h>

namespace places_plugin
{

//! An IPluginV3, made of pluginkit.toml and places.cu. Each of its methods may be overridden here.
class Places final : public pluginkit::Layer<Places, Signature>
{
};

} // namespace places_plugin

// What the library exports: getCreators and setLoggerFinder, which TensorRT's registry calls when it loads the library,
// and initPlacesPlugins(logger, namespace), which registers the plugin in a process that links the library.
PLUGINKIT_PLUGINS(Places, pluginkit::Creator<places_plugin::Places>)
