//! Finds two accesses to the same bytes, by different threads of a launch, at least one of them a write, not both
//! atomic, of which neither comes before the other.
//!
//! Of each piece of memory its last accesses are kept: of reads, and of atomic writes, two that no order connects. As
//! these are taken from different blocks or warps where that is possible, whoever would collide with one that was
//! dropped collides with one of them.
#pragma once

#include "accesses_order.h"

#include <set>

namespace pluginkit_cpu
{

inline namespace v2
{

namespace accesses
{

//! What an instrumented access does.
struct Access
{
    uintptr_t address;
    size_t size;
    bool reads;
    bool writes;
    bool atomic;
    void const* code;
};

//! An access that is kept: the number of its moment, and where in the library its code is.
struct Kept
{
    uint32_t moment; //!< 0: none.
    uint32_t atomic : 1;
    uint32_t code : 31;
};

struct Cell
{
    Kept writes[2];
    Kept reads[2];
};

struct Collision
{
    Access access; //!< The current thread's.
    Kept other;
    bool otherWrites;

    //! A plain read meets another thread's atomic write. It is not a race where some thread that read there then
    //! changes the same bytes by an atomic, as loops around atomicCAS begin (and may end without one).
    bool isGuess() const noexcept
    {
        return otherWrites ? !access.writes && !access.atomic && other.atomic != 0 : access.atomic && other.atomic == 0;
    }

    //! The code that reads, of a guess.
    PLUGINKIT_CPU_HIDDEN uint32_t readersCode() const noexcept;
};

class PLUGINKIT_CPU_HIDDEN Races
{
public:
    explicit Races(Order& order) : mOrder(order) {}

    void clear();

    //! Keeps the access. True if it collides with an earlier one; the first such is in `collision`.
    bool check(Access const& access, Collision& collision);

    //! These addresses begin again.
    void forget(uintptr_t begin, size_t size);

    //! A plain read by this code was a guess, see Collision::isGuess.
    void confirm(uint32_t code)
    {
        mGuesses.insert(code);
    }

    bool isConfirmed(uint32_t code) const
    {
        return mGuesses.count(code) != 0;
    }

    //! Where code lies in the library, in 31 bits, and back.
    static uint32_t codeOffset(void const* code) noexcept;
    static void const* codeAt(uint32_t offset) noexcept;

private:
    static constexpr unsigned int kPAGE_BITS = 12;
    static constexpr size_t kPAGE = size_t{1} << kPAGE_BITS;
    static constexpr size_t kRECENT = 256;

    //! The cells of a page's bytes: one for 4, 2 or 1 of them, as small as the accesses there are.
    struct Page
    {
        unsigned int unitBits{2};
        std::vector<Cell> cells;
    };

    struct Recent
    {
        uintptr_t number{~uintptr_t{0}};
        Page* page{nullptr};
    };

    Page& page(uintptr_t number);
    static void split(Page& page, unsigned int unitBits);
    bool checkCell(Cell& cell, Access const& access, Kept now, Collision& collision);
    void keep(Kept (&kept)[2], Kept now);

    Order& mOrder;
    std::unordered_map<uintptr_t, Page> mPages;
    Recent mRecent[kRECENT];
    std::set<uint32_t> mGuesses;
};

} // namespace accesses

} // namespace v2

} // namespace pluginkit_cpu
