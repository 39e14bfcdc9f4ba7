//! What the library has taken and not given back: device and pinned memory, streams, events, and handles and
//! descriptors of NVIDIA's libraries.
#pragma once

#include "state.h"

#include <pluginkit/cpu/control.h>

namespace pluginkit_cpu
{

inline namespace v2
{

//! `kind` is a word for the user: "device memory", "stream". Without a caller it is the harness's own.
PLUGINKIT_CPU_HIDDEN void took(char const* kind, void const* object, size_t size, Caller const& caller);
PLUGINKIT_CPU_HIDDEN void gaveBack(void const* object);
PLUGINKIT_CPU_HIDDEN bool isTaken(char const* kind, void const* object);

//! As PluginkitCpuControl has them.
PLUGINKIT_CPU_HIDDEN uint64_t lastObject() noexcept;
PLUGINKIT_CPU_HIDDEN size_t liveObjects(uint64_t after, PluginkitCpuObject* objects, size_t room) noexcept;

} // namespace v2

} // namespace pluginkit_cpu
