//! Writing a plugin's state down and reading it back: bounded, at any alignment, with a version tag.
//!
//! The bytes are: a magic number, the version that the plugin gives, and the values one after another without padding.
//! Before the elements of a list or the bytes of a text stands how many they are, as an uint32_t.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <string>
#include <type_traits>
#include <vector>

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

//! The bytes that a list or a text takes. It has fewer than 2^32 elements: a field's length is an int32_t.
template <typename List>
size_t storedSize(List const& list) noexcept
{
    return sizeof(uint32_t) + list.size() * sizeof(typename List::value_type);
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

    template <typename Element>
    void put(std::vector<Element> const& list) noexcept
    {
        putList(list);
    }

    void put(std::string const& text) noexcept
    {
        putList(text);
    }

private:
    template <typename List>
    void putList(List const& list) noexcept
    {
        put(static_cast<uint32_t>(list.size()));
        for (auto const& element : list)
        {
            put(element);
        }
    }

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

    //! Reads a list of at least `least` and at most `most` elements; no memory is taken for more than there are.
    template <typename Element>
    bool get(std::vector<Element>& list, size_t least, size_t most) noexcept
    {
        return getList(list, least, most);
    }

    bool get(std::string& text, size_t least, size_t most) noexcept
    {
        return getList(text, least, most);
    }

    //! Whether everything was read, and nothing is left over.
    bool finished() const noexcept
    {
        return mGood && mLeft == 0;
    }

private:
    template <typename List>
    bool getList(List& list, size_t least, size_t most) noexcept
    {
        using Element = typename List::value_type;
        uint32_t count{0};
        mGood = get(count) && count >= least && count <= most && count <= mLeft / sizeof(Element);
        if (!mGood)
        {
            return false;
        }
        try
        {
            List read(count, Element{});
            for (Element& element : read)
            {
                get(element);
            }
            list.swap(read);
        }
        catch (std::exception const&)
        {
            mGood = false; // no memory
        }
        return mGood;
    }

    std::byte const* mNext;
    size_t mLeft;
    bool mGood{true};
};

} // namespace pluginkit
