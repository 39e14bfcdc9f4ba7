//! pluginkit's own TensorRT headers, the plugin side only: what a plugin implements and what it is handed.
//! Builders, networks, engines and runtimes are not declared here; a TensorRT SDK's headers have them.
#ifndef PLUGINKIT_NV_INFER_H
#define PLUGINKIT_NV_INFER_H

#include "NvInferLegacyDims.h"
#include "NvInferRuntime.h"

#endif
