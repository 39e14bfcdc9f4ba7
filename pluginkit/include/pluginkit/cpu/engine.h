//! What compiled device code asks of the runtime that is linked into the same library.
//!
//! A launch's threads are fibers of one host thread. Each runs until it waits for others of its block or its warp; then
//! the next one goes on. So a kernel without such waiting is a plain loop over its threads.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

#define PLUGINKIT_CPU_HIDDEN __attribute__((visibility("hidden")))

#define PLUGINKIT_CPU_INLINE inline __attribute__((always_inline))

// The caller's place, for messages: as last parameters of a function that a kernel calls.
#define PLUGINKIT_CPU_PLACE char const *file = __builtin_FILE(), int line = __builtin_LINE()

// One look-up serves all such variables of a function, which the compiler doesn't do of itself.
#define PLUGINKIT_CPU_THREAD_LOCAL __attribute__((visibility("hidden"), tls_model("local-dynamic"))) __thread

// A kernel's names for its place in the launch; the engine sets them for each thread.
extern PLUGINKIT_CPU_THREAD_LOCAL uint3 threadIdx;
extern PLUGINKIT_CPU_THREAD_LOCAL uint3 blockIdx;
extern PLUGINKIT_CPU_THREAD_LOCAL dim3 blockDim;
extern PLUGINKIT_CPU_THREAD_LOCAL dim3 gridDim;
constexpr int warpSize = 32;

namespace pluginkit_cpu
{

inline namespace v2
{

//! A line of the user's source.
struct Place
{
    char const* file;
    int line;
};

//! A `__shared__` declaration; one object for each, whose address is its identity.
struct SharedArray
{
    size_t size;
    size_t alignment;
    char const* name;
    Place place;
};

//! What the lanes of a warp exchanged.
struct Lanes
{
    uint64_t values[32];
    uint32_t arrived;    //!< A bit for each lane that took part.
    uint32_t predicates; //!< A bit for each of them whose predicate was true.
};

//! Whether this host thread is running a thread of a kernel.
PLUGINKIT_CPU_HIDDEN bool inKernel() noexcept;

//! Waits for all threads of the block that haven't ended; gives how many of them brought a true predicate. Ids 0 to 15.
PLUGINKIT_CPU_HIDDEN int blockBarrier(bool predicate, unsigned int id, Place place);

//! `__syncthreads`: the same with id 0, and no answer.
PLUGINKIT_CPU_HIDDEN void syncThreads(char const* file, int line);

//! Waits for the lanes in `mask` that haven't ended. `operation` names the CUDA function; lanes that meet in different
//! ones are a finding. What it gives is good until this lane waits again.
PLUGINKIT_CPU_HIDDEN Lanes const& warpMeet(uint32_t mask, uint64_t value, bool predicate, char const* operation,
                                           Place place);

//! The lanes of this warp that are at this place once nothing else of the block can run.
PLUGINKIT_CPU_HIDDEN uint32_t activeMask(Place place);

inline unsigned int laneId() noexcept
{
    return (threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)) % warpSize;
}

//! Reports a shuffle that read a lane which took no part (in a checked build; the value is poison in every build).
PLUGINKIT_CPU_HIDDEN void readInactiveLane(char const* operation, unsigned int lane, Place place);

//! The current block's storage for a declaration, poisoned when the block began.
PLUGINKIT_CPU_HIDDEN void* staticShared(SharedArray const& array);

//! The start of the launch's dynamic shared memory.
PLUGINKIT_CPU_HIDDEN void* dynamicShared(SharedArray const& array);

//! How many bytes of shared memory the launch asked for, and with those of the static arrays that the block has named.
PLUGINKIT_CPU_HIDDEN size_t dynamicSharedSize() noexcept;
PLUGINKIT_CPU_HIDDEN size_t totalSharedSize() noexcept;

//! Two words of the launch's, of which the second is zero at its begin; null if the launch isn't a cooperative one.
PLUGINKIT_CPU_HIDDEN void* gridWorkspace() noexcept;

//! The 32-bit address that PTX has for a pointer into shared memory.
PLUGINKIT_CPU_HIDDEN uint32_t sharedOffset(void const* pointer) noexcept;

//! The pointer for such an address; any other address is the pointer itself.
PLUGINKIT_CPU_HIDDEN void* sharedPointer(uint64_t address) noexcept;

//! Whether a pointer lies in the current block's shared memory.
PLUGINKIT_CPU_HIDDEN bool isShared(void const* pointer) noexcept;

//! Lets other threads of the launch run: what a thread does that may be waiting for one of them.
PLUGINKIT_CPU_HIDDEN void yield() noexcept;

//! `__threadfence` and its like.
PLUGINKIT_CPU_HIDDEN void fence() noexcept;

//! Ends the launch with an error that sticks, as `__trap` does.
[[noreturn]] PLUGINKIT_CPU_HIDDEN void trap(char const* why, Place place);

//! Ends the calling thread alone, as PTX's `exit` does.
[[noreturn]] PLUGINKIT_CPU_HIDDEN void exitThread() noexcept;

#ifdef PLUGINKIT_CPU_CHECKED
//! Tells the checks of memory accesses that the next access to these bytes is an atomic one.
PLUGINKIT_CPU_HIDDEN void atomicAccess(void const volatile* address, size_t size) noexcept;

//! Of a function whose accesses are its caller's: so findings name the caller's line.
#define PLUGINKIT_CPU_IN_CALLER PLUGINKIT_CPU_INLINE
#else
#define PLUGINKIT_CPU_IN_CALLER inline
inline void atomicAccess(void const volatile* /*address*/, size_t /*size*/) noexcept {}
#endif

} // namespace v2

} // namespace pluginkit_cpu
