//! What a plugin library exports.
//!
//!     #include "my_plugin.h"
//!     #include <pluginkit/entry.h>
//!     PLUGINKIT_PLUGINS(MyPlugin, my_plugin::MyPluginCreator)
//!
//! gives the library
//!   setLoggerFinder, getCreators     what IPluginRegistry::loadLibrary looks for. TensorRT calls setLoggerFinder
//!   first, and
//!                                    that tells which library is loading, so getCreators gives exactly one creator a
//!                                    plugin: V2 of the right layout, or the V3 adapter for TensorRT-RTX
//!   initMyPluginPlugins              bool (void* logger, char const* libNamespace): registers the creators under that
//!                                    namespace in the registry of every TensorRT library of the process
//!
//! pluginkit's CMake package compiles this file once for each layout (PLUGINKIT_TRT_LAYOUT). The one with
//! PLUGINKIT_SECONDARY exports nothing; the other reaches it through pluginkitSecondaryLayout. Compiled once and by
//! hand, the library serves the layout it was compiled for, and TensorRT-RTX.
#pragma once

#include <NvInfer.h>
#include <pluginkit/loader.h>
#include <pluginkit/v3_adapter.h>

#include <array>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#define PLUGINKIT_EXPORT __attribute__((visibility("default")))

namespace pluginkit
{

namespace detail
{

//! What the code of one layout offers to the other. The types in it lie alike in both.
struct LayoutHooks
{
    //! The creators for loadLibrary; the same list at every call.
    nvinfer1::IPluginCreatorInterface* const* (*listed)(bool v3, int32_t& count) noexcept;
    //! Registers creators of its own under a namespace; true if they are all there now.
    bool (*enroll)(void* registry, char const* pluginNamespace, bool v3) noexcept;
};

//! One creator of each class, as V2 and, on top of these, as V3.
template <typename... Creators>
class CreatorSet
{
public:
    CreatorSet() : CreatorSet(std::index_sequence_for<Creators...>{}) {}
    nvinfer1::IPluginCreatorInterface* const* listed(bool v3) const noexcept
    {
        return v3 ? mListV3.data() : mListV2.data();
    }
    void setNamespace(char const* pluginNamespace) noexcept
    {
        std::apply([=](auto&... creator) { (creator.setPluginNamespace(pluginNamespace), ...); }, mV2);
    }

    static constexpr int32_t kCOUNT{static_cast<int32_t>(sizeof...(Creators))};

private:
    template <size_t... I>
    explicit CreatorSet(std::index_sequence<I...> /*indices*/)
        : mV3{V3AdapterCreator{std::get<I>(mV2)}...}, mListV2{&std::get<I>(mV2)...}, mListV3{&mV3[I]...}
    {
    }

    std::tuple<Creators...> mV2;
    std::array<V3AdapterCreator, sizeof...(Creators)> mV3;
    std::array<nvinfer1::IPluginCreatorInterface*, sizeof...(Creators)> mListV2;
    std::array<nvinfer1::IPluginCreatorInterface*, sizeof...(Creators)> mListV3;
};

template <typename... Creators>
struct Layout
{
    static_assert(sizeof...(Creators) > 0, "PLUGINKIT_PLUGINS needs at least one creator");
    static_assert((std::is_base_of_v<nvinfer1::IPluginCreator, Creators> && ...),
                  "PLUGINKIT_PLUGINS takes classes that derive from nvinfer1::IPluginCreator");

    static nvinfer1::IPluginCreatorInterface* const* listed(bool v3, int32_t& count) noexcept
    {
        try
        {
            static CreatorSet<Creators...> creators;
            count = creators.kCOUNT;
            return creators.listed(v3);
        }
        catch (...)
        {
            count = 0;
            return nullptr;
        }
    }

