#include "pool_int8.h"

#include <pluginkit/entry.h>

// What the library exports: getCreators and setLoggerFinder, which TensorRT's registry calls when it loads the library,
// and
// initPoolInt8Plugins(logger, namespace), which registers the plugin in a process that links the library.
PLUGINKIT_PLUGINS(PoolInt8, pool_int8::PoolInt8Creator)
