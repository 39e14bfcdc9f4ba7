#include "my_plugin.h"

#include <pluginkit/entry.h>

// What the library exports: getCreators and setLoggerFinder, which TensorRT's registry calls when it loads the library,
// and
// initMyPluginPlugins(logger, namespace), which registers the plugin in a process that links the library.
PLUGINKIT_PLUGINS(MyPlugin, my_plugin::MyPluginCreator)
