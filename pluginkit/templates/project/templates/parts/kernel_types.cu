#include "@{ plugin.slug }@_signature.h"

@% if plugin.bfloat16 %@
#include <pluginkit/kernels/bfloat16.cuh>
@% endif %@
@% if plugin.half %@
#include <pluginkit/kernels/float16.cuh>
@% endif %@
@% if plugin.float8 %@
#include <pluginkit/kernels/float8.cuh>
@% endif %@
