// For programs that only open a plugin library (dlopen) and expect it to register its creators while it is opened.
// Given this library instead, such a program has the registries of all TensorRT libraries of its process load those
// that PLUGINKIT_PLUGINS names (paths, with colons between them), by IPluginRegistry::loadLibrary.
#include "load_library.h"

#include <pluginkit/loader.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <sstream>
#include <string>

// Where the linker puts the loaders of load_library.cpp.
// NOLINTBEGIN(bugprone-reserved-identifier)
extern "C" __attribute__((visibility("hidden"))) pluginkit::LibraryLoader const* const __start_pluginkit_loaders[];
extern "C" __attribute__((visibility("hidden"))) pluginkit::LibraryLoader const* const __stop_pluginkit_loaders[];
// NOLINTEND(bugprone-reserved-identifier)

namespace
{

constexpr char const* kVARIABLE{"PLUGINKIT_PLUGINS"};

//! Null where registries of that version have no loadLibrary: it came with TensorRT 8.6.
pluginkit::LibraryLoader const* loaderFor(std::int32_t version)
{
    constexpr std::int32_t kFIRST{8600};
    if (version >= kFIRST)
    {
        for (auto const* one = __start_pluginkit_loaders; one != __stop_pluginkit_loaders; ++one)
        {
            if ((*one)->layout == pluginkit::detail::servedBy(version).layout)
            {
                return *one;
            }
        }
    }
    return nullptr;
}

void loadAll(char const* paths)
{
    auto const registries = pluginkit::detail::findRegistries();
    if (registries.empty())
    {
        std::fprintf(stderr, "pluginkit: no TensorRT library is loaded in this process, so %s is not followed\n",
                     kVARIABLE);
    }
    for (auto const& found : registries)
    {
        pluginkit::LibraryLoader const* const loader = loaderFor(found.version);
        if (loader == nullptr)
        {
            std::fprintf(stderr,
                         "pluginkit: the registry of TensorRT %d has no loadLibrary, so %s is not followed there\n",
                         found.version, kVARIABLE);
            continue;
        }
        std::istringstream list{paths};
        for (std::string path; std::getline(list, path, ':');)
        {
            if (!path.empty() && !loader->load(found.registry, path.c_str()))
            {
                std::fprintf(stderr, "pluginkit: the registry of TensorRT %d does not load %s of %s\n", found.version,
                             path.c_str(), kVARIABLE);
            }
        }
    }
}

__attribute__((constructor)) void registerPlugins()
{
    char const* const paths = std::getenv(kVARIABLE);
    if (paths == nullptr || *paths == '\0')
    {
        std::fprintf(stderr, "pluginkit: %s names no plugin library\n", kVARIABLE);
        return;
    }
    try
    {
        loadAll(paths);
    }
    catch (std::exception const& error)
    {
        std::fprintf(stderr, "pluginkit: the libraries of %s are not loaded: %s\n", kVARIABLE, error.what());
    }
}

} // namespace
