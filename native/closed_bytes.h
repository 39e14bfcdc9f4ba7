#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace pluginkit
{

//! A copy of bytes that ends where a page begins that can't be accessed: whoever reads beyond it ends the process.
class ClosedBytes
{
public:
    explicit ClosedBytes(std::string const& bytes);
    ~ClosedBytes();
    ClosedBytes(ClosedBytes const&) = delete;
    ClosedBytes& operator=(ClosedBytes const&) = delete;

    //! Never null.
    std::uint8_t* data() const
    {
        return mData;
    }

private:
    std::size_t mPages{0}; // bytes of all pages
    void* mFirst{nullptr};
    std::uint8_t* mData{nullptr};
};

} // namespace pluginkit
