#include "library.h"

#include "breadcrumb.h"

#include <algorithm>
#include <atomic>
#include <dlfcn.h>
#include <mutex>
#include <pluginkit/loader.h>

namespace
{

std::atomic<std::int32_t> gVersion{110100};
std::mutex gLogMutex;
pluginkit::LogLines gLog;

} // namespace

// Where the linker puts the faces of layout.cpp.
// NOLINTBEGIN(bugprone-reserved-identifier)
extern "C" __attribute__((visibility("hidden"))) pluginkit::LayoutFace const* const __start_pluginkit_faces[];
extern "C" __attribute__((visibility("hidden"))) pluginkit::LayoutFace const* const __stop_pluginkit_faces[];
// NOLINTEND(bugprone-reserved-identifier)

//! Looked up by plugin libraries in the object that holds the logger finder's vtable, which is this module.
extern "C" __attribute__((visibility("default"))) std::int32_t getInferLibVersion() noexcept
{
    return gVersion;
}

namespace pluginkit
{

void appendLog(std::int32_t severity, char const* text)
{
    std::lock_guard<std::mutex> const lock{gLogMutex};
    gLog.emplace_back(severity, text == nullptr ? "(null)" : text);
}

LogLines takeLog()
{
    std::lock_guard<std::mutex> const lock{gLogMutex};
    return std::exchange(gLog, {});
}

void setHostVersion(std::int32_t version)
{
    gVersion = version;
}

std::int32_t hostVersion()
{
    return gVersion;
}

std::int32_t layoutOf(std::int32_t version)
{
    return detail::servedBy(version).layout;
}

LayoutFace const& faceOf(std::int32_t layout)
{
    auto const found = std::find_if(__start_pluginkit_faces, __stop_pluginkit_faces,
                                    [&](auto const* one) { return one->layout == layout; });
    if (found == __stop_pluginkit_faces)
    {
        throw std::invalid_argument{"there is no layout " + std::to_string(layout)};
    }
    return **found;
}

void* Library::symbol(char const* name) const
{
    return dlsym(mHandle, name);
}

Library::Library(std::string const& path, std::int32_t version) : mVersion{version}, mFace{faceOf(layoutOf(version))}
{
    {
        Call const call{"dlopen"};
        mHandle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
        if (mHandle == nullptr)
        {
            char const* const why = dlerror();
            mUnresolved = why == nullptr ? path : why;
            mHandle = dlopen(path.c_str(), RTLD_LAZY | RTLD_LOCAL);
        }
    }
    if (mHandle == nullptr)
    {
        throw LoadError{"dlopen", mUnresolved};
    }
    mGetCreators = symbol(mFace.creatorsBy);
    void* const setFinder = symbol("setLoggerFinder");
    if (mGetCreators == nullptr || setFinder == nullptr)
    {
        std::string missing = mGetCreators == nullptr ? mFace.creatorsBy : "";
        if (setFinder == nullptr)
        {
            missing += missing.empty() ? "setLoggerFinder" : " and setLoggerFinder";
        }
        close();
        throw LoadError{"dlsym", path + " does not export " + missing};
    }
    setHostVersion(version);
    void* const finder = mFace.loggerFinder();
    Call const call{"setLoggerFinder"};
    reinterpret_cast<void (*)(void*)>(setFinder)(finder);
}

Library::~Library()
{
    close();
}

void Library::close()
{
    if (mHandle != nullptr)
    {
        Call const call{"dlclose"};
        dlclose(mHandle);
        mHandle = nullptr;
    }
}

std::vector<void*> Library::creators() const
{
    using Creators = void* const* (*)(std::int32_t&);
    std::string const name{mFace.creatorsBy};
    std::int32_t count = 0;
    void* const* list = nullptr;
    {
        Call const call{mFace.creatorsBy};
        list = reinterpret_cast<Creators>(mGetCreators)(count);
    }
    if (count < 0 || (count > 0 && list == nullptr))
    {
        throw LoadError{name, name + " answered " + std::string{list == nullptr ? "a null list" : "a list"} +
                                  " and a count of " + std::to_string(count)};
    }
    std::vector<void*> creators(list, list + count);
    for (std::size_t i = 0; i < creators.size(); ++i)
    {
        if (creators[i] == nullptr)
        {
            throw LoadError{name, name + " answered null as creator " + std::to_string(i)};
        }
    }
    return creators;
}

} // namespace pluginkit
