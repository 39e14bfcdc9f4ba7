//! Loads, stores and atomics: for ptx.h.
#pragma once

#include <pluginkit/cpu/atomics.h>
#include <pluginkit/cpu/engine.h>
#include <pluginkit/cpu/ptx_value.h>

namespace pluginkit_cpu
{

inline namespace v2
{

namespace ptx
{

inline char* address(uint64_t pointer) noexcept
{
    return reinterpret_cast<char*>(pointer);
}

//! Of shared memory: PTX's 32-bit address, or a pointer.
inline char* sharedAddress(uint64_t pointer) noexcept
{
    return static_cast<char*>(sharedPointer(pointer));
}

inline uint64_t toShared(uint64_t pointer) noexcept
{
    return sharedOffset(reinterpret_cast<void const*>(pointer));
}

inline uint64_t fromShared(uint64_t offset) noexcept
{
    return reinterpret_cast<uint64_t>(sharedPointer(offset));
}

template <typename T>
uint64_t load(char const* pointer) noexcept
{
    // Volatile, since a loop may wait for what another thread writes.
    T const value = *reinterpret_cast<T const volatile*>(pointer);
    if constexpr (std::is_signed_v<T> && std::is_integral_v<T>)
    {
        // A narrow signed value is extended to the register.
        return static_cast<uint64_t>(static_cast<int64_t>(value));
    }
    else
    {
        return image(value);
    }
}

template <>
inline uint64_t load<__half>(char const* pointer) noexcept
{
    return load<uint16_t>(pointer);
}

template <>
inline uint64_t load<__nv_bfloat16>(char const* pointer) noexcept
{
    return load<uint16_t>(pointer);
}

template <>
inline uint64_t load<__half2>(char const* pointer) noexcept
{
    return load<uint32_t>(pointer);
}

template <>
inline uint64_t load<__nv_bfloat162>(char const* pointer) noexcept
{
    return load<uint32_t>(pointer);
}

template <typename T>
void store(char* pointer, uint64_t bits) noexcept
{
    using Unsigned = std::conditional_t<
        sizeof(T) == 1, uint8_t,
        std::conditional_t<sizeof(T) == 2, uint16_t, std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>>>;
    *reinterpret_cast<Unsigned volatile*>(pointer) = static_cast<Unsigned>(bits);
}

//! cp.async: `given` bytes, and zeros up to `size`.
inline void copy(char* to, char const* from, uint64_t size, uint64_t given) noexcept
{
    std::memcpy(to, from, given < size ? given : size);
    if (given < size)
    {
        std::memset(to + given, 0, size - given);
    }
}

//! Replaces the value at `pointer` by change(old), and gives old.
template <typename T, typename Change>
PLUGINKIT_CPU_IN_CALLER uint64_t atomically(char* pointer, Change change) noexcept
{
    using Bits = typename AtomicBits<sizeof(T)>::Type;
    return pluginkit_cpu::atomically(reinterpret_cast<Bits*>(pointer),
                                     [&](Bits old) { return static_cast<Bits>(change(old)); });
}

} // namespace ptx

} // namespace v2

} // namespace pluginkit_cpu
