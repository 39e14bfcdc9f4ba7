#pragma once

#include "guard.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>

namespace pluginkit
{

//! Bytes on each side of a buffer that a plugin must not touch.
constexpr std::size_t kGUARD_BYTES = 4096;

//! `size` bytes of host memory between two guards.
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
