#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>

namespace pluginkit
{

//! Bytes on each side of a buffer that a plugin must not touch: a page, at which a buffer begins. (cudaMalloc promises
//! an alignment of 256 bytes.)
constexpr std::size_t kGUARD_BYTES = 4096;

//! Where a guard was damaged: the offset is relative to the buffer's first byte (negative: before it; size or more:
//! behind it), with what was found there.
struct Damage
{
    std::ptrdiff_t offset;
    std::uint8_t found;
};

//! `size` bytes between two guards, in pages that are this buffer's alone.
class Buffer
{
public:
    explicit Buffer(std::size_t size);
    ~Buffer();
    Buffer(Buffer const&) = delete;
    Buffer& operator=(Buffer const&) = delete;

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
    struct Free
    {
        void operator()(std::uint8_t* storage) const
        {
            std::free(storage);
        }
    };

    std::size_t mSize;
    std::unique_ptr<std::uint8_t, Free> mStorage;
    std::uint8_t* mData{nullptr};
};

} // namespace pluginkit
