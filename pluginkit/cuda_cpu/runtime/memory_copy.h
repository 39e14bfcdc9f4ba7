//! Copies and fills of one or several rows, checked against the memory that is known.
#pragma once

#include "memory.h"

namespace pluginkit_cpu
{

inline namespace v2
{

struct Rows
{
    size_t width;
    size_t height;
};

struct Copy
{
    void* to;
    size_t toPitch;
    void const* from;
    size_t fromPitch;
    Rows rows;
    cudaMemcpyKind kind;
};

//! `blocking`: waits for the copy, as the functions without Async do where host memory takes part.
PLUGINKIT_CPU_HIDDEN cudaError_t copyRows(Copy const& copy, cudaStream_t stream, bool blocking, Caller const& caller);

PLUGINKIT_CPU_HIDDEN cudaError_t fillRows(void* to, size_t pitch, int value, Rows const& rows, cudaStream_t stream,
                                          Caller const& caller);

} // namespace v2

} // namespace pluginkit_cpu
