// Compiled once for each layout of IPluginRegistry.
#include "load_library.h"

#if PLUGINKIT_TRT_LAYOUT == 8
#define PLUGINKIT_TRT_MINOR 6 // 8.5 has no loadLibrary
#endif

#include "NvInferRuntimeCommon.h"

namespace
{

bool load(void* registry, char const* path) noexcept
{
    return static_cast<nvinfer1::IPluginRegistry*>(registry)->loadLibrary(path) != nullptr;
}

constexpr pluginkit::LibraryLoader kLOADER{PLUGINKIT_TRT_LAYOUT, &load};

// Where register_on_load.cpp finds those of all layouts, before any initializer has run.
__attribute__((used, section("pluginkit_loaders"))) pluginkit::LibraryLoader const* const gLoader{&kLOADER};

} // namespace
