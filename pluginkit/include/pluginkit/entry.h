//! What a plugin library exports.
//!
//!     #include "my_plugin.h"
//!     #include <pluginkit/entry.h>
//!     PLUGINKIT_PLUGINS(MyPlugin, my_plugin::MyPluginCreator)
//!
//! gives the library
//!   setLoggerFinder, getCreators     what IPluginRegistry::loadLibrary looks for. TensorRT calls setLoggerFinder
//!                                    first, and that shows which library is loading, so getCreators gives exactly one
//!                                    creator a plugin: V2 of the right layout, or the V3 adapter for TensorRT-RTX
//!   getPluginCreators                what loadLibrary of TensorRT 8.6 looks for; it gives others nothing
//!   initMyPluginPlugins              bool (void* logger, char const* libNamespace): registers the creators under that
//!                                    namespace in the registry of every TensorRT library of the process. True where
//!                                    all have them, also the second time; false where there is none, or one refuses.
//!                                    The library then stays loaded, since registries point into it. `logger` is not
//!                                    used: what ILogger's table looks like depends on who has made it
//!
//! TensorRT 8.5's registry loads no library: a program that only opens this one, as `trtexec --plugins` does there,
//! finds its plugins if the source also has
//!     PLUGINKIT_REGISTER_ON_LOAD
//! after PLUGINKIT_PLUGINS. Then they are registered without a namespace in each TensorRT 8 that is in the process
//! before this library; getPluginCreators has nothing to give any more.
//!
//! Creators named by REGISTER_TENSORRT_PLUGIN are given too; a library that names all of its creators so says
//! PLUGINKIT_REGISTERED_PLUGINS(MyPlugin).
//!
//! pluginkit's CMake package compiles this file once for each layout (PLUGINKIT_TRT_LAYOUT). The one with
//! PLUGINKIT_SECONDARY exports nothing: each puts a pointer to its hooks into the section pluginkit_layouts, where the
//! primary one finds all of its library. Compiled once and by hand, the library serves the layout it was compiled for,
//! and TensorRT-RTX unless that is 8.
#pragma once

#include <NvInfer.h>
#include <pluginkit/loader.h>
#include <pluginkit/log.h>
#include <pluginkit/registered.h>
#if NV_TENSORRT_MAJOR >= 10
#include <pluginkit/v3_adapter.h>
#endif

#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#if defined(PLUGINKIT_TRT_LAYOUT) && PLUGINKIT_TRT_LAYOUT != NV_TENSORRT_MAJOR
#error "NvInfer.h is of another TensorRT than PLUGINKIT_TRT_LAYOUT says: put the headers of that major first."
#endif

#define PLUGINKIT_EXPORT __attribute__((visibility("default")))

namespace pluginkit
{

namespace detail
{

//! What the code of one layout offers to the others. The types in it lie alike in all.
struct LayoutHooks
{
    int32_t layout;
    //! The creators for loadLibrary, an `AnyCreator* const*` of that layout; the same list at every call.
    void const* (*listed)(bool v3, int32_t& count) noexcept;
    //! Registers creators of its own under a namespace; true if they are all there now.
    bool (*enroll)(void* registry, char const* pluginNamespace, bool v3) noexcept;
    //! Takes an ILoggerFinder of that layout.
    void (*hear)(void* finder) noexcept;
};

//! One creator of each class, as it is and, for those of V2, as V3.
class CreatorSet
{
public:
    explicit CreatorSet(std::vector<CreatorMaker> const& makers)
    {
        for (CreatorMaker const& maker : makers)
        {
            if (maker.v2 != nullptr)
            {
                mV2.emplace_back(maker.v2());
                mListV2.push_back(mV2.back().get());
            }
#if NV_TENSORRT_MAJOR >= 10
            if (maker.v2 != nullptr)
            {
                mV3.emplace_back(new V3AdapterCreator{*mV2.back()});
            }
            else
            {
                mV3.emplace_back(maker.v3());
                mListV2.push_back(mV3.back().get());
                if (maker.name != nullptr)
                {
                    mNamed.emplace_back(mV3.back().get(), maker.name);
                }
            }
            mListV3.push_back(mV3.back().get());
#endif
        }
    }

    std::vector<AnyCreator*> const& listed(bool v3) const noexcept
    {
        return v3 ? mListV3 : mListV2;
    }

    void setNamespace(char const* pluginNamespace) noexcept
    {
        for (auto const& creator : mV2)
        {
            creator->setPluginNamespace(pluginNamespace);
        }
#if NV_TENSORRT_MAJOR >= 10
        for (auto const& [creator, name] : mNamed)
        {
            name(*creator, pluginNamespace);
        }
#endif
    }

private:
    std::vector<std::unique_ptr<nvinfer1::IPluginCreator>> mV2;
#if NV_TENSORRT_MAJOR >= 10
    std::vector<std::unique_ptr<nvinfer1::IPluginCreatorV3One>> mV3;
    std::vector<std::pair<nvinfer1::IPluginCreatorV3One*, decltype(CreatorMaker::name)>> mNamed;
#endif
    std::vector<AnyCreator*> mListV2;
    std::vector<AnyCreator*> mListV3;
};

//! This layout's half of the library. `Creators` are those that PLUGINKIT_PLUGINS names.
template <typename... Creators>
struct Layout
{
    //! The creator classes of the library, each once.
    static std::vector<CreatorMaker> makers()
    {
        std::vector<CreatorMaker> all{makerOf<Creators>()...};
#if defined(PLUGINKIT_NV_INFER) || defined(PLUGINKIT_EXISTING_SOURCES)
        for (RegisteredCreator const* one = gRegisteredCreators; one != nullptr; one = one->next)
        {
            bool known{false};
            for (CreatorMaker const& other : all)
            {
                known = known || isSame(other, one->maker);
            }
            if (!known)
            {
                all.push_back(one->maker);
            }
        }
#endif
        return all;
    }

