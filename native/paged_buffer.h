#pragma once

#include "buffer.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace pluginkit
{

//! What IExecutionContext::setTensorAddress asks of an address, and cudaMalloc gives.
constexpr std::size_t kTENSOR_ALIGNMENT = 256;

//! `size` bytes of device memory on the host, aligned as a tensor's, between two pages that can't be accessed.
//!
//! The bytes end, but for the alignment, where the page behind begins; or, `atStart`, begin where the page before ends.
//! What is left of the buffer's own pages is a guard as `Buffer` has it, but with the bytes of `around` if there are
//! any: a write there is found. An access to the
//! pages around is noted, and they are opened for it. With AddressSanitizer in the process, which sees each access to
//! the guards, they are open from the start.
class PagedBuffer
{
public:
    PagedBuffer(std::size_t size, bool atStart, guard::Pattern const& around);
    ~PagedBuffer();
    PagedBuffer(PagedBuffer const&) = delete;
    PagedBuffer& operator=(PagedBuffer const&) = delete;

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
    //! The first access to the pages around it: the offset from the buffer's first byte; or nothing.
    std::optional<std::ptrdiff_t> touched() const;

    //! Notes an access of this process and opens the page, if the address is in a page around this buffer.
    bool open(std::uintptr_t address) noexcept;

private:
    std::size_t mSize;
    guard::Pattern mAround;
    std::size_t mPages{0}; // bytes of all pages
    std::uint8_t* mFirst{nullptr};
    std::uint8_t* mData{nullptr};
    std::uint8_t* mBegin{nullptr}; // of what can be read now
    std::uint8_t* mEnd{nullptr};
    std::atomic<std::uintptr_t> mTouched{0};
};

} // namespace pluginkit
