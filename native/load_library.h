#pragma once

namespace pluginkit
{

//! IPluginRegistry::loadLibrary of a registry of that layout: whether it has loaded the library.
bool loadIntoLayout10(void* registry, char const* path) noexcept;
bool loadIntoLayout11(void* registry, char const* path) noexcept;

} // namespace pluginkit
