#include "buffer.h"

#include <cstdlib>
#include <new>

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

namespace
{

//! Differs from byte to byte, so that a guard shifted or filled with one value is seen.
std::uint8_t guardByte(std::size_t i)
{
    return static_cast<std::uint8_t>(0xC1u ^ (i * 37u));
}

} // namespace

Buffer::Buffer(std::size_t size) : mSize{size}
{
    // The guard behind ends where a page ends, so that nothing else has a part of the buffer's pages: the runtime of
    // target cpu closes them while host code of a plugin runs.
    std::size_t const room = (size + kGUARD_BYTES - 1) / kGUARD_BYTES * kGUARD_BYTES;
    mStorage.reset(static_cast<std::uint8_t*>(std::aligned_alloc(kGUARD_BYTES, room + 2 * kGUARD_BYTES)));
    if (mStorage == nullptr)
    {
        throw std::bad_alloc{};
    }
    mData = mStorage.get() + kGUARD_BYTES;
    for (std::size_t i = 0; i < kGUARD_BYTES; ++i)
    {
        mData[size + i] = guardByte(i);
        *(mData - 1 - i) = guardByte(i);
    }
    if (__asan_poison_memory_region != nullptr)
    {
        __asan_poison_memory_region(mData - kGUARD_BYTES, kGUARD_BYTES);
        __asan_poison_memory_region(mData + size, kGUARD_BYTES);
    }
}

Buffer::~Buffer()
{
    if (__asan_unpoison_memory_region != nullptr)
    {
        __asan_unpoison_memory_region(mData - kGUARD_BYTES, mSize + 2 * kGUARD_BYTES);
    }
}

std::optional<Damage> Buffer::damage() const
{
    for (std::size_t i = 0; i < kGUARD_BYTES; ++i)
    {
        if (mData[mSize + i] != guardByte(i))
        {
            return Damage{static_cast<std::ptrdiff_t>(mSize + i), mData[mSize + i]};
        }
        std::uint8_t const before = *(mData - 1 - i);
        if (before != guardByte(i))
        {
            return Damage{-1 - static_cast<std::ptrdiff_t>(i), before};
        }
    }
    return std::nullopt;
}

} // namespace pluginkit
