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

namespace
{

constexpr char const* kVARIABLE{"PLUGINKIT_PLUGINS"};

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
        if (pluginkit::detail::servedBy(found.version) == pluginkit::Served::kNOTHING)
        {
            std::fprintf(stderr, "pluginkit: TensorRT %d is older than 10, so %s is not followed there\n",
                         found.version, kVARIABLE);
            continue;
        }
        auto* const load = pluginkit::detail::registryLayout(found.version) == 10 ? pluginkit::loadIntoLayout10
                                                                                  : pluginkit::loadIntoLayout11;
        std::istringstream list{paths};
        for (std::string path; std::getline(list, path, ':');)
        {
            if (!path.empty() && !load(found.registry, path.c_str()))
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
