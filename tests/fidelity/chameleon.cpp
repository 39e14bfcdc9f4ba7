// Two plugins that are what their creator's fields say, one for each kind of creator: so one library, compiled once,
// stands for thousands of plugins.
#include "chameleon_v2.h"
#include "chameleon_v3.h"

#include <pluginkit/entry.h>

PLUGINKIT_PLUGINS(Chameleon, chameleon::CreatorV2, chameleon::CreatorV3)
