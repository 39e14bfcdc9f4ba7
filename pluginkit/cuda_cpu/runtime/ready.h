//! The threads that may go on, in the order in which they were released.
#pragma once

#include "block.h"

#include <algorithm>
#include <vector>

namespace pluginkit_cpu
{

inline namespace v2
{

//! A queue of fibers: first in, first out, or any of them. A fiber that was ever in it must live as long as it does.
class Ready
{
public:
    Ready() : mSlots(2 * kFIRST + kAHEAD, &mNone), mBegin(mSlots.data()), mEnd(mBegin) {}
    Ready(Ready const&) = delete;
    Ready& operator=(Ready const&) = delete;

    bool empty() const noexcept
    {
        return mBegin == mEnd;
    }

    size_t size() const noexcept
    {
        return static_cast<size_t>(mEnd - mBegin);
    }

    void clear() noexcept
    {
        mBegin = mSlots.data();
        mEnd = mBegin;
    }

    void push(Fiber* fiber)
    {
        push(&fiber, 1);
    }

    //! So many of them.
    void push(Fiber* const* fibers, size_t count)
    {
        if (count > room())
        {
            makeRoom(count);
        }
        mEnd = std::copy_n(fibers, count, mEnd);
    }

    //! The first one.
    Fiber* pop() noexcept
    {
        Fiber* const first = *mBegin++;
        // What the next ones need has left the nearest cache since they ran. Behind the end stand fibers that were here
        // before, or none's: it costs less to ask for theirs too than to look.
        __builtin_prefetch(mBegin[kAHEAD - 1]);
        mBegin[1]->prefetch();
        return first;
    }

    //! The one with so many before it.
    Fiber* take(size_t which) noexcept
    {
        Fiber* const taken = mBegin[which];
        std::copy_backward(mBegin, mBegin + which, mBegin + which + 1);
        ++mBegin;
        return taken;
    }

    //! The place of the one that goes `before` all others.
    template <typename Before>
    size_t best(Before before) const noexcept
    {
        return static_cast<size_t>(
            std::min_element(mBegin, mEnd, [&](Fiber const* one, Fiber const* other) { return before(*one, *other); }) -
            mBegin);
    }

private:
    static constexpr size_t kAHEAD = 4;
    static constexpr size_t kFIRST = 1024;

    size_t room() const noexcept
    {
        return static_cast<size_t>(mSlots.data() + mSlots.size() - kAHEAD - mEnd);
    }

    //! Moves what is there to the front. At least half of the slots are free then, so that it seldom has to.
    [[gnu::noinline]] void makeRoom(size_t more)
    {
        size_t const count = size();
        std::vector<Fiber*> larger(2 * (count + more) + kAHEAD > mSlots.size() ? 4 * (count + more) + kAHEAD : 0,
                                   &mNone);
        std::copy(mBegin, mEnd, larger.empty() ? mSlots.data() : larger.data());
        if (!larger.empty())
        {
            mSlots.swap(larger);
        }
        mBegin = mSlots.data();
        mEnd = mBegin + count;
    }

    Fiber mNone;
    std::vector<Fiber*> mSlots; // the last ones stay behind the end
    Fiber** mBegin;
    Fiber** mEnd;
};

} // namespace v2

} // namespace pluginkit_cpu
