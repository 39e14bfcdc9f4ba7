//! What code compiled with -fsanitize=thread calls before its plain and volatile accesses, and for copies and fills.
//!
//! The names are facts of the compilers' interface (LLVM's compiler-rt/lib/tsan/rtl/tsan_interface.h; g++'s
//! gcc/sanitizer.def). libtsan is not linked: these hidden functions stand in its place.

#include "accesses_checks.h"

#include <cstring>

#ifdef PLUGINKIT_CPU_CHECKED

using pluginkit_cpu::accesses::gChecks;
using pluginkit_cpu::accesses::Strength;

namespace
{

void see(void const volatile* address, size_t size, bool reads, bool writes, void const* code,
         Strength strength = Strength::kPLAIN) noexcept
{
    gChecks.see({reinterpret_cast<uintptr_t>(address), size, reads, writes, false, code}, strength);
}

} // namespace

#define PLUGINKIT_CPU_CALLER __builtin_return_address(0)

// The functions for accesses of one size.
#define PLUGINKIT_CPU_ACCESSES(size)                                                                                   \
    PLUGINKIT_CPU_HIDDEN void __tsan_read##size(void* address)                                                         \
    {                                                                                                                  \
        see(address, size, true, false, PLUGINKIT_CPU_CALLER);                                                         \
    }                                                                                                                  \
    PLUGINKIT_CPU_HIDDEN void __tsan_write##size(void* address)                                                        \
    {                                                                                                                  \
        see(address, size, false, true, PLUGINKIT_CPU_CALLER);                                                         \
    }                                                                                                                  \
    PLUGINKIT_CPU_HIDDEN void __tsan_read_write##size(void* address)                                                   \
    {                                                                                                                  \
        see(address, size, true, true, PLUGINKIT_CPU_CALLER);                                                          \
    }                                                                                                                  \
    PLUGINKIT_CPU_HIDDEN void __tsan_unaligned_read##size(void* address)                                               \
    {                                                                                                                  \
        see(address, size, true, false, PLUGINKIT_CPU_CALLER);                                                         \
    }                                                                                                                  \
    PLUGINKIT_CPU_HIDDEN void __tsan_unaligned_write##size(void* address)                                              \
    {                                                                                                                  \
        see(address, size, false, true, PLUGINKIT_CPU_CALLER);                                                         \
    }                                                                                                                  \
    PLUGINKIT_CPU_HIDDEN void __tsan_unaligned_read_write##size(void* address)                                         \
    {                                                                                                                  \
        see(address, size, true, true, PLUGINKIT_CPU_CALLER);                                                          \
    }                                                                                                                  \
    PLUGINKIT_CPU_HIDDEN void __tsan_volatile_read##size(void* address)                                                \
    {                                                                                                                  \
        see(address, size, true, false, PLUGINKIT_CPU_CALLER, Strength::kVOLATILE);                                    \
    }                                                                                                                  \
    PLUGINKIT_CPU_HIDDEN void __tsan_volatile_write##size(void* address)                                               \
    {                                                                                                                  \
        see(address, size, false, true, PLUGINKIT_CPU_CALLER, Strength::kVOLATILE);                                    \
    }                                                                                                                  \
    PLUGINKIT_CPU_HIDDEN void __tsan_unaligned_volatile_read##size(void* address)                                      \
    {                                                                                                                  \
        see(address, size, true, false, PLUGINKIT_CPU_CALLER, Strength::kVOLATILE);                                    \
    }                                                                                                                  \
    PLUGINKIT_CPU_HIDDEN void __tsan_unaligned_volatile_write##size(void* address)                                     \
    {                                                                                                                  \
        see(address, size, false, true, PLUGINKIT_CPU_CALLER, Strength::kVOLATILE);                                    \
    }                                                                                                                  \
    PLUGINKIT_CPU_HIDDEN void __tsan_read##size##_pc(void* address, void* code)                                        \
    {                                                                                                                  \
        see(address, size, true, false, code);                                                                         \
    }                                                                                                                  \
    PLUGINKIT_CPU_HIDDEN void __tsan_write##size##_pc(void* address, void* code)                                       \
    {                                                                                                                  \
        see(address, size, false, true, code);                                                                         \
    }

extern "C"
{
    PLUGINKIT_CPU_ACCESSES(1)
    PLUGINKIT_CPU_ACCESSES(2)
    PLUGINKIT_CPU_ACCESSES(4)
    PLUGINKIT_CPU_ACCESSES(8)
    PLUGINKIT_CPU_ACCESSES(16)

    PLUGINKIT_CPU_HIDDEN void __tsan_init() {}

    PLUGINKIT_CPU_HIDDEN void __tsan_func_entry(void* /*caller*/)
    {
        gChecks.settle();
    }

    PLUGINKIT_CPU_HIDDEN void __tsan_func_exit()
    {
        gChecks.settle();
    }

    PLUGINKIT_CPU_HIDDEN void __tsan_ignore_thread_begin() {}
    PLUGINKIT_CPU_HIDDEN void __tsan_ignore_thread_end() {}

    PLUGINKIT_CPU_HIDDEN void __tsan_read_range(void* address, size_t size)
    {
        see(address, size, true, false, PLUGINKIT_CPU_CALLER);
    }

    PLUGINKIT_CPU_HIDDEN void __tsan_write_range(void* address, size_t size)
    {
        see(address, size, false, true, PLUGINKIT_CPU_CALLER);
    }

    PLUGINKIT_CPU_HIDDEN void __tsan_vptr_update(void** address, void* /*value*/)
    {
        see(address, sizeof(void*), false, true, PLUGINKIT_CPU_CALLER);
    }

    PLUGINKIT_CPU_HIDDEN void __tsan_vptr_read(void** address)
    {
        see(address, sizeof(void*), true, false, PLUGINKIT_CPU_CALLER);
    }

    // g++ 12 and clang++ 14 call the plain functions; cuda_cpu/symbols.py makes these of them.

#define PLUGINKIT_CPU_MOVE                                                                                             \
    see(from, size, true, false, PLUGINKIT_CPU_CALLER);                                                                \
    see(to, size, false, true, PLUGINKIT_CPU_CALLER);                                                                  \
    return std::memmove(to, from, size)

    PLUGINKIT_CPU_HIDDEN void* pluginkit_cpu_v2_memmove(void* to, void const* from, size_t size)
    {
        PLUGINKIT_CPU_MOVE;
    }

    PLUGINKIT_CPU_HIDDEN void* pluginkit_cpu_v2_memcpy(void* to, void const* from, size_t size)
    {
        PLUGINKIT_CPU_MOVE;
    }

    PLUGINKIT_CPU_HIDDEN void* pluginkit_cpu_v2_memset(void* to, int value, size_t size)
    {
        see(to, size, false, true, PLUGINKIT_CPU_CALLER);
        return std::memset(to, value, size);
    }

    // A newer clang++ calls these instead.
    PLUGINKIT_CPU_HIDDEN void* __tsan_memmove(void* to, void const* from, size_t size)
    {
        PLUGINKIT_CPU_MOVE;
    }

    PLUGINKIT_CPU_HIDDEN void* __tsan_memcpy(void* to, void const* from, size_t size)
    {
        PLUGINKIT_CPU_MOVE;
    }

    PLUGINKIT_CPU_HIDDEN void* __tsan_memset(void* to, int value, size_t size)
    {
        see(to, size, false, true, PLUGINKIT_CPU_CALLER);
        return std::memset(to, value, size);
    }
}

#endif
