@% set plugin = signature(cookiecutter) %@
#include "@{ plugin.slug }@.h"

#include <pluginkit/entry.h>

// What the library exports: getCreators and setLoggerFinder, which TensorRT's registry calls when it loads the library, and
// init@{ plugin.name }@Plugins(logger, namespace), which registers the plugin in a process that links the library.
PLUGINKIT_PLUGINS(@{ plugin.name }@, @{ plugin.namespace_cpp }@::@{ plugin.name }@Creator)