    static void const* listed(bool v3, int32_t& count) noexcept
    {
        try
        {
            static CreatorSet const creators{makers()};
            count = static_cast<int32_t>(creators.listed(v3).size());
            return creators.listed(v3).data();
        }
        catch (...)
        {
            count = 0;
            return nullptr;
        }
    }

    static bool enroll(void* where, char const* pluginNamespace, bool v3) noexcept
    {
        struct Enrolled
        {
            void* registry;
            std::string pluginNamespace;
            std::unique_ptr<CreatorSet> creators;
        };
        try
        {
            // Registries keep pointers to creators as long as the process lives, so nothing of this is given back.
            static auto* const mutex = new std::mutex;
            static auto* const enrolled = new std::vector<Enrolled>;
            std::lock_guard<std::mutex> const lock{*mutex};
            for (Enrolled const& known : *enrolled)
            {
                if (known.registry == where && known.pluginNamespace == pluginNamespace)
                {
                    return true;
                }
            }
            auto creators = std::make_unique<CreatorSet>(makers());
            creators->setNamespace(pluginNamespace);
            // All that can throw comes before the registry has a pointer.
            enrolled->push_back({where, pluginNamespace, std::move(creators)});
            if (!addAll(*static_cast<nvinfer1::IPluginRegistry*>(where), enrolled->back().creators->listed(v3),
                        pluginNamespace))
            {
                enrolled->pop_back();
                return false;
            }
            stayLoaded(&hooks);
            return true;
        }
        catch (...)
        {
            return false;
        }
    }

    //! All or, where the registry refuses one (it has that name, version and namespace already), none.
    static bool addAll(nvinfer1::IPluginRegistry& registry, std::vector<AnyCreator*> const& creators,
                       char const* pluginNamespace) noexcept
    {
        for (size_t i = 0; i < creators.size(); ++i)
        {
            if (!registry.registerCreator(*creators[i], pluginNamespace))
            {
                while (i > 0)
                {
                    registry.deregisterCreator(*creators[--i]);
                }
                return false;
            }
        }
        return !creators.empty();
    }

    static void hear(void* finder) noexcept
    {
        setFinder(finder);
    }

    static constexpr LayoutHooks hooks{NV_TENSORRT_MAJOR, &listed, &enroll, &hear};
};

} // namespace detail

} // namespace pluginkit

//! Puts a layout's half where the primary one finds it.
#define PLUGINKIT_HALF(Half)                                                                                           \
    namespace                                                                                                          \
    {                                                                                                                  \
    __attribute__((used, section("pluginkit_layouts"))) pluginkit::detail::LayoutHooks const* const gPluginkitHalf{    \
        &Half::hooks};                                                                                                 \
    }

#ifdef PLUGINKIT_SECONDARY

#define PLUGINKIT_ENTRY(Stem, Half) PLUGINKIT_HALF(Half)
#define PLUGINKIT_REGISTER_ON_LOAD

#else

// Where the section of this very library begins and ends: names that the linker gives. Hidden, so that no other
// library's halves can stand in for them. NOLINTBEGIN(bugprone-reserved-identifier)
extern "C"
    __attribute__((visibility("hidden"))) pluginkit::detail::LayoutHooks const* const __start_pluginkit_layouts[];
extern "C" __attribute__((visibility("hidden"))) pluginkit::detail::LayoutHooks const* const __stop_pluginkit_layouts[];
// NOLINTEND(bugprone-reserved-identifier)

