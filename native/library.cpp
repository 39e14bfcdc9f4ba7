#include "library.h"

#include "call_file.h"

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

Library::Library(std::string const& path, std::int32_t version, Loading loading)
    : mVersion{version}, mFace{faceOf(layoutOf(version))}, mLoading{std::move(loading)}
{
    // What registers itself does so while it is opened.
    setHostVersion(version);
    std::size_t const before = mFace.registered().size();
    {
        // Its declaration says that nothing is thrown out of it, and the compiler believes that.
        void* (*volatile open)(char const*, int) = &dlopen;
        Call const call{"dlopen"};
        try
        {
            mHandle = open(path.c_str(), RTLD_NOW | RTLD_LOCAL);
            if (mHandle == nullptr)
            {
                char const* const why = dlerror();
                mUnresolved = why == nullptr ? path : why;
            }
            if (mHandle == nullptr && mLoading.lazy)
            {
                mHandle = open(path.c_str(), RTLD_LAZY | RTLD_LOCAL);
            }
        }
        catch (std::exception const& error)
        {
            throw LoadError{"static initializers", error.what()};
        }
    }
    if (mHandle == nullptr)
    {
        throw LoadError{"dlopen", mUnresolved};
    }
    if (mLoading.registers)
    {
        callInitFunctions();
        auto const all = mFace.registered();
        mRegistered.assign(all.begin() + static_cast<std::ptrdiff_t>(std::min(before, all.size())), all.end());
        return;
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
    void* const finder = mFace.loggerFinder();
    Call const call{"setLoggerFinder"};
    reinterpret_cast<void (*)(void*)>(setFinder)(finder);
}

void Library::callInitFunctions() const
{
    for (std::string const& name : mLoading.initFunctions)
    {
        void* const found = symbol(name.c_str());
        if (found == nullptr)
        {
            throw LoadError{"dlsym", "it does not export " + name};
        }
        Call const call{name.c_str()};
        if (!reinterpret_cast<bool (*)(void*, char const*)>(found)(mFace.logger(), ""))
        {
            throw LoadError{name, name + " answered false"};
        }
    }
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
    if (mLoading.registers)
    {
        return mRegistered;
    }
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
