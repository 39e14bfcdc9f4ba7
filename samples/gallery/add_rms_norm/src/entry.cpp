#include "add_rms_norm.h"

#include <pluginkit/entry.h>

// What the library exports: getCreators and setLoggerFinder, which TensorRT's registry calls when it loads the library,
// and initAddRmsNormPlugins(logger, namespace), which registers the plugin in a process that links the library.
PLUGINKIT_PLUGINS(AddRmsNorm, add_rms_norm::AddRmsNormCreator)
