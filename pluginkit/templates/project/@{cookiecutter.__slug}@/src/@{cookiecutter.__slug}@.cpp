@% set plugin = signature(cookiecutter) %@
#include "@{ plugin.slug }@_signature.h"

#include <pluginkit/entry.h>
#include <pluginkit/layer.h>

@% include "parts/class.h" %@
// What the library exports: getCreators and setLoggerFinder, which TensorRT's registry calls when it loads the library, and
// init@{ plugin.name }@Plugins(logger, namespace), which registers the plugin in a process that links the library.
PLUGINKIT_PLUGINS(@{ plugin.name }@, pluginkit::Creator<@{ plugin.namespace_cpp }@::@{ plugin.name }@>)
