//! Stands for a TensorRT library in a process: a registry of one layout and a version that the test chooses.
#include <NvInfer.h>

#include <cstdlib>
#include <cstring>
#include <string>

using namespace nvinfer1;

namespace
{

using pluginkit::detail::AnyCreator;

std::string kindOf(AnyCreator& creator)
{
#if PLUGINKIT_TRT_LAYOUT == 8
    // A namespace counts there only if the creator has it itself.
    return "V8 " + std::string{creator.getPluginNamespace()};
#else
    return creator.getInterfaceInfo().kind;
#endif
}

class Registry final : public IPluginRegistry
{
public:
#if PLUGINKIT_TRT_LAYOUT <= 10
    bool registerCreator(IPluginCreator& creator, char const* pluginNamespace) noexcept override
    {
        return registered(creator, pluginNamespace);
    }
    IPluginCreator* const* getPluginCreatorList(int32_t*) const noexcept override
    {
        return nullptr;
    }
    IPluginCreator* getPluginCreator(char const*, char const*, char const*) noexcept override
    {
        return nullptr;
    }
    bool deregisterCreator(IPluginCreator const&) noexcept override
    {
        return false;
    }
#endif
    void setErrorRecorder(IErrorRecorder*) noexcept override {}
    IErrorRecorder* getErrorRecorder() const noexcept override
    {
        return nullptr;
    }
#if PLUGINKIT_TRT_LAYOUT != 8 || PLUGINKIT_TRT_MINOR > 5
    bool isParentSearchEnabled() const override
    {
        return false;
    }
    void setParentSearchEnabled(bool) override {}
    void* loadLibrary(char const*) noexcept override
    {
        return nullptr;
    }
    void deregisterLibrary(void*) noexcept override {}
#endif
#if PLUGINKIT_TRT_LAYOUT != 8
    bool registerCreator(IPluginCreatorInterface& creator, char const* pluginNamespace) noexcept override
    {
        return registered(creator, pluginNamespace);
    }
    IPluginCreatorInterface* const* getAllCreators(int32_t*) const noexcept override
    {
        return nullptr;
    }
    IPluginCreatorInterface* getCreator(char const*, char const*, char const*) noexcept override
    {
        return nullptr;
    }
    bool deregisterCreator(IPluginCreatorInterface const&) noexcept override
    {
        return true;
    }
    IPluginResource* acquirePluginResource(char const*, IPluginResource*) noexcept override
    {
        return nullptr;
    }
    int32_t releasePluginResource(char const*) noexcept override
    {
        return 0;
    }
    IPluginCreatorInterface* const* getAllCreatorsRecursive(int32_t*) noexcept override
    {
        return nullptr;
    }
#endif

    bool registered(AnyCreator& creator, char const* pluginNamespace) noexcept
    {
        said += kindOf(creator) + "@" + pluginNamespace + ";";
        return !refuses;
    }

    std::string said;
    bool refuses{false};
};

class Finder final : public ILoggerFinder
{
public:
    ILogger* findLogger() override
    {
        std::abort(); // its table's layout is not known to a plugin library yet
    }
};

Registry gRegistry;
Finder gFinder;

} // namespace

extern "C" IPluginRegistry* getPluginRegistry() noexcept
{
    return &gRegistry;
}

extern "C" int32_t getInferLibVersion() noexcept
{
    return VERSION;
}

//! What was registered, as "kind@namespace;...".
extern "C" char const* fakeSaid()
{
    return gRegistry.said.c_str();
}

extern "C" void fakeRefuse()
{
    gRegistry.refuses = true;
}

//! Loads a library as IPluginRegistry::loadLibrary does, from its two functions: how many creators, and the first's
//! kind.
extern "C" int32_t fakeLoad(void (*setLoggerFinder)(ILoggerFinder*), AnyCreator* const* (*getCreators)(int32_t&),
                            bool withFinder, char* kind, int32_t size)
{
    setLoggerFinder(withFinder ? &gFinder : nullptr);
    int32_t count{-1};
    AnyCreator* const* const creators = getCreators(count);
    int32_t again{-1};
    if (getCreators(again) != creators || again != count)
    {
        return -1;
    }
    std::string text = count > 0 ? kindOf(*creators[0]) : "";
    // A V2 plugin says which layout it was compiled for.
    if (text == "PLUGIN CREATOR_V1" || text == "V8 ")
    {
        IPluginV2* const plugin = static_cast<IPluginCreator*>(creators[0])->createPlugin("x", nullptr);
        text = "V2 of " + std::to_string(plugin->getTensorRTVersion() & 0xFFFFFF);
        plugin->destroy();
    }
    std::strncpy(kind, text.c_str(), static_cast<size_t>(size) - 1);
    return count;
}
