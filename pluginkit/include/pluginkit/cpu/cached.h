//! Loads and stores that say which caches to use. There are none to choose from here.
//!
//! Source of the semantics: CUDA C++ Programming Guide, "Read-Only Data Cache Load Function", "Load/Store Functions
//! Using Cache Hints".
#pragma once

#include <cuda_runtime.h>

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#define PLUGINKIT_CPU_LOAD(name, T)                                                                                    \
    inline T name(T const* address) noexcept                                                                           \
    {                                                                                                                  \
        return *address;                                                                                               \
    }

#define PLUGINKIT_CPU_STORE(name, T)                                                                                   \
    inline void name(T* address, T value) noexcept                                                                     \
    {                                                                                                                  \
        *address = value;                                                                                              \
    }

// Overloads, not templates: callers convert to these types, as with nvcc. __ldcv reads again each time.
#define PLUGINKIT_CPU_CACHED(T)                                                                                        \
    PLUGINKIT_CPU_LOAD(__ldg, T)                                                                                       \
    PLUGINKIT_CPU_LOAD(__ldca, T)                                                                                      \
    PLUGINKIT_CPU_LOAD(__ldcg, T)                                                                                      \
    PLUGINKIT_CPU_LOAD(__ldcs, T)                                                                                      \
    PLUGINKIT_CPU_LOAD(__ldlu, T)                                                                                      \
    inline T __ldcv(T const* address) noexcept                                                                         \
    {                                                                                                                  \
        __atomic_signal_fence(__ATOMIC_SEQ_CST);                                                                       \
        return *address;                                                                                               \
    }                                                                                                                  \
    PLUGINKIT_CPU_STORE(__stcg, T)                                                                                     \
    PLUGINKIT_CPU_STORE(__stcs, T)                                                                                     \
    PLUGINKIT_CPU_STORE(__stwb, T)                                                                                     \
    PLUGINKIT_CPU_STORE(__stwt, T)

PLUGINKIT_CPU_CACHED(char)
PLUGINKIT_CPU_CACHED(signed char)
PLUGINKIT_CPU_CACHED(unsigned char)
PLUGINKIT_CPU_CACHED(short)
PLUGINKIT_CPU_CACHED(unsigned short)
PLUGINKIT_CPU_CACHED(int)
PLUGINKIT_CPU_CACHED(unsigned int)
PLUGINKIT_CPU_CACHED(long)
PLUGINKIT_CPU_CACHED(unsigned long)
PLUGINKIT_CPU_CACHED(long long)
PLUGINKIT_CPU_CACHED(unsigned long long)
PLUGINKIT_CPU_CACHED(float)
PLUGINKIT_CPU_CACHED(double)
PLUGINKIT_CPU_CACHED(char2)
PLUGINKIT_CPU_CACHED(char4)
PLUGINKIT_CPU_CACHED(uchar2)
PLUGINKIT_CPU_CACHED(uchar4)
PLUGINKIT_CPU_CACHED(short2)
PLUGINKIT_CPU_CACHED(short4)
PLUGINKIT_CPU_CACHED(ushort2)
PLUGINKIT_CPU_CACHED(ushort4)
PLUGINKIT_CPU_CACHED(int2)
PLUGINKIT_CPU_CACHED(int4)
PLUGINKIT_CPU_CACHED(uint2)
PLUGINKIT_CPU_CACHED(uint4)
PLUGINKIT_CPU_CACHED(longlong2)
PLUGINKIT_CPU_CACHED(ulonglong2)
PLUGINKIT_CPU_CACHED(float2)
PLUGINKIT_CPU_CACHED(float4)
PLUGINKIT_CPU_CACHED(double2)
PLUGINKIT_CPU_CACHED(__half)
PLUGINKIT_CPU_CACHED(__half2)
PLUGINKIT_CPU_CACHED(__nv_bfloat16)
PLUGINKIT_CPU_CACHED(__nv_bfloat162)
#undef PLUGINKIT_CPU_CACHED
#undef PLUGINKIT_CPU_STORE
#undef PLUGINKIT_CPU_LOAD
