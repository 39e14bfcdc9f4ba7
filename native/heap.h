//! Host memory that a library takes, counted: its own calls of malloc and the like, and those of libstdc++, which its
//! `new` comes to, go through functions of ours as long as a HeapCount lives.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace pluginkit
{

struct HeapBlock
{
    std::uint64_t number; //!< Larger than those of blocks that were taken before.
    std::size_t size;
    std::vector<std::size_t> offsets; //!< Where in the library it was taken, innermost first, as addr2line takes it.
};

//! One at a time. What another library frees is counted as given back, too.
class HeapCount
{
public:
    //! Of a library that is loaded, by its file.
    explicit HeapCount(std::string const& library);
    ~HeapCount();
    //! Ends the counting; nothing is left then.
    void stop();
    HeapCount(HeapCount const&) = delete;
    HeapCount& operator=(HeapCount const&) = delete;

    //! The last block's number.
    std::uint64_t last() const;
    //! The blocks with larger numbers that are still there.
    std::vector<HeapBlock> left(std::uint64_t after) const;

private:
    struct Slot
    {
        void** place;
        void* before;
    };

    void redirect(void* info, bool counted);
    std::vector<Slot> mSlots;
};

} // namespace pluginkit
