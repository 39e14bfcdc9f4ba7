//! Which TensorRT library is loading this one, and which are in the process.
//!
//! The layout of a library's classes is not known until its version is, so nothing here calls a virtual method.
#pragma once

#include <cstdint>
#include <cstring>
#include <dlfcn.h>
#include <link.h>
#include <string>
#include <vector>

namespace pluginkit
{

//! The creators that a TensorRT library takes.
enum class Served : int32_t
{
    kNOTHING, //!< TensorRT before 10: another binary interface
    kV2_LAYOUT10,
    kV2_LAYOUT11,
    kV3, //!< TensorRT-RTX, whose parser takes no other
};

namespace detail
{

//! What a library of that getInferLibVersion() takes. 0, an unknown library, is taken for TensorRT 11.
//! RTX counts from 1.0 (10000); TensorRT 10 and later say major * 10000 + minor * 100 + patch.
constexpr Served servedBy(int32_t version) noexcept
{
    if (version == 0 || version >= 110000)
    {
        return Served::kV2_LAYOUT11;
    }
    if (version >= 100000)
    {
        return Served::kV2_LAYOUT10;
    }
    return version >= 10000 ? Served::kV3 : Served::kNOTHING;
}

//! How the registry of such a library lies: RTX changed over in 1.5, TensorRT in 11.0.
constexpr int32_t registryLayout(int32_t version) noexcept
{
    return version >= 110000 || (version >= 10500 && version < 100000) ? 11 : 10;
}

//! The version that the library at `path` says; 0 where it is not loaded or does not say. Loads nothing.
inline int32_t versionOf(char const* path) noexcept
{
    void* const library = dlopen(path, RTLD_NOW | RTLD_NOLOAD);
    if (library == nullptr)
    {
        return 0;
    }
    void* const symbol = dlsym(library, "getInferLibVersion");
    int32_t version{0};
    if (symbol != nullptr)
    {
        int32_t (*ask)() noexcept {nullptr};
        std::memcpy(&ask, &symbol, sizeof ask);
        version = ask();
    }
    dlclose(library);
    return version;
}

//! The version of the library that an object's virtual table lies in.
inline int32_t versionBehind(void const* object) noexcept
{
    if (object == nullptr)
    {
        return 0;
    }
    void const* table{nullptr};
    std::memcpy(&table, object, sizeof table);
    Dl_info info{};
    return dladdr(table, &info) != 0 && info.dli_fname != nullptr ? versionOf(info.dli_fname) : 0;
}

//! A plugin registry of this process.
struct FoundRegistry
{
    void* registry;
    int32_t version;
};

//! The registries of all TensorRT libraries of this process.
inline std::vector<FoundRegistry> findRegistries()
{
    std::vector<std::string> paths;
    auto const collect = [](dl_phdr_info* info, size_t /*size*/, void* into) -> int
    {
        char const* const path = info->dlpi_name;
        if (path != nullptr &&
            (std::strstr(path, "libnvinfer") != nullptr || std::strstr(path, "libtensorrt") != nullptr))
        {
            static_cast<std::vector<std::string>*>(into)->emplace_back(path);
        }
        return 0;
    };
    dl_iterate_phdr(collect, &paths);
    std::vector<FoundRegistry> found;
    for (std::string const& path : paths)
    {
        void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_NOLOAD);
        void* const symbol = library != nullptr ? dlsym(library, "getPluginRegistry") : nullptr;
        if (symbol != nullptr)
        {
            void* (*ask)() noexcept {nullptr};
            std::memcpy(&ask, &symbol, sizeof ask);
            void* const registry = ask();
            bool known = registry == nullptr;
            for (FoundRegistry const& other : found)
            {
                known = known || other.registry == registry;
            }
            if (!known)
            {
                found.push_back({registry, versionOf(path.c_str())});
            }
        }
        if (library != nullptr)
        {
            dlclose(library);
        }
    }
    return found;
}

//! Keeps this library in the process for good: a registry now points into it.
inline void stayLoaded(void const* somethingHere) noexcept
{
    Dl_info info{};
    if (dladdr(somethingHere, &info) != 0 && info.dli_fname != nullptr)
    {
        // The handle is not closed: that, and RTLD_NODELETE, is what keeps the library.
        static_cast<void>(dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE));
    }
}

} // namespace detail

} // namespace pluginkit
