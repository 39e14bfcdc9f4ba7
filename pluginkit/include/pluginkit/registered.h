//! The creator classes of a library, and REGISTER_TENSORRT_PLUGIN for pluginkit's own TensorRT headers.
#pragma once

#include <NvInferRuntime.h>

#include <type_traits>
#include <utility>

namespace pluginkit
{

namespace detail
{

#if NV_TENSORRT_MAJOR >= 10
//! What all creators are.
using AnyCreator = nvinfer1::IPluginCreatorInterface;

//! A creator class that this library has, as the way to make one. What it is decides which of the two is not null.
struct CreatorMaker
{
    nvinfer1::IPluginCreator* (*v2)();
    nvinfer1::IPluginCreatorV3One* (*v3)();
    //! Gives a V3 creator another namespace, which TensorRT's interface has no method for; null where the class has no
    //! setPluginNamespace of its own.
    void (*name)(nvinfer1::IPluginCreatorV3One& creator, char const* pluginNamespace);
};

template <typename Creator, typename = void>
struct Namespaces
{
    static constexpr void (*set)(nvinfer1::IPluginCreatorV3One&, char const*){nullptr};
};

template <typename Creator>
struct Namespaces<Creator, std::void_t<decltype(std::declval<Creator&>().setPluginNamespace(""))>>
{
    static void set(nvinfer1::IPluginCreatorV3One& creator, char const* pluginNamespace)
    {
        static_cast<Creator&>(creator).setPluginNamespace(pluginNamespace);
    }
};

template <typename Creator>
constexpr CreatorMaker makerOf() noexcept
{
    static_assert(std::is_base_of_v<nvinfer1::IPluginCreator, Creator> ||
                      std::is_base_of_v<nvinfer1::IPluginCreatorV3One, Creator>,
                  "a creator derives from nvinfer1::IPluginCreator or nvinfer1::IPluginCreatorV3One");
    if constexpr (std::is_base_of_v<nvinfer1::IPluginCreator, Creator>)
    {
        return {+[]() -> nvinfer1::IPluginCreator* { return new Creator; }, nullptr, nullptr};
    }
    else
    {
        return {nullptr, +[]() -> nvinfer1::IPluginCreatorV3One* { return new Creator; }, Namespaces<Creator>::set};
    }
}

constexpr bool isSame(CreatorMaker const& one, CreatorMaker const& other) noexcept
{
    return one.v2 == other.v2 && one.v3 == other.v3;
}
#else
//! TensorRT 8 has creators of V2 plugins alone, without a common base.
using AnyCreator = nvinfer1::IPluginCreator;

struct CreatorMaker
{
    nvinfer1::IPluginCreator* (*v2)();
};

template <typename Creator>
constexpr CreatorMaker makerOf() noexcept
{
    static_assert(std::is_base_of_v<nvinfer1::IPluginCreator, Creator>,
                  "a creator derives from nvinfer1::IPluginCreator: TensorRT 8 has no other");
    return {+[]() -> nvinfer1::IPluginCreator* { return new Creator; }};
}

constexpr bool isSame(CreatorMaker const& one, CreatorMaker const& other) noexcept
{
    return one.v2 == other.v2;
}
#endif

} // namespace detail

} // namespace pluginkit

// A TensorRT SDK's headers have a macro of that name, which calls the registry of libnvinfer.
#if defined(PLUGINKIT_NV_INFER) || defined(PLUGINKIT_EXISTING_SOURCES)

namespace pluginkit
{

namespace detail
{

//! The creator classes that REGISTER_TENSORRT_PLUGIN has named, chained through the macro's static objects.
struct RegisteredCreator
{
    CreatorMaker maker;
    RegisteredCreator* next;
};

// Hidden, so that each library has a list of its own even where all its names are visible.
__attribute__((visibility("hidden"))) inline RegisteredCreator* gRegisteredCreators{nullptr};

} // namespace detail

} // namespace pluginkit

#ifdef PLUGINKIT_NV_INFER
namespace nvinfer1
#else
#undef REGISTER_TENSORRT_PLUGIN
namespace pluginkit::existing
#endif
{

//! Puts a creator class on this library's list. Unlike a TensorRT SDK's, which calls the registry while the library is
//! being loaded, it needs no libnvinfer: getCreators of pluginkit/entry.h gives what is on the list.
template <typename T>
class PluginRegistrar
{
public:
    PluginRegistrar() noexcept
    {
        pluginkit::detail::RegisteredCreator** last = &pluginkit::detail::gRegisteredCreators;
        while (*last != nullptr)
        {
            last = &(*last)->next;
        }
        *last = &mEntry;
    }
    PluginRegistrar(PluginRegistrar const&) = delete;
    PluginRegistrar& operator=(PluginRegistrar const&) = delete;

private:
    pluginkit::detail::RegisteredCreator mEntry{pluginkit::detail::makerOf<T>(), nullptr};
};

} // namespace nvinfer1, or pluginkit::existing beside a TensorRT SDK's

//! `name` is a creator class's name without its namespace.
#ifdef PLUGINKIT_NV_INFER
#define REGISTER_TENSORRT_PLUGIN(name)                                                                                 \
    static nvinfer1::PluginRegistrar<name> pluginRegistrar##name {}
#else
#define REGISTER_TENSORRT_PLUGIN(name)                                                                                 \
    static pluginkit::existing::PluginRegistrar<name> pluginRegistrar##name {}
#endif

#endif
