//! Pointers of structs to pageable host memory, in whose place kernels get others (`closePointer`).
#pragma once

#include <pluginkit/cpu/engine.h>

#include <cstdint>
#include <string>

namespace pluginkit_cpu
{

inline namespace v2
{

//! Whose pointer the address is of, and to what it pointed; empty where it is of none.
PLUGINKIT_CPU_HIDDEN std::string describeClosed(uintptr_t address);

} // namespace v2

} // namespace pluginkit_cpu
