//! What code compiled with -fsanitize=thread calls instead of atomic operations. They are done here.
//!
//! The names and the numbers of the memory orders are facts of the compilers' interface (LLVM's
//! compiler-rt/include/sanitizer/tsan_interface_atomic.h). All are done sequentially consistent.

#include "accesses_checks.h"

#ifdef PLUGINKIT_CPU_CHECKED

namespace
{

using namespace pluginkit_cpu;
using accesses::Access;
using accesses::gChecks;
using accesses::Strength;

using Wide = unsigned __int128;

void see(void const volatile* address, size_t size, bool reads, bool writes, int order, void const* code) noexcept
{
    Access const access{reinterpret_cast<uintptr_t>(address), size, reads, writes, true, code};
    bool const releases =
        writes && (order == __ATOMIC_RELEASE || order == __ATOMIC_ACQ_REL || order == __ATOMIC_SEQ_CST);
    gChecks.see(access, releases ? Strength::kORDERING : Strength::kRELAXED);
}

//! What an atomic has read, on its way to the thread.
template <typename T>
T heard(void const volatile* address, T value) noexcept
{
    gChecks.hear(reinterpret_cast<uintptr_t>(address));
    return value;
}

//! Compares and exchanges; gives what was there.
template <typename T>
T exchangeIf(T volatile* address, T expected, T wanted) noexcept
{
    return __sync_val_compare_and_swap(address, expected, wanted);
}

#ifdef __x86_64__
//! 16 bytes by the processor's one instruction for them, which compilers use only with an option.
template <>
__attribute__((target("cx16"))) Wide exchangeIf(Wide volatile* address, Wide expected, Wide wanted) noexcept
{
    return __sync_val_compare_and_swap(address, expected, wanted);
}
#endif

//! Replaces what is there by change(it), at once; gives what was there.
template <typename T, typename Change>
T replace(T volatile* address, Change const& change) noexcept
{
    // A first guess, wrong if another thread writes at the same time: then the exchange fails.
    T old = *address;
    while (true)
    {
        T const found = exchangeIf(address, old, static_cast<T>(change(old)));
        if (found == old)
        {
            return old;
        }
        old = found;
    }
}

template <typename T>
bool compareExchange(T volatile* address, T* expected, T wanted) noexcept
{
    T const found = exchangeIf(address, *expected, wanted);
    bool const equal = found == *expected;
    *expected = found;
    return equal;
}

} // namespace

namespace pluginkit_cpu
{

inline namespace v2
{

void atomicAccess(void const volatile* address, size_t size) noexcept
{
    gChecks.begins({reinterpret_cast<uintptr_t>(address), size, true, true, true, __builtin_return_address(0)});
}

} // namespace v2

} // namespace pluginkit_cpu

#define PLUGINKIT_CPU_SEE(reads, writes)                                                                               \
    see(address, sizeof(*address), reads, writes, order, __builtin_return_address(0))

#define PLUGINKIT_CPU_FETCH(bits, T, name, expression)                                                                 \
    PLUGINKIT_CPU_HIDDEN T __tsan_atomic##bits##_fetch_##name(T volatile* address, T value, int order)                 \
    {                                                                                                                  \
        PLUGINKIT_CPU_SEE(true, true);                                                                                 \
        return heard(address, replace(address, [value](T old) { return expression; }));                                \
    }

// The functions for atomics of one size.
#define PLUGINKIT_CPU_ATOMICS(bits, T)                                                                                 \
    PLUGINKIT_CPU_HIDDEN T __tsan_atomic##bits##_load(T const volatile* address, int order)                            \
    {                                                                                                                  \
        PLUGINKIT_CPU_SEE(true, false);                                                                                \
        return heard(address, exchangeIf(const_cast<T volatile*>(address), T{0}, T{0}));                               \
    }                                                                                                                  \
    PLUGINKIT_CPU_HIDDEN void __tsan_atomic##bits##_store(T volatile* address, T value, int order)                     \
    {                                                                                                                  \
        PLUGINKIT_CPU_SEE(false, true);                                                                                \
        replace(address, [value](T /*old*/) { return value; });                                                        \
    }                                                                                                                  \
    PLUGINKIT_CPU_HIDDEN T __tsan_atomic##bits##_exchange(T volatile* address, T value, int order)                     \
    {                                                                                                                  \
        PLUGINKIT_CPU_SEE(true, true);                                                                                 \
        return heard(address, replace(address, [value](T /*old*/) { return value; }));                                 \
    }                                                                                                                  \
    PLUGINKIT_CPU_FETCH(bits, T, add, old + value)                                                                     \
    PLUGINKIT_CPU_FETCH(bits, T, sub, old - value)                                                                     \
    PLUGINKIT_CPU_FETCH(bits, T, and, old& value)                                                                      \
    PLUGINKIT_CPU_FETCH(bits, T, or, old | value)                                                                      \
    PLUGINKIT_CPU_FETCH(bits, T, xor, old ^ value)                                                                     \
    PLUGINKIT_CPU_FETCH(bits, T, nand, ~(old & value))                                                                 \
    PLUGINKIT_CPU_HIDDEN int __tsan_atomic##bits##_compare_exchange_strong(T volatile* address, T* expected, T wanted, \
                                                                           int order, int /*failure*/)                 \
    {                                                                                                                  \
        PLUGINKIT_CPU_SEE(true, true);                                                                                 \
        return heard(address, compareExchange(address, expected, wanted) ? 1 : 0);                                     \
    }                                                                                                                  \
    PLUGINKIT_CPU_HIDDEN int __tsan_atomic##bits##_compare_exchange_weak(T volatile* address, T* expected, T wanted,   \
                                                                         int order, int /*failure*/)                   \
    {                                                                                                                  \
        PLUGINKIT_CPU_SEE(true, true);                                                                                 \
        return heard(address, compareExchange(address, expected, wanted) ? 1 : 0);                                     \
    }                                                                                                                  \
    PLUGINKIT_CPU_HIDDEN T __tsan_atomic##bits##_compare_exchange_val(T volatile* address, T expected, T wanted,       \
                                                                      int order, int /*failure*/)                      \
    {                                                                                                                  \
        PLUGINKIT_CPU_SEE(true, true);                                                                                 \
        return heard(address, exchangeIf(address, expected, wanted));                                                  \
    }

extern "C"
{
    PLUGINKIT_CPU_ATOMICS(8, uint8_t)
    PLUGINKIT_CPU_ATOMICS(16, uint16_t)
    PLUGINKIT_CPU_ATOMICS(32, uint32_t)
    PLUGINKIT_CPU_ATOMICS(64, uint64_t)
    PLUGINKIT_CPU_ATOMICS(128, Wide)

    PLUGINKIT_CPU_HIDDEN void __tsan_atomic_thread_fence(int /*order*/)
    {
        __atomic_thread_fence(__ATOMIC_SEQ_CST);
        gChecks.fenced();
    }

    PLUGINKIT_CPU_HIDDEN void __tsan_atomic_signal_fence(int /*order*/) {}
}

#endif
