#include "echo.h"
#include <pluginkit/entry.h>

PLUGINKIT_PLUGINS(Echo, echo::EchoCreator)
PLUGINKIT_REGISTER_ON_LOAD
