//! The entry of a library of sources that were written without pluginkit, for `pluginkit_test_plugin` of its CMake
//! package, which compiles it once for each layout.
//!
//! Its creators are those that REGISTER_TENSORRT_PLUGIN names, those that are given to
//! getPluginRegistry()->registerCreator while the library is loaded, and those of a getCreators of the sources' own,
//! which CMake has renamed. getPluginRegistry() and getLogger(), which belong to libnvinfer, are defined here: the
//! registry is this library's own, and the logger that of the library that loads it.
#pragma once

#include <NvInfer.h>
#include <pluginkit/collecting_registry.h>
#include <pluginkit/entry.h>

#include <algorithm>
#include <cstring>

//! getCreators (in TensorRT 8 getPluginCreators) and setLoggerFinder of the sources; null where they have none.
#if NV_TENSORRT_MAJOR >= 10
extern "C" __attribute__((weak)) nvinfer1::IPluginCreatorInterface* const* pluginkitOwnGetCreators(int32_t& count);
#else
extern "C" __attribute__((weak)) nvinfer1::IPluginCreator* const* pluginkitOwnGetPluginCreators(int32_t& count);
#endif
extern "C" __attribute__((weak)) void pluginkitOwnSetLoggerFinder(void* finder);

namespace pluginkit
{

namespace detail
{

using CreatorList = std::vector<AnyCreator*>;

//! What the library registers while it is loaded.
using OwnRegistry = CollectingRegistry<struct OfExistingSources>;

//! This layout's half of a library of such sources.
struct ExistingLayout
{
    struct Creators
    {
        CreatorSet registered{Layout<>::makers()};
#if NV_TENSORRT_MAJOR >= 10
        std::vector<std::unique_ptr<V3AdapterCreator>> adapters;
#endif
        CreatorList v2{registered.listed(false)};
        CreatorList v3{registered.listed(true)};

        void add(AnyCreator* creator)
        {
            if (creator == nullptr || std::find(v2.begin(), v2.end(), creator) != v2.end())
            {
                return;
            }
            v2.push_back(creator);
#if NV_TENSORRT_MAJOR >= 10
            if (std::strcmp(creator->getInterfaceInfo().kind, "PLUGIN CREATOR_V1") == 0)
            {
                adapters.push_back(
                    std::make_unique<V3AdapterCreator>(*static_cast<nvinfer1::IPluginCreator*>(creator)));
                creator = adapters.back().get();
            }
            v3.push_back(creator);
#endif
        }
    };

    static Creators& creators()
    {
        // Registries keep pointers to creators as long as the process lives.
        static Creators* const all = []
        {
            auto* const made = new Creators;
            for (auto* const creator : OwnRegistry::get().creators())
            {
                made->add(creator);
            }
#if NV_TENSORRT_MAJOR >= 10
            auto* const own = &pluginkitOwnGetCreators;
#else
            auto* const own = &pluginkitOwnGetPluginCreators;
#endif
            if (own != nullptr)
            {
                int32_t count{0};
                AnyCreator* const* const list = own(count);
                for (int32_t i = 0; i < count; ++i)
                {
                    made->add(list[i]);
                }
            }
            return made;
        }();
        return *all;
    }

    static void const* listed(bool v3, int32_t& count) noexcept
    {
        try
        {
            CreatorList const& list = v3 ? creators().v3 : creators().v2;
            count = static_cast<int32_t>(list.size());
            return list.data();
        }
        catch (...)
        {
            count = 0;
            return nullptr;
        }
    }

    static bool enroll(void* where, char const* pluginNamespace, bool v3) noexcept
    {
        try
        {
            static auto* const mutex = new std::mutex;
            static auto* const enrolled = new std::vector<std::pair<void*, std::string>>;
            std::lock_guard<std::mutex> const lock{*mutex};
            std::pair<void*, std::string> const key{where, pluginNamespace};
            if (std::find(enrolled->begin(), enrolled->end(), key) != enrolled->end())
            {
                return true;
            }
            if (!Layout<>::addAll(*static_cast<nvinfer1::IPluginRegistry*>(where), v3 ? creators().v3 : creators().v2,
                                  pluginNamespace))
            {
                return false;
            }
            enrolled->push_back(key);
            stayLoaded(&hooks);
            return true;
        }
        catch (...)
        {
            return false;
        }
    }

    static void hear(void* finder) noexcept
    {
        Layout<>::hear(finder);
        auto* const own = &pluginkitOwnSetLoggerFinder;
        if (own != nullptr)
        {
            own(finder);
        }
    }

    static constexpr LayoutHooks hooks{NV_TENSORRT_MAJOR, &listed, &enroll, &hear};
};

//! Where nobody listens.
class StderrLogger final : public nvinfer1::ILogger
{
public:
    void log(Severity severity, nvinfer1::AsciiChar const* text) noexcept override
    {
        if (severity <= Severity::kWARNING)
        {
            static_cast<void>(std::fprintf(stderr, "%s\n", text));
        }
    }
};

} // namespace detail

} // namespace pluginkit

extern "C" nvinfer1::IPluginRegistry* getPluginRegistry() noexcept
{
    return &pluginkit::detail::OwnRegistry::get();
}

extern "C" nvinfer1::ILogger* getLogger() noexcept
{
    nvinfer1::ILogger* const found = pluginkit::detail::findLogger();
    static auto* const nobody = new pluginkit::detail::StderrLogger;
    return found != nullptr ? found : nobody;
}

#define PLUGINKIT_EXISTING_PLUGINS(Stem)                                                                               \
    namespace                                                                                                          \
    {                                                                                                                  \
    using PluginkitHalf = pluginkit::detail::ExistingLayout;                                                           \
    }                                                                                                                  \
    PLUGINKIT_ENTRY(Stem, PluginkitHalf)
