//! Memory for what a plugin is given: it ends where a page begins that can't be accessed.
#pragma once

#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

namespace pluginkit
{

struct ClosedSlot;

//! `size` bytes whose end is that of their page: whoever goes beyond ends the process, and `noteBeyond` says what it
//! was. The pages are those of a pool, which only grows: a use costs no system call once there are enough. What is
//! given back is written over.
class ClosedBytes
{
public:
    //! `what` names it in messages and lives as long as the process, `name` follows it in quotation marks. With the
    //! size of an `item` it is an array of these.
    ClosedBytes(std::size_t size, std::size_t item, char const* what, std::string_view name = {});
    ~ClosedBytes();
    ClosedBytes(ClosedBytes const&) = delete;
    ClosedBytes& operator=(ClosedBytes const&) = delete;

    //! Never null.
    std::uint8_t* data() const
    {
        return mData;
    }
    //! Writes over what it holds.
    void wipe(std::uint8_t with = 0xEE);

private:
    ClosedSlot* mSlot;
    std::uint8_t* mData;
    std::size_t mSize;
};

//! A C array there, of a type that can be copied byte by byte.
template <class T>
class ClosedArray
{
public:
    ClosedArray(std::size_t count, char const* what, T const& each = T{})
        : mBytes{count * sizeof(T), sizeof(T), what}, mCount{count}
    {
        for (std::size_t i = 0; i < count; ++i)
        {
            data()[i] = each;
        }
    }
    ClosedArray(std::vector<T> const& items, char const* what) : ClosedArray{items.size(), what}
    {
        for (std::size_t i = 0; i < mCount; ++i)
        {
            data()[i] = items[i];
        }
    }

    T* data() const
    {
        return reinterpret_cast<T*>(mBytes.data());
    }
    std::size_t size() const
    {
        return mCount;
    }
    T& operator[](std::size_t index) const
    {
        return data()[index];
    }
    T* begin() const
    {
        return data();
    }
    T* end() const
    {
        return data() + mCount;
    }

private:
    ClosedBytes mBytes;
    std::size_t mCount;
};

//! Bytes there, as they are.
class ClosedCopy : public ClosedBytes
{
public:
    ClosedCopy(std::string_view bytes, char const* what, std::string_view name = {})
        : ClosedBytes{bytes.size(), 0, what, name}
    {
        if (!bytes.empty())
        {
            std::memcpy(data(), bytes.data(), bytes.size());
        }
    }
};

//! A text there, with its closing zero.
class ClosedText : public ClosedBytes
{
public:
    explicit ClosedText(std::string_view text, char const* what, std::string_view name = {})
        : ClosedBytes{text.size() + 1, 0, what, name}
    {
        std::memcpy(data(), text.data(), text.size());
        data()[text.size()] = 0;
    }
    char const* get() const
    {
        return reinterpret_cast<char const*>(data());
    }
};

//! In a handler of SIGSEGV: writes into the callFile what was left by the access, if it is such memory.
void noteBeyond(siginfo_t const* info, void const* context) noexcept;

} // namespace pluginkit
