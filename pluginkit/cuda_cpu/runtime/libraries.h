//! What cuBLAS and cuDNN of target cpu are made of: handles, operands that are checked before they are used, and work
//! that runs as a kernel does, block by block.
#pragma once

#include "state.h"

#include <pluginkit/cpu/kernel.h>

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <functional>

namespace pluginkit_cpu
{

inline namespace v2
{

namespace libraries
{

//! A range of device memory that a function reads or writes. Of the findings, `name` is its name in the documents.
struct Operand
{
    char const* name;
    void const* begin;
    size_t size;
    bool written;
};

//! Reports a call that answers NOT_SUPPORTED; `what` is the function, and more.
PLUGINKIT_CPU_HIDDEN void reportNotSupported(std::string const& what, void const* code);

//! Whether a kernel may use it; what is wrong with it is reported, and sticks as an error of a kernel does.
PLUGINKIT_CPU_HIDDEN bool usable(Operand const& operand, Caller const& caller);

//! Runs `block` for each number below `blocks`, in the stream's order, as a kernel called `caller.function`.
PLUGINKIT_CPU_HIDDEN cudaError_t run(Caller const& caller, cudaStream_t stream, size_t blocks,
                                     std::function<void(size_t)> block);

//! In a block: reports an access to the checks of memory accesses, where there are such.
PLUGINKIT_CPU_HIDDEN void access(void const* begin, size_t size, bool writes, void const* code) noexcept;

// The numbers of the types in which they are computed with.

inline float widen(float value) noexcept
{
    return value;
}
inline double widen(double value) noexcept
{
    return value;
}
inline float widen(__half value) noexcept
{
    return __half2float(value);
}
inline float widen(__nv_bfloat16 value) noexcept
{
    return __bfloat162float(value);
}
inline int32_t widen(int8_t value) noexcept
{
    return value;
}
inline int32_t widen(int32_t value) noexcept
{
    return value;
}

template <typename T, typename Wide>
T narrow(Wide value) noexcept
{
    if constexpr (std::is_same_v<T, __half>)
    {
        return __float2half_rn(static_cast<float>(value));
    }
    else if constexpr (std::is_same_v<T, __nv_bfloat16>)
    {
        return __float2bfloat16_rn(static_cast<float>(value));
    }
    else
    {
        return static_cast<T>(value);
    }
}

} // namespace libraries

} // namespace v2

} // namespace pluginkit_cpu
