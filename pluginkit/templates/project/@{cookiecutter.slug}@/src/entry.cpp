#include "@{ cookiecutter.slug }@.h"

#include <pluginkit/entry.h>

// What the library exports: getCreators and setLoggerFinder, which TensorRT's registry calls when it loads the library, and
// init@{ cookiecutter.name }@Plugins(logger, namespace), which registers the plugin in a process that links the library.
PLUGINKIT_PLUGINS(@{ cookiecutter.name }@, @{ cookiecutter.namespace_cpp }@::@{ cookiecutter.name }@Creator)
