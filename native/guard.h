//! The bytes around a buffer that nothing may write.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

// There where AddressSanitizer is in the process, because the plugin's library was compiled for it.
extern "C"
{
    // NOLINTBEGIN(bugprone-reserved-identifier): the sanitizer's own names
    __attribute__((weak)) void __asan_poison_memory_region(void const volatile* memory, std::size_t size);
    __attribute__((weak)) void __asan_unpoison_memory_region(void const volatile* memory, std::size_t size);
    // NOLINTEND(bugprone-reserved-identifier)
}

namespace pluginkit
{

//! Where a guard was damaged: the offset is relative to the buffer's first byte (negative: before it; size or more:
//! behind it), with what was found there.
struct Damage
{
    std::ptrdiff_t offset;
    std::uint8_t found;
};

namespace guard
{

//! The byte at this distance from the buffer. Differs from byte to byte, so that a guard shifted or filled with one
//! value is seen.
inline std::uint8_t byteAt(std::size_t distance) noexcept
{
    return static_cast<std::uint8_t>(0xC1u ^ (distance * 37u));
}

//! What stands around a buffer.
struct Pattern
{
    std::array<std::uint8_t, 16> bytes{};
    std::size_t count{0}; //!< Of the bytes that come again and again; 0: as `byteAt` has it.

    std::uint8_t before(std::size_t distance) const noexcept
    {
        return count == 0 ? byteAt(distance) : bytes[count - 1 - distance % count];
    }
    std::uint8_t behind(std::size_t distance) const noexcept
    {
        return count == 0 ? byteAt(distance) : bytes[distance % count];
    }
};

//! Fills [begin, end), whose last byte is `distance` bytes from the buffer behind.
inline void fillBefore(std::uint8_t* begin, std::uint8_t* end, Pattern const& with = {},
                       std::size_t distance = 0) noexcept
{
    for (std::uint8_t* at = end; at != begin;)
    {
        *--at = with.before(distance++);
    }
}

//! Fills [begin, end), whose first byte is `distance` bytes from the buffer before.
inline void fillBehind(std::uint8_t* begin, std::uint8_t* end, Pattern const& with = {},
                       std::size_t distance = 0) noexcept
{
    for (std::uint8_t* at = begin; at != end; ++at)
    {
        *at = with.behind(distance++);
    }
}

//! The damaged byte that is nearest to the buffer of `size` bytes at `data`, between `begin` and `end`.
inline std::optional<Damage> damage(std::uint8_t const* begin, std::uint8_t const* data, std::size_t size,
                                    std::uint8_t const* end, Pattern const& with = {}) noexcept
{
    auto const before = static_cast<std::size_t>(data - begin);
    auto const behind = static_cast<std::size_t>(end - data) - size;
    for (std::size_t i = 0; i < before || i < behind; ++i)
    {
        if (i < behind && data[size + i] != with.behind(i))
        {
            return Damage{static_cast<std::ptrdiff_t>(size + i), data[size + i]};
        }
        if (i < before && *(data - 1 - i) != with.before(i))
        {
            return Damage{-1 - static_cast<std::ptrdiff_t>(i), *(data - 1 - i)};
        }
    }
    return std::nullopt;
}

} // namespace guard

namespace asan
{

//! Whether it sees the accesses of the plugin's code.
inline bool present() noexcept
{
    return __asan_poison_memory_region != nullptr;
}

//! From now on an access to these bytes is an error.
inline void close(void const* memory, std::size_t size) noexcept
{
    if (present())
    {
        __asan_poison_memory_region(memory, size);
    }
}

inline void open(void const* memory, std::size_t size) noexcept
{
    if (present())
    {
        __asan_unpoison_memory_region(memory, size);
    }
}

} // namespace asan

} // namespace pluginkit