    static bool enroll(void* where, char const* pluginNamespace, bool v3) noexcept
    {
        using Set = CreatorSet<Creators...>;
        try
        {
            auto& registry = *static_cast<nvinfer1::IPluginRegistry*>(where);
            // The registry keeps pointers to creators as long as the process lives, so they are never given back.
            static auto* const enrolled = new std::vector<std::pair<std::pair<void*, std::string>, Set*>>;
            std::pair<void*, std::string> const key{where, pluginNamespace};
            for (auto const& [known, creators] : *enrolled)
            {
                if (known == key)
                {
                    return true;
                }
            }
            auto creators = std::make_unique<Set>();
            creators->setNamespace(pluginNamespace);
            int32_t taken{0};
            for (; taken < Set::kCOUNT; ++taken)
            {
                if (!registry.registerCreator(*creators->listed(v3)[taken], pluginNamespace))
                {
                    break;
                }
            }
            if (taken < Set::kCOUNT)
            {
                while (taken > 0)
                {
                    registry.deregisterCreator(*creators->listed(v3)[--taken]);
                }
                return false;
            }
            enrolled->emplace_back(key, creators.release());
            stayLoaded(&hooks);
            return true;
        }
        catch (...)
        {
            return false;
        }
    }

    static constexpr LayoutHooks hooks{&listed, &enroll};
};

} // namespace detail

} // namespace pluginkit

#ifdef PLUGINKIT_SECONDARY

#define PLUGINKIT_PLUGINS(Stem, ...)                                                                                   \
    extern "C" PLUGINKIT_EXPORT pluginkit::detail::LayoutHooks const* pluginkitSecondaryLayout() noexcept              \
    {                                                                                                                  \
        return &pluginkit::detail::Layout<__VA_ARGS__>::hooks;                                                         \
    }

#else

//! The other layout's half of this library; null where the library was compiled for one layout only.
extern "C" PLUGINKIT_EXPORT pluginkit::detail::LayoutHooks const* pluginkitSecondaryLayout() noexcept
    __attribute__((weak));

namespace pluginkit
{

namespace detail
{

//! The half that has the V2 classes of a layout (10 or 11); null where this library has none.
inline LayoutHooks const* halfFor(int32_t layout, LayoutHooks const& primary) noexcept
{
    if (layout == NV_TENSORRT_MAJOR)
    {
        return &primary;
    }
    // A library without the other half leaves the weak reference null.
    auto* const secondary = &pluginkitSecondaryLayout;
    return secondary != nullptr ? secondary() : nullptr;
}

inline nvinfer1::IPluginCreatorInterface* const* creatorsFor(Served served, LayoutHooks const& primary,
                                                             int32_t& count) noexcept
{
    count = 0;
    if (served == Served::kNOTHING)
    {
        return nullptr;
    }
    if (served == Served::kV3)
    {
        return primary.listed(true, count);
    }
    LayoutHooks const* const half = halfFor(served == Served::kV2_LAYOUT10 ? 10 : 11, primary);
    return half != nullptr ? half->listed(false, count) : nullptr;
}

inline bool enrollEverywhere(char const* pluginNamespace, LayoutHooks const& primary) noexcept
{
    try
    {
        bool all{true};
        bool any{false};
        for (FoundRegistry const& found : findRegistries())
        {
            Served const served = servedBy(found.version);
            // A registry is called through the half whose IPluginRegistry lies as it does.
            LayoutHooks const* const half = halfFor(registryLayout(found.version), primary);
            bool const done =
                served != Served::kNOTHING && half != nullptr &&
                half->enroll(found.registry, pluginNamespace != nullptr ? pluginNamespace : "", served == Served::kV3);
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

#define PLUGINKIT_PLUGINS(Stem, ...)                                                                                   \
    namespace                                                                                                          \
    {                                                                                                                  \
    pluginkit::Served gPluginkitServed{pluginkit::Served::kV2_LAYOUT11};                                               \
    }                                                                                                                  \
    extern "C" PLUGINKIT_EXPORT void setLoggerFinder(nvinfer1::ILoggerFinder* finder)                                  \
    {                                                                                                                  \
        gPluginkitServed = pluginkit::detail::servedBy(pluginkit::detail::versionBehind(finder));                      \
    }                                                                                                                  \
    extern "C" PLUGINKIT_EXPORT nvinfer1::IPluginCreatorInterface* const* getCreators(int32_t& nbCreators)             \
    {                                                                                                                  \
        return pluginkit::detail::creatorsFor(gPluginkitServed, pluginkit::detail::Layout<__VA_ARGS__>::hooks,         \
                                              nbCreators);                                                             \
    }                                                                                                                  \
    extern "C" PLUGINKIT_EXPORT bool init##Stem##Plugins(void* /*logger*/, char const* libNamespace)                   \
    {                                                                                                                  \
        return pluginkit::detail::enrollEverywhere(libNamespace, pluginkit::detail::Layout<__VA_ARGS__>::hooks);       \
    }

#endif
