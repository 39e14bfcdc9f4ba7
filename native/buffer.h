#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

namespace pluginkit
{

//! Bytes on each side of a buffer that a plugin must not touch. A multiple of the alignment.
constexpr std::size_t kGUARD_BYTES = 4096;
//! What cudaMalloc promises, and TensorRT's bindings have.
constexpr std::size_t kALIGNMENT = 256;

//! Where a guard was damaged: the offset is relative to the buffer's first byte (negative: before it; size or more:
//! behind it), with what was found there.
struct Damage
{
    std::ptrdiff_t offset;
    std::uint8_t found;
};

//! `size` bytes between two guards.
class Buffer
{
public:
    explicit Buffer(std::size_t size);

    std::uint8_t* data()
    {
        return mData;
    }
    std::size_t size() const
    {
        return mSize;
    }
    //! The damaged guard byte that is nearest to the buffer, or nothing.
    std::optional<Damage> damage() const;

private:
    std::size_t mSize;
    std::unique_ptr<std::uint8_t[]> mStorage;
    std::uint8_t* mData;
};

} // namespace pluginkit
