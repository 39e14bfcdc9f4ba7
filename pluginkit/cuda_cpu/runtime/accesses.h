//! What the engine passes to the checks of memory accesses: the order that it gives to the threads' accesses.
//!
//! The current block and thread are blockIdx and threadIdx, but where a function takes them. Without
//! PLUGINKIT_CPU_CHECKED there are no such checks, and the calls cost nothing.
//!
//! How the checks are made: the user's sources are compiled with -fsanitize=thread, but linked without libtsan. What
//! the compiled code calls is ours: accesses_entry.cpp and accesses_atomic.cpp. From there each access goes to two
//! checks: accesses_races.h (two threads, the same bytes, no order) and accesses_written.h (uninitialized bytes).
//! Which accesses are ordered, accesses_order.h knows. PLUGINKIT_CPU_CHECK=thread,memory selects; both is the default.
#pragma once

#ifdef PLUGINKIT_CPU_COMMON
#error "a source that tells the checks something is compiled with and without them: name it in CMakeLists.txt"
#endif

#include <pluginkit/cpu/engine.h>

namespace pluginkit_cpu
{

inline namespace v2
{

//! The content of uninitialized memory: NaN in every floating-point type.
constexpr unsigned char kPOISON = 0xFF;

namespace accesses
{

#ifdef PLUGINKIT_CPU_CHECKED
PLUGINKIT_CPU_HIDDEN void launchBegins(char const* kernel, dim3 const& grid, dim3 const& block);
PLUGINKIT_CPU_HIDDEN void launchEnds();
PLUGINKIT_CPU_HIDDEN void blockBegins(uint64_t block);
PLUGINKIT_CPU_HIDDEN void blockEnds(uint64_t block);
//! A barrier of the current block is complete.
PLUGINKIT_CPU_HIDDEN void barrierPassed();
//! These lanes of the current warp have met in __syncwarp.
PLUGINKIT_CPU_HIDDEN void warpSynced(uint32_t lanes);
PLUGINKIT_CPU_HIDDEN void fenced();
//! A shared array of the current block, whose bytes are uninitialized.
PLUGINKIT_CPU_HIDDEN void sharedStarts(void* memory, size_t size, char const* name);
#else
inline void launchBegins(char const* /*kernel*/, dim3 const& /*grid*/, dim3 const& /*block*/) {}
inline void launchEnds() {}
inline void blockBegins(uint64_t /*block*/) {}
inline void blockEnds(uint64_t /*block*/) {}
inline void barrierPassed() {}
inline void fenced() {}
inline void sharedStarts(void* /*memory*/, size_t /*size*/, char const* /*name*/) {}
#endif

} // namespace accesses

} // namespace v2

} // namespace pluginkit_cpu
