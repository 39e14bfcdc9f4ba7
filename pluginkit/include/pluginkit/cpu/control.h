//! What a library of target cpu lets a test harness do: `pluginkit_cpu_control(PLUGINKIT_CPU_CONTROL_VERSION)`.
//!
//! Plain C, found by dlsym. Findings are reported where PLUGINKIT_CPU_FINDINGS says, as those of kernels are.
#ifndef PLUGINKIT_CPU_CONTROL_H
#define PLUGINKIT_CPU_CONTROL_H

#include <stddef.h>

#define PLUGINKIT_CPU_CONTROL_VERSION 1

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

    // Errors are numbers of cudaError_t; 0 is none.
    struct PluginkitCpuControl
    {
        // From here to enqueueEnd() the library is in enqueue() with this stream: no other stream, no allocation, no
        // waiting, and no access of the host's to device memory.
        void (*enqueueBegin)(void* stream);
        void (*enqueueEnd)(void);
        // Does all work that is still to be done; the error that sticks.
        int (*drain)(void);
        // Whether streams do nothing before somebody waits for them; instead of PLUGINKIT_CPU_DEFERRED.
        void (*setDeferred)(int on);
        // Makes memory of the harness known as device memory. As long as there is any, memory that is not known is the
        // host's. Where it begins at a page, all of its pages must be its own: they are closed while host code
        // of enqueue() runs.
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
    };

    // Null for a version that the library does not have.
    __attribute__((visibility("default"))) struct PluginkitCpuControl const* pluginkit_cpu_control(int version);

#ifdef __cplusplus
}
#endif

#endif
