#include "non_zero_plugin.h"

#include <pluginkit/entry.h>

// What the library exports: getCreators and setLoggerFinder, which TensorRT's registry calls when it loads the library,
// and initNonZeroPluginPlugins(logger, namespace), which registers the plugin in a process that links the library.
PLUGINKIT_PLUGINS(NonZeroPlugin, non_zero_plugin::NonZeroPluginCreator)
