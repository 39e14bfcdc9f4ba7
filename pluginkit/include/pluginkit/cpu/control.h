//! What a library of target cpu lets a test harness do: `pluginkit_cpu_control(PLUGINKIT_CPU_CONTROL_VERSION)`.
//!
//! Plain C, found by dlsym. Findings are reported where PLUGINKIT_CPU_FINDINGS says, as those of kernels are.
#ifndef PLUGINKIT_CPU_CONTROL_H
#define PLUGINKIT_CPU_CONTROL_H

#include <stddef.h>
#include <stdint.h>

#define PLUGINKIT_CPU_CONTROL_VERSION 3

#ifdef __cplusplus
extern "C"
{
#endif

    enum PluginkitCpuRegion
    {
        PLUGINKIT_CPU_INPUT = 0,
        PLUGINKIT_CPU_OUTPUT = 1,
        PLUGINKIT_CPU_WORKSPACE = 2,
    };

    // What the library has taken by a function of CUDA's, cuBLAS's or cuDNN's and not given back.
    struct PluginkitCpuObject
    {
        char const* kind;     // For messages: "device memory", "stream".
        char const* function; // That gave it.
        size_t size;          // Of memory.
        char const* library;  // Where that was called: the file, and the offset that addr2line takes.
        size_t offset;
    };

    // Errors are numbers of cudaError_t; 0 is none.
    struct PluginkitCpuControl
    {
        // From here to enqueueEnd() the library is in enqueue() with this stream: no other stream, no allocation, no
        // waiting, and no access of the host's to device memory.
        void (*enqueueBegin)(void* stream);
        void (*enqueueEnd)(void);
        // Does all work that is still to be done; the error that sticks.
        int (*drain)(void);
        // Whether streams do nothing before they are waited for; instead of PLUGINKIT_CPU_DEFERRED.
        void (*setDeferred)(int on);
        // Makes memory of the harness known as device memory. As long as there is any, memory that is not known is the
        // host's. Of an empty tensor the size is 0. Where it begins at a page, or its end, rounded up to 256 bytes, is
        // the end of one, all of its pages must be its own: they are closed while host code of enqueue() runs.
        int (*registerRegion)(void* memory, size_t size, enum PluginkitCpuRegion region, int initialized);
        int (*unregisterRegion)(void* memory);
        // A stream as cudaStreamCreateWithFlags(..., cudaStreamNonBlocking) makes it; null if that failed.
        void* (*makeStream)(void);
        int (*destroyStream)(void* stream);
        // What the library has allocated and not freed.
        size_t (*liveAllocations)(void);
        size_t (*liveBytes)(void);
        // What cudaPeekAtLastError() gives, and its end, also of an error that sticks.
        int (*lastError)(void);
        void (*clearErrors)(void);
        // From version 2 on.
        // Each object taken has a number; the last one's.
        uint64_t (*lastObject)(void);
        // Those with larger numbers that are still there: how many, and the first `room` of them. Not the harness's.
        size_t (*liveObjects)(uint64_t after, struct PluginkitCpuObject* objects, size_t room);
        // A handle of cuBLAS and one of cuDNN, as a context gives them to attachToContext(); no objects of the
        // plugin's.
        void* (*makeCublas)(void);
        int (*destroyCublas)(void* handle);
        void* (*makeCudnn)(void);
        int (*destroyCudnn)(void* handle);
        // From version 3 on.
        // Host threads that take turns, so that what two contexts do at once is the same each time: one runs, and each
        // call of CUDA hands over to the next. A thread that comes to no call for long is not waited for.
        void (*beginTurns)(int threads);
        void (*enterTurns)(int thread); // From 0 on; returns when it is this thread's turn.
        void (*leaveTurns)(void);
        // As drain(); the streams take turns, a piece of work each.
        int (*interleave)(void);
    };

    // Null for a version that the library does not have; a later one begins as those before it.
    __attribute__((visibility("default"))) struct PluginkitCpuControl const* pluginkit_cpu_control(int version);

#ifdef __cplusplus
}
#endif

#endif
