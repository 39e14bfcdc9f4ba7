#pragma once

#include "layout.h"

#include <stdexcept>
#include <string>
#include <vector>

namespace pluginkit
{

//! A library that can't be loaded as a plugin library. `step` is the call that failed: "dlopen", "dlsym", an init
//! function, or the one that gives the creators.
struct LoadError : std::runtime_error
{
    LoadError(std::string failedStep, std::string const& message)
        : std::runtime_error{message}, step{std::move(failedStep)}
    {
    }
    std::string step;
};

//! The answer of getInferLibVersion, by which a plugin library knows which host it is in.
void setHostVersion(std::int32_t version);
std::int32_t hostVersion();

//! Which layout's virtual tables a host of that version has; 0 where there is none.
std::int32_t layoutOf(std::int32_t version);

//! How a library is loaded.
struct Loading
{
    //! The creators are those that it registers while it is loaded, and those that its init functions register; not
    //! what the function answers that loadLibrary calls.
    bool registers{false};
    std::vector<std::string> initFunctions;
    //! Also with symbols that are nowhere defined.
    bool lazy{true};
};

//! A plugin library, loaded as IPluginRegistry::loadLibrary does, or as a program loads one that registers itself.
class Library
{
public:
    //! Throws LoadError.
    Library(std::string const& path, std::int32_t version, Loading loading);
    ~Library();
    Library(Library const&) = delete;
    Library& operator=(Library const&) = delete;

    //! Calls getCreators, or what the layout has in its place; may be called again, as deregisterLibrary does. Each is
    //! an IPluginCreatorInterface, where the layout has that class, else an IPluginCreator.
    std::vector<void*> creators() const;
    LayoutFace const& face() const
    {
        return mFace;
    }
    void close();
    bool loaded() const
    {
        return mHandle != nullptr;
    }
    std::int32_t version() const
    {
        return mVersion;
    }
    //! Why it can't be loaded with all its symbols bound, as the registry, which binds them when they are called,
    //! doesn't ask; empty if it can.
    std::string const& unresolved() const
    {
        return mUnresolved;
    }

private:
    void* symbol(char const* name) const;
    void callInitFunctions() const;

    void* mHandle{nullptr};
    std::int32_t mVersion;
    LayoutFace const& mFace;
    std::string mUnresolved;
    Loading mLoading;
    std::vector<void*> mRegistered;
    void* mGetCreators{nullptr};
};

} // namespace pluginkit
