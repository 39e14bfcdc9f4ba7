//! What plugin code includes under this name: the plugin side, and the function that registers NVIDIA's own plugins.
#ifndef PLUGINKIT_NV_INFER_PLUGIN_H
#define PLUGINKIT_NV_INFER_PLUGIN_H

#include "NvInfer.h"
#include "NvInferPluginUtils.h"

//! Of libnvinfer_plugin. A library that calls it must be linked with that one.
extern "C" TENSORRTAPI bool initLibNvInferPlugins(void* logger, char const* libNamespace);

#endif
