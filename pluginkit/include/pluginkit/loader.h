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

//! What a TensorRT library takes.
struct Served
{
    int32_t layout; //!< how its registry and its V2 classes lie: 8, 10 or 11; 0: a library that nothing is given to
    bool v3;        //!< its parser takes V3 creators alone: TensorRT-RTX
};

namespace detail
{

//! The libraries whose getInferLibVersion() lies from `first` to below `end`.
struct LibraryVersions
{
    int32_t first;
    int32_t end;
    Served served;
};

//! TensorRT 8 says major * 1000 + minor * 100 + patch, later ones major * 10000 + minor * 100 + patch; RTX counts
//! from 1.0 (10000), and changed from layout 10 to 11 in 1.5. pluginkit/layouts.py has the same numbers.
constexpr LibraryVersions kLIBRARIES[]{
    {8500, 8700, {8, false}},      {10000, 10500, {10, true}},        {10500, 100000, {11, true}},
    {100000, 110000, {10, false}}, {110000, 2147483647, {11, false}},
};

//! What a library of that getInferLibVersion() takes. 0, an unknown library, is taken for TensorRT 11.
constexpr Served servedBy(int32_t version) noexcept
{
    for (LibraryVersions const& one : kLIBRARIES)
    {
        if (version >= one.first && version < one.end)
        {
            return one.served;
        }
    }
    return {version == 0 ? 11 : 0, false};
}

//! The version that the library at `path` says; 0 where it is not loaded or does not say. Loads nothing.
inline int32_t versionOf(char const* path) noexcept
{
    void* const library = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
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

//! The version of the library that an address lies in: of a function, or of a virtual table.
inline int32_t versionAt(void const* address) noexcept
{
    Dl_info info{};
    return dladdr(address, &info) != 0 && info.dli_fname != nullptr ? versionOf(info.dli_fname) : 0;
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
    return versionAt(table);
}

//! A plugin registry of this process.
struct FoundRegistry
{
    void* registry;
    int32_t version;
};

//! The registry of the library at `path`; nullptr and 0 where it has none. Both functions must be this library's own:
//! dlsym also finds those of the libraries that it depends on, which are found by themselves.
inline FoundRegistry registryIn(char const* path) noexcept
{
    FoundRegistry found{nullptr, 0};
    void* const library = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
    if (library == nullptr)
    {
        return found;
    }
    void* const registry = dlsym(library, "getPluginRegistry");
    void* const version = dlsym(library, "getInferLibVersion");
    Dl_info first{};
    Dl_info second{};
    if (registry != nullptr && version != nullptr && dladdr(registry, &first) != 0 && dladdr(version, &second) != 0 &&
        first.dli_fbase == second.dli_fbase)
    {
        void* (*get)() noexcept {nullptr};
        int32_t (*ask)() noexcept {nullptr};
        std::memcpy(&get, &registry, sizeof get);
        std::memcpy(&ask, &version, sizeof ask);
        found = {get(), ask()};
    }
    dlclose(library);
    return found;
}

//! The registries of all TensorRT libraries of this process, whatever their files are called.
inline std::vector<FoundRegistry> findRegistries()
{
    std::vector<std::string> paths;
    auto const collect = [](dl_phdr_info* info, size_t /*size*/, void* into) -> int
    {
        try
        {
            static_cast<std::vector<std::string>*>(into)->emplace_back(info->dlpi_name != nullptr ? info->dlpi_name
                                                                                                  : "");
            return 0;
        }
        catch (...)
        {
            return 1; // no exception may pass through dl_iterate_phdr
        }
    };
    dl_iterate_phdr(collect, &paths);
    std::vector<FoundRegistry> found;
    for (std::string const& path : paths)
    {
        FoundRegistry const one = registryIn(path.c_str());
        bool known = one.registry == nullptr;
        for (FoundRegistry const& other : found)
        {
            known = known || other.registry == one.registry;
        }
        if (!known)
        {
            found.push_back(one);
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