namespace pluginkit
{

namespace detail
{

//! The half that has the classes of a layout; null where this library has none.
inline LayoutHooks const* halfFor(int32_t layout) noexcept
{
    for (auto const* one = __start_pluginkit_layouts; one != __stop_pluginkit_layouts; ++one)
    {
        if ((*one)->layout == layout)
        {
            return *one;
        }
    }
    return nullptr;
}

//! Gives the finder to the half whose classes lie as those of the library that it comes from.
inline void tellLogger(void* finder, int32_t version) noexcept
{
    LayoutHooks const* const half = version != 0 ? halfFor(servedBy(version).layout) : nullptr;
    if (half != nullptr)
    {
        half->hear(finder);
    }
}

//! The creators for a library of that kind. V3 creators, which lie alike in all layouts that have them, are those of
//! this half.
inline void const* creatorsFor(Served served, LayoutHooks const& primary, int32_t& count) noexcept
{
    count = 0;
    LayoutHooks const* const half = served.v3 ? &primary : halfFor(served.layout);
    return half != nullptr ? half->listed(served.v3, count) : nullptr;
}

//! Registers the creators in every registry of the process, or in those of TensorRT 8.
inline bool enrollEverywhere(char const* pluginNamespace, bool only8 = false) noexcept
{
    try
    {
        bool all{true};
        bool any{false};
        for (FoundRegistry const& found : findRegistries())
        {
            Served const served = servedBy(found.version);
            if (only8 && served.layout != 8)
            {
                continue;
            }
            // A registry is called through the half whose IPluginRegistry lies as it does.
            LayoutHooks const* const half = halfFor(served.layout);
            bool const done =
                half != nullptr &&
                half->enroll(found.registry, pluginNamespace != nullptr ? pluginNamespace : "", served.v3);
            all = all && done;
            any = true;
        }
        return all && any;
    }
    catch (...)
    {
        return false;
    }
}

} // namespace detail

} // namespace pluginkit

#if NV_TENSORRT_MAJOR >= 10
#define PLUGINKIT_GET_CREATORS(Half)                                                                                   \
    extern "C" PLUGINKIT_EXPORT nvinfer1::IPluginCreatorInterface* const* getCreators(int32_t& nbCreators) noexcept    \
    {                                                                                                                  \
        return static_cast<nvinfer1::IPluginCreatorInterface* const*>(                                                 \
            pluginkit::detail::creatorsFor(gPluginkitServed, Half::hooks, nbCreators));                                \
    }
#else
#define PLUGINKIT_GET_CREATORS(Half)
#endif

#define PLUGINKIT_ENTRY(Stem, Half)                                                                                    \
    PLUGINKIT_HALF(Half)                                                                                               \
    namespace                                                                                                          \
    {                                                                                                                  \
    pluginkit::Served gPluginkitServed{pluginkit::detail::servedBy(0)};                                                \
    bool gPluginkitOnLoad{false};                                                                                      \
    }                                                                                                                  \
    extern "C" PLUGINKIT_EXPORT void setLoggerFinder(nvinfer1::ILoggerFinder* finder) noexcept                         \
    {                                                                                                                  \
        int32_t const version = pluginkit::detail::versionBehind(finder);                                              \
        gPluginkitServed = pluginkit::detail::servedBy(version);                                                       \
        pluginkit::detail::tellLogger(finder, version);                                                                \
    }                                                                                                                  \
    PLUGINKIT_GET_CREATORS(Half)                                                                                       \
    extern "C" PLUGINKIT_EXPORT nvinfer1::IPluginCreator* const* getPluginCreators(int32_t& nbCreators) noexcept       \
    {                                                                                                                  \
        nbCreators = 0;                                                                                                \
        /* Of TensorRT 10 and later, which have getCreators, none may take what it finds here. */                      \
        pluginkit::Served const served =                                                                               \
            pluginkit::detail::servedBy(pluginkit::detail::versionAt(__builtin_return_address(0)));                    \
        return served.layout == 8 && !gPluginkitOnLoad                                                                 \
                   ? static_cast<nvinfer1::IPluginCreator* const*>(                                                    \
                         pluginkit::detail::creatorsFor(served, Half::hooks, nbCreators))                              \
                   : nullptr;                                                                                          \
    }                                                                                                                  \
    extern "C" PLUGINKIT_EXPORT bool init##Stem##Plugins(void* /*logger*/, char const* libNamespace) noexcept          \
    {                                                                                                                  \
        return pluginkit::detail::enrollEverywhere(libNamespace);                                                      \
    }

//! Has the library register its creators in TensorRT 8 while it is opened: see the top.
#define PLUGINKIT_REGISTER_ON_LOAD                                                                                     \
    namespace                                                                                                          \
    {                                                                                                                  \
    __attribute__((constructor)) void pluginkitOnLoad() noexcept                                                       \
    {                                                                                                                  \
        gPluginkitOnLoad = pluginkit::detail::enrollEverywhere("", true);                                              \
    }                                                                                                                  \
    }

#endif

//! The entry of a library whose creators are these and those that REGISTER_TENSORRT_PLUGIN names.
#define PLUGINKIT_PLUGINS(Stem, ...)                                                                                   \
    namespace                                                                                                          \
    {                                                                                                                  \
    using PluginkitHalf = pluginkit::detail::Layout<__VA_ARGS__>;                                                      \
    }                                                                                                                  \
    PLUGINKIT_ENTRY(Stem, PluginkitHalf)

#ifdef PLUGINKIT_NV_INFER
//! The entry of a library whose creators are all named by REGISTER_TENSORRT_PLUGIN. Not with a TensorRT SDK's headers,
//! whose macro calls libnvinfer instead.
#define PLUGINKIT_REGISTERED_PLUGINS(Stem)                                                                             \
    namespace                                                                                                          \
    {                                                                                                                  \
    using PluginkitHalf = pluginkit::detail::Layout<>;                                                                 \
    }                                                                                                                  \
    PLUGINKIT_ENTRY(Stem, PluginkitHalf)
#endif
