//! AddressSanitizer, where it is in the process. The runtime itself is compiled without it, and is the same for every
//! library.
#pragma once

#include <cstddef>

extern "C"
{
    __attribute__((weak)) void __asan_poison_memory_region(void const volatile* memory, size_t size);
    __attribute__((weak)) void __asan_unpoison_memory_region(void const volatile* memory, size_t size);
}

namespace pluginkit_cpu
{

inline namespace v2
{

namespace asan
{

//! Whether it sees the accesses of compiled code.
inline bool present() noexcept
{
    return __asan_poison_memory_region != nullptr;
}

//! From now on an access to these bytes is an error.
inline void close(void const* memory, size_t size) noexcept
{
    if (__asan_poison_memory_region != nullptr)
    {
        __asan_poison_memory_region(memory, size);
    }
}

inline void open(void const* memory, size_t size) noexcept
{
    if (__asan_unpoison_memory_region != nullptr)
    {
        __asan_unpoison_memory_region(memory, size);
    }
}

} // namespace asan

} // namespace v2

} // namespace pluginkit_cpu
