//! Kernels that are launched by an address alone, which shows nothing of their parameters: where a kernel's address
//! becomes a void*, how to call it is remembered.
//!
//! The compiler of target cpu makes `(void*)x` an `Address<void*>{}->*x`, which binds as a cast does, and
//! `reinterpret_cast<void*>(x)` an `addressOf<void*>(x)` (cuda_cpu/addresses.py).
#pragma once

#include <pluginkit/cpu/kernel.h>

#include <type_traits>
#include <utility>

namespace pluginkit_cpu
{

inline namespace v2
{

//! Launches the kernel at an address, whose type it knows.
using Launcher = cudaError_t (*)(void const* kernel, Configuration const& configuration, void** arguments);

PLUGINKIT_CPU_HIDDEN void rememberLauncher(void const* kernel, Launcher launcher);

template <typename... Parameters>
void remember(void (*kernel)(Parameters...))
{
    if constexpr ((std::is_copy_constructible_v<std::decay_t<Parameters>> && ...))
    {
        auto const launcher = [](void const* address, Configuration const& configuration, void** arguments)
        {
            return launchTyped(reinterpret_cast<void (*)(Parameters...)>(const_cast<void*>(address)), configuration,
                               arguments, std::index_sequence_for<Parameters...>{});
        };
        rememberLauncher(reinterpret_cast<void const*>(kernel), launcher);
    }
}

//! Functions that return something are not kernels.
inline void remember(...) {}

template <typename To, typename T>
To addressOf(T const& value)
{
    if constexpr (std::is_function_v<std::remove_pointer_t<T>>)
    {
        remember(value);
    }
    return (To)value;
}

template <typename To>
struct Address
{
    template <typename T>
    To operator->*(T const& value) const
    {
        return addressOf<To>(value);
    }
};

} // namespace v2

} // namespace pluginkit_cpu
