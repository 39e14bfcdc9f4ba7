//! The device that target cpu shows, and its limits, in one table.
#pragma once

#include "state.h"

#include <optional>

namespace pluginkit_cpu
{

inline namespace v2
{

//! The value of an attribute; nothing for one that the table doesn't have.
PLUGINKIT_CPU_HIDDEN std::optional<int> attributeOf(cudaDeviceAttr attribute) noexcept;

//! Of one that the table has.
PLUGINKIT_CPU_HIDDEN int limitOf(cudaDeviceAttr attribute) noexcept;

//! No device's number.
constexpr int kNO_DEVICE = -1;

//! The device that each host thread begins with: the last one.
PLUGINKIT_CPU_HIDDEN int homeDevice() noexcept;

//! The host thread's.
PLUGINKIT_CPU_HIDDEN int currentDevice() noexcept;

PLUGINKIT_CPU_HIDDEN bool isDevice(int device) noexcept;

//! Makes it the host thread's, for the call that returns to `code`; whether there is such a device.
PLUGINKIT_CPU_HIDDEN bool setDevice(int device, void const* code) noexcept;

//! Reports that the plugin has left another device current than it found, and sets that back.
PLUGINKIT_CPU_HIDDEN void checkDevice();

//! What stands for the registers of a thread in all kernels: nothing here counts them.
constexpr int kREGISTERS = 32;

} // namespace v2

} // namespace pluginkit_cpu
