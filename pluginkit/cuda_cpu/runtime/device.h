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

//! What stands for the registers of a thread in all kernels: nothing here counts them.
constexpr int kREGISTERS = 32;

} // namespace v2

} // namespace pluginkit_cpu
