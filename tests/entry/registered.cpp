//! The same plugin, named as code for TensorRT names it. The second macro finds what the first has put on the list.
#include "echo.h"
#include <pluginkit/entry.h>

using echo::EchoCreator;
REGISTER_TENSORRT_PLUGIN(EchoCreator);

#ifdef NAMED_TWICE
PLUGINKIT_PLUGINS(Echo, EchoCreator)
#else
PLUGINKIT_REGISTERED_PLUGINS(Echo)
#endif
