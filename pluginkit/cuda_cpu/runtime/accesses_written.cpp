#include "accesses_written.h"

#include "accesses.h"

#include <algorithm>

#ifdef PLUGINKIT_CPU_CHECKED

namespace pluginkit_cpu
{

inline namespace v2
{

namespace accesses
{

namespace
{

//! Calls `each(page's number, word of the page, mask of bits)` for the bytes.
template <typename Each>
void forWords(uintptr_t address, size_t size, unsigned int pageBits, Each const& each)
{
    uintptr_t const end = address + size;
    for (uintptr_t at = address; at < end;)
    {
        uintptr_t const stop = std::min(end, (at & ~uintptr_t{63}) + 64);
        uint64_t const ones = stop - at == 64 ? ~uint64_t{0} : (uint64_t{1} << (stop - at)) - 1;
        each(at >> pageBits, at % (uintptr_t{1} << pageBits) / 64, ones << at % 64);
        at = stop;
    }
}

} // namespace

Unwritten::Page* Unwritten::find(uintptr_t number)
{
    Recent& recent = mRecent[number % kRECENT];
    if (recent.number != number)
    {
        auto const found = mPages.find(number);
        recent = {number, found == mPages.end() ? nullptr : &found->second};
    }
    return recent.page;
}

Unwritten::Page& Unwritten::make(uintptr_t number)
{
    Page* page = find(number);
    if (page == nullptr)
    {
        page = &mPages[number];
        mRecent[number % kRECENT].page = page;
        mCount = mPages.size();
    }
    return *page;
}

void Unwritten::begin(uintptr_t address, size_t size)
{
    change(address, size, true);
}

void Unwritten::change(uintptr_t address, size_t size, bool unwritten)
{
    auto const word = [&](uintptr_t number, size_t which, uint64_t mask)
    {
        if (unwritten)
        {
            make(number).bits[which] |= mask;
        }
        else if (Page* const page = find(number); page != nullptr)
        {
            page->bits[which] &= ~mask;
        }
    };
    forWords(address, size, kPAGE_BITS, word);
}

void Unwritten::end(uintptr_t address, size_t size)
{
    write(address, size);
    for (uintptr_t number = address >> kPAGE_BITS; number <= (address + size) >> kPAGE_BITS; ++number)
    {
        auto const found = mPages.find(number);
        if (found != mPages.end() && std::all_of(std::begin(found->second.bits), std::end(found->second.bits),
                                                 [](uint64_t word) { return word == 0; }))
        {
            mPages.erase(found);
            mRecent[number % kRECENT] = Recent{};
        }
    }
    mCount = mPages.size();
}

size_t Unwritten::count(uintptr_t address, size_t size, uintptr_t& first)
{
    size_t count = 0;
    auto const word = [&](uintptr_t number, size_t which, uint64_t mask)
    {
        Page const* const page = find(number);
        uint64_t const bits = page == nullptr ? 0 : page->bits[which] & mask;
        if (bits != 0 && count == 0)
        {
            first = (number << kPAGE_BITS) + which * 64 + static_cast<size_t>(__builtin_ctzll(bits));
        }
        count += static_cast<size_t>(__builtin_popcountll(bits));
    };
    if (mCount != 0)
    {
        forWords(address, size, kPAGE_BITS, word);
    }
    return count;
}

void Unwritten::compare(uintptr_t address, size_t size)
{
    auto const word = [&](uintptr_t number, size_t which, uint64_t mask)
    {
        Page* const page = find(number);
        auto const* const memory = reinterpret_cast<unsigned char const*>((number << kPAGE_BITS) + which * 64);
        for (uint64_t rest = page == nullptr ? 0 : page->bits[which] & mask; rest != 0; rest &= rest - 1)
        {
            auto const at = static_cast<size_t>(__builtin_ctzll(rest));
            if (memory[at] != kPOISON || memory[at ^ 1U] != kPOISON)
            {
                page->bits[which] &= ~(uint64_t{1} << at);
            }
        }
    };
    forWords(address, size, kPAGE_BITS, word);
}

void Unwritten::copy(uintptr_t to, uintptr_t from, size_t size)
{
    if (mCount == 0)
    {
        return;
    }
    change(to, size, false);
    for (size_t i = 0; i < size;)
    {
        uintptr_t first = 0;
        // By pieces that are mostly all written.
        size_t const piece = std::min<size_t>(size - i, 4096);
        if (count(from + i, piece, first) != 0)
        {
            for (size_t k = 0; k < piece; ++k)
            {
                if (count(from + i + k, 1, first) != 0 && find((to + i + k) >> kPAGE_BITS) != nullptr)
                {
                    change(to + i + k, 1, true);
                }
            }
        }
        i += piece;
    }
}

} // namespace accesses

} // namespace v2

} // namespace pluginkit_cpu

#endif
