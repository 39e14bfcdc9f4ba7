#include "accesses_races.h"

#include <algorithm>

#include <dlfcn.h>

#ifdef PLUGINKIT_CPU_CHECKED

namespace pluginkit_cpu
{

inline namespace v2
{

namespace accesses
{

namespace
{

char const* libraryBegin() noexcept
{
    static char const* const begin = []() -> char const*
    {
        Dl_info info{};
        dladdr(reinterpret_cast<void const*>(&libraryBegin), &info);
        return static_cast<char const*>(info.dli_fbase);
    }();
    return begin;
}

} // namespace

uint32_t Races::codeOffset(void const* code) noexcept
{
    return static_cast<uint32_t>(static_cast<char const*>(code) - libraryBegin()) & 0x7FFFFFFFU;
}

void const* Races::codeAt(uint32_t offset) noexcept
{
    return libraryBegin() + offset;
}

uint32_t Collision::readersCode() const noexcept
{
    return otherWrites ? Races::codeOffset(access.code) : other.code;
}

void Races::clear()
{
    mPages.clear();
    std::fill(std::begin(mRecent), std::end(mRecent), Recent{});
}

Races::Page& Races::page(uintptr_t number)
{
    Recent& recent = mRecent[number % kRECENT];
    if (recent.number != number)
    {
        recent = {number, &mPages[number]};
    }
    return *recent.page;
}

void Races::split(Page& page, unsigned int unitBits)
{
    if (page.cells.empty())
    {
        page.unitBits = unitBits;
        page.cells.resize(kPAGE >> unitBits, Cell{});
        return;
    }
    unsigned int const finer = page.unitBits - unitBits;
    std::vector<Cell> cells(kPAGE >> unitBits);
    for (size_t i = 0; i < cells.size(); ++i)
    {
        cells[i] = page.cells[i >> finer];
    }
    page.cells.swap(cells);
    page.unitBits = unitBits;
}

bool Races::check(Access const& access, Collision& collision)
{
    Kept const now{mOrder.now(), access.atomic ? 1U : 0U, codeOffset(access.code) & 0x7FFFFFFFU};
    bool found = false;
    uintptr_t const end = access.address + access.size;
    for (uintptr_t at = access.address; at < end;)
    {
        Page& here = page(at >> kPAGE_BITS);
        uintptr_t const pageBegin = at & ~uintptr_t{kPAGE - 1};
        uintptr_t const stop = std::min(end, pageBegin + kPAGE);
        auto const aligned = static_cast<unsigned int>(__builtin_ctzll(at | stop | 4U));
        if (here.cells.empty() || aligned < here.unitBits)
        {
            split(here, aligned);
        }
        size_t const last = (stop - pageBegin) >> here.unitBits;
        for (size_t i = (at - pageBegin) >> here.unitBits; i < last; ++i)
        {
            if (checkCell(here.cells[i], access, now, collision))
            {
                found = true;
            }
        }
        at = stop;
    }
    return found;
}

bool Races::checkCell(Cell& cell, Access const& access, Kept now, Collision& collision)
{
    bool found = false;
    auto const meet = [&](Kept& kept, bool writes)
    {
        if (kept.moment != 0 && kept.moment != now.moment && !(kept.atomic != 0 && now.atomic != 0) &&
            !mOrder.before(kept.moment))
        {
            Collision const one{access, kept, writes};
            collision = found && one.isGuess() ? collision : one;
            found = true;
        }
    };
    for (Kept const& read : cell.reads)
    {
        Moment const& then = mOrder.moment(read.moment);
        Moment const& here = mOrder.moment(now.moment);
        if (now.atomic != 0 && read.moment != 0 && then.block == here.block && then.thread == here.thread)
        {
            confirm(read.code);
        }
    }
    meet(cell.writes[0], true);
    meet(cell.writes[1], true);
    if (!access.writes)
    {
        keep(cell.reads, now);
        return found;
    }
    meet(cell.reads[0], false);
    meet(cell.reads[1], false);
    if (now.atomic == 0)
    {
        // All earlier accesses come before this one, or are reported.
        cell = Cell{};
        cell.writes[0] = now;
        return found;
    }
    keep(cell.writes, now);
    for (Kept& read : cell.reads)
    {
        if (read.moment != 0 && mOrder.before(read.moment))
        {
            read = {};
        }
    }
    return found;
}

void Races::keep(Kept (&kept)[2], Kept now)
{
    for (Kept& each : kept)
    {
        // What is plain says more than what is atomic: it collides with atomic accesses, too.
        bool const covered = now.atomic == 0 || each.atomic != 0;
        if (each.moment == 0 || (covered && (each.moment == now.moment || mOrder.before(each.moment))))
        {
            each = now;
            if (&each == &kept[0] && kept[1].moment != 0 && (now.atomic == 0 || kept[1].atomic != 0) &&
                mOrder.before(kept[1].moment))
            {
                kept[1] = {};
            }
            return;
        }
    }
    if (kept[1].atomic != 0 && now.atomic == 0)
    {
        kept[1] = now;
        return;
    }
    Moment const& first = mOrder.moment(kept[0].moment);
    Moment const& second = mOrder.moment(kept[1].moment);
    Moment const& third = mOrder.moment(now.moment);
    auto const sameWarp = [](Moment const& a, Moment const& b)
    { return a.block == b.block && a.thread / warpSize == b.thread / warpSize; };
    bool const wider = first.block == second.block && third.block != first.block;
    if (now.atomic <= kept[1].atomic && (wider || (sameWarp(first, second) && !sameWarp(first, third))))
    {
        kept[1] = now;
    }
}

void Races::forget(uintptr_t begin, size_t size)
{
    uintptr_t const end = begin + size;
    for (uintptr_t at = begin; at < end;)
    {
        uintptr_t const pageBegin = at & ~uintptr_t{kPAGE - 1};
        uintptr_t const stop = std::min(end, pageBegin + kPAGE);
        auto const found = mPages.find(at >> kPAGE_BITS);
        if (found != mPages.end() && !found->second.cells.empty())
        {
            Page& here = found->second;
            size_t const unit = size_t{1} << here.unitBits;
            auto const first = here.cells.begin() + static_cast<std::ptrdiff_t>((at - pageBegin) >> here.unitBits);
            auto const last =
                here.cells.begin() + static_cast<std::ptrdiff_t>((stop - pageBegin + unit - 1) >> here.unitBits);
            std::fill(first, last, Cell{});
        }
        at = stop;
    }
}

} // namespace accesses

} // namespace v2

} // namespace pluginkit_cpu

#endif
