//! Writing a plugin's state down and reading it back: bounded, at any alignment, with a version tag.
//!
//! The bytes are: a magic number, the version that the plugin gives, and the values one after another without padding.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace pluginkit
{

namespace detail
{

//! "PKP1" in memory on a little-endian machine: distinguishes our bytes from another plugin's.
constexpr uint32_t kStateMagic{0x31504B50U};

struct StateHeader
{
    uint32_t magic;
    uint32_t version;
};

} // namespace detail

//! The bytes that values of these types take, the header included.
template <typename... Values>
constexpr size_t serializedSize() noexcept
{
    return sizeof(detail::StateHeader) + (size_t{0} + ... + sizeof(Values));
}

//! Writes into a buffer that TensorRT has sized by getSerializationSize(). Never writes past its end.
class Writer
{
public:
    Writer(void* buffer, size_t size, uint32_t version) noexcept : mNext(static_cast<std::byte*>(buffer)), mLeft(size)
    {
        put(detail::StateHeader{detail::kStateMagic, version});
    }

    template <typename Value>
    void put(Value const& value) noexcept
    {
        static_assert(std::is_trivially_copyable_v<Value>, "only plain values can be written as bytes");
        if (mNext == nullptr || sizeof value > mLeft)
        {
            mLeft = 0;
            return;
        }
        std::memcpy(mNext, &value, sizeof value);
        mNext += sizeof value;
        mLeft -= sizeof value;
    }

private:
    std::byte* mNext;
    size_t mLeft;
};

//! Reads what a Writer of the same version wrote. After the first failure every get() fails.
class Reader
{
public:
    Reader(void const* data, size_t length, uint32_t version) noexcept
        : mNext(static_cast<std::byte const*>(data)), mLeft(data == nullptr ? 0 : length)
    {
        detail::StateHeader header{};
        mGood = get(header) && header.magic == detail::kStateMagic && header.version == version;
    }

    template <typename Value>
    bool get(Value& value) noexcept
    {
        static_assert(std::is_trivially_copyable_v<Value>, "only plain values can be read from bytes");
        if (!mGood || sizeof value > mLeft)
        {
            mGood = false;
            return false;
        }
        std::memcpy(&value, mNext, sizeof value);
        mNext += sizeof value;
        mLeft -= sizeof value;
        return true;
    }

    //! Whether everything was read, and nothing is left over.
    bool finished() const noexcept
    {
        return mGood && mLeft == 0;
    }

private:
    std::byte const* mNext;
    size_t mLeft;
    bool mGood{true};
};

} // namespace pluginkit
