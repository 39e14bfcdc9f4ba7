//! Knows which bytes are uninitialized: of shared memory since the block began, of cudaMalloc's, and of the test
//! harness's where it asks for that. All other memory counts as written.
#pragma once

#include <pluginkit/cpu/engine.h>

#include <unordered_map>

namespace pluginkit_cpu
{

inline namespace v2
{

namespace accesses
{

class PLUGINKIT_CPU_HIDDEN Unwritten
{
public:
    //! Nobody has written these bytes.
    void begin(uintptr_t address, size_t size);

    //! These bytes are not memory any more, or nothing is known of them.
    void end(uintptr_t address, size_t size);

    void write(uintptr_t address, size_t size)
    {
        if (mCount != 0)
        {
            change(address, size, false);
        }
    }

    //! How many of these bytes are uninitialized; `first` is the first of them.
    size_t count(uintptr_t address, size_t size, uintptr_t& first);

    //! Of bytes that were poison: two that aren't both poison any more have been written by a store that wasn't seen.
    //! g++ reports no store of what a function returns by value, a half for one.
    void compare(uintptr_t address, size_t size);

    //! The bytes at `to` are as much written as those at `from`.
    void copy(uintptr_t to, uintptr_t from, size_t size);

private:
    static constexpr unsigned int kPAGE_BITS = 12;
    static constexpr size_t kPAGE = size_t{1} << kPAGE_BITS;
    static constexpr size_t kRECENT = 256;

    //! A bit for each byte.
    struct Page
    {
        uint64_t bits[kPAGE / 64];
    };

    struct Recent
    {
        uintptr_t number{~uintptr_t{0}};
        Page* page{nullptr}; //!< Null: all of it is written.
    };

    Page* find(uintptr_t number);
    Page& make(uintptr_t number);
    void change(uintptr_t address, size_t size, bool unwritten);

    std::unordered_map<uintptr_t, Page> mPages;
    Recent mRecent[kRECENT];
    size_t mCount{0}; // pages
};

} // namespace accesses

} // namespace v2

} // namespace pluginkit_cpu
