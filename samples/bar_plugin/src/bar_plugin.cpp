#include "bar_plugin_signature.h"

#include <pluginkit/entry.h>
#include <pluginkit/layer.h>

namespace bar_plugin
{

//! An IPluginV2DynamicExt. Each method of that class may be overridden here.
class BarPlugin final : public pluginkit::DynamicLayer<BarPlugin, Signature>
{
};

} // namespace bar_plugin

// What the library exports: getCreators, setLoggerFinder, and initBarPluginPlugins(logger, namespace).
PLUGINKIT_PLUGINS(BarPlugin, pluginkit::Creator<bar_plugin::BarPlugin>)
