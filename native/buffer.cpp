#include "buffer.h"

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

Buffer::Buffer(std::size_t size) : mSize{size}, mStorage{new std::uint8_t[size + 2 * kGUARD_BYTES + kALIGNMENT]}
{
    auto const start = reinterpret_cast<std::uintptr_t>(mStorage.get()) + kGUARD_BYTES;
    mData = mStorage.get() + kGUARD_BYTES + (kALIGNMENT - start % kALIGNMENT) % kALIGNMENT;
    for (std::size_t i = 0; i < kGUARD_BYTES; ++i)
    {
        mData[size + i] = guardByte(i);
        *(mData - 1 - i) = guardByte(i);
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
