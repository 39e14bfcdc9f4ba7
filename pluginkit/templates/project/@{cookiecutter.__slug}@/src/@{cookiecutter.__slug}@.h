@% set plugin = signature(cookiecutter) %@
#pragma once

#include "@{ plugin.slug }@_signature.h"

#include <pluginkit/layer.h>

@% include "parts/class.h" %@
