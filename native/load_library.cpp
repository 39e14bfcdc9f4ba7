// Compiled once for each layout of IPluginRegistry.
#include "load_library.h"

#include "NvInferRuntimeCommon.h"

#if PLUGINKIT_TRT_LAYOUT == 10
bool pluginkit::loadIntoLayout10(void* registry, char const* path) noexcept
#else
bool pluginkit::loadIntoLayout11(void* registry, char const* path) noexcept
#endif
{
    return static_cast<nvinfer1::IPluginRegistry*>(registry)->loadLibrary(path) != nullptr;
}
