#include "echo.h"
#include <pluginkit/entry.h>

PLUGINKIT_PLUGINS(Echo, echo::EchoCreator)
