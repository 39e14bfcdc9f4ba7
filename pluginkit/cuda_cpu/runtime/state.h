//! What the runtime's parts know of one another: errors, streams' work, device memory, the rules of enqueue().
//!
//! All state belongs to the library that the runtime is linked into. It is made before the library's own objects and
//! freed after them, when the library is unloaded.
#pragma once

#include <pluginkit/cpu/kernel.h>

#include <functional>
#include <new>
#include <string>

namespace pluginkit_cpu
{

inline namespace v2
{

// --- errors.cpp ---

//! Remembers an error for cudaGetLastError() of this host thread, and gives it back.
PLUGINKIT_CPU_HIDDEN cudaError_t failed(cudaError_t error) noexcept;

//! An error of a kernel, after which every call of the library gives it. The first one stays.
PLUGINKIT_CPU_HIDDEN void stick(cudaError_t error) noexcept;

//! The error that sticks, or cudaSuccess.
PLUGINKIT_CPU_HIDDEN cudaError_t stuck() noexcept;

//! Forgets the error that sticks, and this thread's last one: what no CUDA program can, but a test harness must.
PLUGINKIT_CPU_HIDDEN void clearErrors() noexcept;

//! What cudaPeekAtLastError() gives.
PLUGINKIT_CPU_HIDDEN cudaError_t peekError() noexcept;

//! The CUDA function that the user called, for findings.
struct Caller
{
    char const* function;
    void const* code; //!< Where it returns to.
};

//! Whether this host thread is in a function that a stream calls, where CUDA forbids calls of CUDA.
PLUGINKIT_CPU_HIDDEN bool inHostFunction() noexcept;

//! While it lives, a kernel's thread that has called CUDA isn't stopped in favour of others, which would wait for the
//! locks that it holds. Outside of kernels nothing.
class PLUGINKIT_CPU_HIDDEN NotStopped
{
public:
    NotStopped() noexcept;
    ~NotStopped();
    NotStopped(NotStopped const&) = delete;
    NotStopped& operator=(NotStopped const&) = delete;

private:
    int mBefore;
};

//! What every function of the API does: not without CUDA's leave, with the error remembered, and without exceptions.
template <typename Body>
cudaError_t answer(Body const& body) noexcept
{
    if (stuck() != cudaSuccess)
    {
        return failed(stuck());
    }
    if (inHostFunction())
    {
        return failed(cudaErrorNotPermitted);
    }
    handOver();
    NotStopped const notStopped;
    try
    {
        cudaError_t const error = body();
        return failed(stuck() != cudaSuccess ? stuck() : error);
    }
    catch (std::bad_alloc const&)
    {
        return failed(cudaErrorMemoryAllocation);
    }
}

// --- streams.cpp ---

//! Who may run a piece of work, and when.
enum class Side
{
    kDevice,  //!< A kernel or a copy: sees device memory, and isn't run after an error that sticks.
    kHost,    //!< A function of the user's: sees host memory only.
    kRelease, //!< Frees something: is run in any case.
};

//! Does the work in the stream's order: now, or, where streams are deferred, when it is waited for. Gives
//! cudaErrorInvalidResourceHandle for a stream that isn't one. Of all host threads, one at a time runs work.
PLUGINKIT_CPU_HIDDEN cudaError_t enqueueWork(cudaStream_t stream, std::function<void()> work,
                                             Caller const& caller = {"a kernel's launch", nullptr},
                                             Side side = Side::kDevice);

PLUGINKIT_CPU_HIDDEN bool isStream(cudaStream_t stream);

//! Whether streams do nothing before they are waited for: as the control says, else PLUGINKIT_CPU_DEFERRED.
PLUGINKIT_CPU_HIDDEN bool deferred() noexcept;

// --- memory.cpp ---

//! A description of where an address lies: "8 bytes behind the 400 bytes that cudaMalloc gave at 0x..."; empty if
//! unknown.
PLUGINKIT_CPU_HIDDEN std::string describeAddress(void const* address);

//! Reports allocations whose guards were written to, as far as that can be seen; each once.
PLUGINKIT_CPU_HIDDEN void checkGaps();

//! What a checked build wants to hear of. Each function may be null.
struct MemoryObserver
{
    void (*made)(void* memory, size_t size, bool initialized); //!< Allocated, or made known by the harness.
    void (*gone)(void* memory, size_t size);
    void (*copied)(void* to, void const* from, size_t size, bool toHost, Caller const& caller);
    void (*filled)(void* memory, size_t size);
};

//! Sets the one observer there is.
PLUGINKIT_CPU_HIDDEN void observeMemory(MemoryObserver const& observer) noexcept;

// --- device*.cpp ---

//! The most dynamic shared memory that any kernel of the library has asked for by cudaFuncSetAttribute; at least 48
//! KiB.
PLUGINKIT_CPU_HIDDEN size_t dynamicSharedLimit() noexcept;

//! How many blocks of so many threads the device runs at once.
PLUGINKIT_CPU_HIDDEN uint64_t blocksAtOnce(unsigned int threads, size_t shared) noexcept;

} // namespace v2

} // namespace pluginkit_cpu
