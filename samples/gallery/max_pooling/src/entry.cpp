#include "max_pooling.h"

#include <pluginkit/entry.h>

// What the library exports: getCreators and setLoggerFinder, which TensorRT's registry calls when it loads the library,
// and initMaxPoolingPlugins(logger, namespace), which registers the plugin in a process that links the library.
PLUGINKIT_PLUGINS(MaxPooling, max_pooling::MaxPoolingCreator)
