//! A plugin of little code: pluginkit.toml says its tensors and fields, a kernel computes, and this makes the plugin.
//!
//!     #include "my_plugin_signature.h" // which the build makes of pluginkit.toml
//!
//!     #include <pluginkit/entry.h>
//!     #include <pluginkit/layer.h>
//!
//!     namespace my_plugin
//!     {
//!     class MyPlugin final : public pluginkit::Layer<MyPlugin, Signature>
//!     {
//!     };
//!     } // namespace my_plugin
//!
//!     PLUGINKIT_PLUGINS(MyPlugin, pluginkit::Creator<my_plugin::MyPlugin>)
//!
//! and in a .cu file
//!
//!     cudaError_t my_plugin::launch(Run const& run) noexcept
//!
//! which starts the kernel on `run.stream`, with `run.fields.alpha`, `run.in.x.data` and `run.out.y.data`.
//!
//! The class is a TensorRT plugin: it derives from IPluginV2DynamicExt, IPluginV2IOExt or IPluginV3, as `base` of
//! pluginkit.toml says, and may override each of the interface's methods. With base = ["dynamic", "v3"] it is an
//! IPluginV3, and compiled for TensorRT 8 an IPluginV2DynamicExt. What TensorRT has no method for is a method
//! of `LayerCore`: problem(), fits(), workspaceBytes(). A third argument of `Layer` is a plain struct that is kept in
//! the engine: state().
#pragma once

#include <pluginkit/layer/dynamic.h>
#include <pluginkit/layer/ioext.h>
#if NV_TENSORRT_MAJOR >= 10
#include <pluginkit/layer/v3.h>
#endif

namespace pluginkit
{

namespace detail
{

template <Base>
struct LayerOf;

template <>
struct LayerOf<Base::kDynamic>
{
    template <typename Derived, typename Signature, typename State>
    using type = DynamicLayer<Derived, Signature, State>;
};

template <>
struct LayerOf<Base::kIOExt>
{
    template <typename Derived, typename Signature, typename State>
    using type = IOExtLayer<Derived, Signature, State>;
};

#if NV_TENSORRT_MAJOR >= 10
template <>
struct LayerOf<Base::kV3>
{
    template <typename Derived, typename Signature, typename State>
    using type = V3Layer<Derived, Signature, State>;
};
#endif

//! The interface of a layer with the TensorRT that this is compiled for.
template <typename Signature>
constexpr Base baseOf() noexcept
{
    return NV_TENSORRT_MAJOR >= 10 ? Signature::kBase : Signature::kBaseBeforeV3;
}

template <typename Layer, bool V2>
struct CreatorOf
{
    using type = V2Creator<Layer>;
};

#if NV_TENSORRT_MAJOR >= 10
template <typename Layer>
struct CreatorOf<Layer, false>
{
    using type = V3Creator<Layer>;
};
#endif

} // namespace detail

//! The interface that `base` of pluginkit.toml names, with all of its methods.
template <typename Derived, typename Signature, typename State = NoState>
using Layer = typename detail::LayerOf<detail::baseOf<Signature>()>::template type<Derived, Signature, State>;

//! What makes a layer's plugins: the creator class that PLUGINKIT_PLUGINS of pluginkit/entry.h takes.
template <typename Layer>
using Creator = typename detail::CreatorOf<Layer, std::is_base_of_v<nvinfer1::IPluginV2, Layer>>::type;

} // namespace pluginkit
