//! What the runtime's sources share.
#pragma once

#include <pluginkit/cpu/kernel.h>

namespace pluginkit_cpu
{

inline namespace v2
{

//! Remembers an error for cudaGetLastError() of this host thread, and gives it back.
PLUGINKIT_CPU_HIDDEN cudaError_t failed(cudaError_t error) noexcept;

} // namespace v2

} // namespace pluginkit_cpu
