#pragma once

#include <cstdint>

namespace pluginkit
{

//! IPluginRegistry::loadLibrary of a registry of one layout: whether it has loaded the library.
struct LibraryLoader
{
    std::int32_t layout;
    bool (*load)(void* registry, char const* path) noexcept;
};

} // namespace pluginkit
