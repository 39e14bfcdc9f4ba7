#pragma once

#include "layout.h"

#include <stdexcept>
#include <string>
#include <vector>

namespace pluginkit
{

//! A library that can't be loaded as a plugin library. `step` is the call that failed: "dlopen", "dlsym" or
//! "getCreators".
struct LoadError : std::runtime_error
{
    LoadError(std::string failedStep, std::string const& message)
        : std::runtime_error{message}, step{std::move(failedStep)}
    {
    }
    std::string step;
};

//! The answer of getInferLibVersion, by which a plugin library tells which host it is in.
void setHostVersion(std::int32_t version);
std::int32_t hostVersion();

//! 10 or 11: which vtable a host of that version has (research: 11 from 11.0.0, and RTX from 1.5).
std::int32_t layoutOf(std::int32_t version);

//! A plugin library, loaded as IPluginRegistry::loadLibrary does, but RTLD_NOW: what is unresolved shows at once.
class Library
{
public:
    //! Throws LoadError.
    Library(std::string const& path, std::int32_t version);
    ~Library();
    Library(Library const&) = delete;
    Library& operator=(Library const&) = delete;

    //! Calls getCreators; may be called again, as deregisterLibrary does.
    std::vector<nvinfer1::IPluginCreatorInterface*> creators() const;
    void close();
    bool loaded() const
    {
        return mHandle != nullptr;
    }
    std::int32_t version() const
    {
        return mVersion;
    }

private:
    void* symbol(char const* name) const;

    void* mHandle{nullptr};
    std::int32_t mVersion;
    void* mGetCreators{nullptr};
};

} // namespace pluginkit
