// What the sources of this folder share. A check gives 0, or the number of the line that failed.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstring>

//! A number as an enumerator that doesn't exist.
template <typename Enum>
Enum unknown(int volatile number)
{
    return static_cast<Enum>(number);
}

#define EXPORT extern "C" __attribute__((visibility("default")))
#define CHECK(condition)                                                                                               \
    if (!(condition))                                                                                                  \
    {                                                                                                                  \
        return __LINE__;                                                                                               \
    }
#define OK(call) CHECK((call) == cudaSuccess)
//! The call fails so, and cudaGetLastError() says so once.
#define FAILS(call, error)                                                                                             \
    CHECK((call) == (error) && cudaPeekAtLastError() == (error) && cudaGetLastError() == (error) &&                    \
          cudaGetLastError() == cudaSuccess)
