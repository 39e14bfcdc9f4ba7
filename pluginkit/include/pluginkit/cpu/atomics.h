//! Atomic functions, atomic between the host's threads too.
//!
//! Source of the semantics: CUDA C++ Programming Guide, "Atomic Functions". They are sequentially consistent here; on a
//! GPU they are relaxed. A loop of atomics lets other threads of the launch run now and then, so that spin locks go on.
#pragma once

#include <pluginkit/cpu/engine.h>

#include <cuda_bf16.h>
#include <cuda_fp16.h>

namespace pluginkit_cpu
{

inline namespace v2
{

// A thread that waits for another by other atomics than a CAS that fails: each of so many lets others run.
constexpr unsigned int kATOMICS_A_TURN = 256;

inline PLUGINKIT_CPU_THREAD_LOCAL unsigned int tAtomics = 0;

//! To be called after every atomic.
inline void atomicDone() noexcept
{
    if (++tAtomics >= kATOMICS_A_TURN)
    {
        tAtomics = 0;
        yield();
    }
}

//! An integer of this size that atomic instructions take; it may stand for anything in memory.
template <size_t Size>
struct AtomicBits;

template <>
struct AtomicBits<2>
{
    using Type __attribute__((may_alias)) = unsigned short;
};

template <>
struct AtomicBits<4>
{
    using Type __attribute__((may_alias)) = unsigned int;
};

template <>
struct AtomicBits<8>
{
    using Type __attribute__((may_alias)) = unsigned long long;
};

//! Replaces *address by change(old) at once, and gives old.
template <typename T, typename Change>
PLUGINKIT_CPU_IN_CALLER T atomically(T* address, Change const& change) noexcept
{
    using Bits = typename AtomicBits<sizeof(T)>::Type;
    atomicAccess(address, sizeof(T));
    auto* const bits = reinterpret_cast<Bits*>(address);
    Bits old = __atomic_load_n(bits, __ATOMIC_SEQ_CST);
    T value;
    Bits wanted;
    do
    {
        __builtin_memcpy(static_cast<void*>(&value), &old, sizeof(T));
        T const changed = change(value);
        __builtin_memcpy(&wanted, &changed, sizeof(T));
    } while (!__atomic_compare_exchange_n(bits, &old, wanted, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST));
    atomicDone();
    return value;
}

//! Puts `value` there if `compare` is there; gives what was there.
template <typename T>
PLUGINKIT_CPU_IN_CALLER T compareAndSwap(T* address, T compare, T value) noexcept
{
    atomicAccess(address, sizeof(T));
    if (__atomic_compare_exchange_n(address, &compare, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
    {
        atomicDone();
    }
    else
    {
        yield();
    }
    return compare;
}

template <typename T>
PLUGINKIT_CPU_IN_CALLER T exchange(T* address, T value) noexcept
{
    return atomically(address, [value](T /*old*/) { return value; });
}

} // namespace v2

} // namespace pluginkit_cpu

// Overloads, not templates: callers convert to these types, as with nvcc. Scopes make no difference here.
#define PLUGINKIT_CPU_SCOPES(name, T, ...)                                                                             \
    PLUGINKIT_CPU_IN_CALLER T name(T* address, T value) noexcept {__VA_ARGS__} PLUGINKIT_CPU_IN_CALLER T name##_block( \
        T* address, T value) noexcept                                                                                  \
    {                                                                                                                  \
        return name(address, value);                                                                                   \
    }                                                                                                                  \
    PLUGINKIT_CPU_IN_CALLER T name##_system(T* address, T value) noexcept                                              \
    {                                                                                                                  \
        return name(address, value);                                                                                   \
    }

// What the processor has an instruction for.
#define PLUGINKIT_CPU_FETCH(name, T, operation)                                                                        \
    PLUGINKIT_CPU_SCOPES(name, T, pluginkit_cpu::atomicAccess(address, sizeof(T));                                     \
                         T const old = __atomic_fetch_##operation(address, value, __ATOMIC_SEQ_CST);                   \
                         pluginkit_cpu::atomicDone(); return old;)

// Anything else: the new value is an expression of `old` and `value`.
#define PLUGINKIT_CPU_CHANGE(name, T, expression)                                                                      \
    PLUGINKIT_CPU_SCOPES(name, T, return pluginkit_cpu::atomically(address, [value](T old) { return expression; });)

#define PLUGINKIT_CPU_CAS(T)                                                                                           \
    PLUGINKIT_CPU_IN_CALLER T atomicCAS(T* address, T compare, T value) noexcept                                       \
    {                                                                                                                  \
        return pluginkit_cpu::compareAndSwap(address, compare, value);                                                 \
    }                                                                                                                  \
    PLUGINKIT_CPU_IN_CALLER T atomicCAS_block(T* address, T compare, T value) noexcept                                 \
    {                                                                                                                  \
        return pluginkit_cpu::compareAndSwap(address, compare, value);                                                 \
    }                                                                                                                  \
    PLUGINKIT_CPU_IN_CALLER T atomicCAS_system(T* address, T compare, T value) noexcept                                \
    {                                                                                                                  \
        return pluginkit_cpu::compareAndSwap(address, compare, value);                                                 \
    }

#define PLUGINKIT_CPU_BITWISE(T)                                                                                       \
    PLUGINKIT_CPU_FETCH(atomicAnd, T, and)                                                                             \
    PLUGINKIT_CPU_FETCH(atomicOr, T, or)                                                                               \
    PLUGINKIT_CPU_FETCH(atomicXor, T, xor)                                                                             \
    PLUGINKIT_CPU_CHANGE(atomicMin, T, value < old ? value : old)                                                      \
    PLUGINKIT_CPU_CHANGE(atomicMax, T, old < value ? value : old)

PLUGINKIT_CPU_BITWISE(int)
PLUGINKIT_CPU_BITWISE(unsigned int)
PLUGINKIT_CPU_BITWISE(long long)
PLUGINKIT_CPU_BITWISE(unsigned long long)

PLUGINKIT_CPU_FETCH(atomicAdd, int, add)
PLUGINKIT_CPU_FETCH(atomicAdd, unsigned int, add)
PLUGINKIT_CPU_FETCH(atomicAdd, unsigned long long, add)
PLUGINKIT_CPU_CHANGE(atomicAdd, float, old + value)
PLUGINKIT_CPU_CHANGE(atomicAdd, double, old + value)
PLUGINKIT_CPU_CHANGE(atomicAdd, __half, __hadd(old, value))
PLUGINKIT_CPU_CHANGE(atomicAdd, __nv_bfloat16, __hadd(old, value))

PLUGINKIT_CPU_FETCH(atomicSub, int, sub)
PLUGINKIT_CPU_FETCH(atomicSub, unsigned int, sub)

PLUGINKIT_CPU_CHANGE(atomicInc, unsigned int, old >= value ? 0 : old + 1)
PLUGINKIT_CPU_CHANGE(atomicDec, unsigned int, old == 0 || old > value ? value : old - 1)

PLUGINKIT_CPU_SCOPES(atomicExch, int, return pluginkit_cpu::exchange(address, value);)
PLUGINKIT_CPU_SCOPES(atomicExch, unsigned int, return pluginkit_cpu::exchange(address, value);)
PLUGINKIT_CPU_SCOPES(atomicExch, unsigned long long, return pluginkit_cpu::exchange(address, value);)
PLUGINKIT_CPU_SCOPES(atomicExch, float, return pluginkit_cpu::exchange(address, value);)

PLUGINKIT_CPU_CAS(int)
PLUGINKIT_CPU_CAS(unsigned int)
PLUGINKIT_CPU_CAS(unsigned long long)
PLUGINKIT_CPU_CAS(unsigned short)

// Vectors: each element is changed atomically, not all of them together (nor does a GPU promise more).
PLUGINKIT_CPU_SCOPES(atomicAdd, __half2,
                     return __half2(atomicAdd(&address->x, value.x), atomicAdd(&address->y, value.y));)
PLUGINKIT_CPU_SCOPES(atomicAdd, __nv_bfloat162,
                     return __nv_bfloat162(atomicAdd(&address->x, value.x), atomicAdd(&address->y, value.y));)
PLUGINKIT_CPU_SCOPES(atomicAdd, float2,
                     return float2{atomicAdd(&address->x, value.x), atomicAdd(&address->y, value.y)};)
PLUGINKIT_CPU_SCOPES(atomicAdd, float4,
                     return float4{atomicAdd(&address->x, value.x), atomicAdd(&address->y, value.y),
                                   atomicAdd(&address->z, value.z), atomicAdd(&address->w, value.w)};)

#undef PLUGINKIT_CPU_BITWISE
#undef PLUGINKIT_CPU_CAS
#undef PLUGINKIT_CPU_CHANGE
#undef PLUGINKIT_CPU_FETCH
#undef PLUGINKIT_CPU_SCOPES
