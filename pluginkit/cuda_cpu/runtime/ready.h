//! The threads that may go on, in the order in which they were released.
#pragma once

#include "block.h"

#include <cstring>
#include <vector>

namespace pluginkit_cpu
{

inline namespace v2
{

//! A ring of fibers: first in, first out, or any of them.
class Ready
{
public:
    bool empty() const noexcept
    {
        return mBegin == mEnd;
    }

    size_t size() const noexcept
    {
        return mEnd - mBegin;
    }

    void clear() noexcept
    {
        mBegin = mEnd;
    }

    //! Makes room for so many more.
    void reserve(size_t more)
    {
        while (mRing.size() - size() < more)
        {
            grow();
        }
    }

    //! There must be room for it.
    void put(Fiber* fiber) noexcept
    {
        at(mEnd++) = fiber;
    }

    void push(Fiber* fiber)
    {
        reserve(1);
        put(fiber);
    }

    void push(std::vector<Fiber*> const& fibers)
    {
        reserve(fibers.size());
        for (Fiber* const each : fibers)
        {
            put(each);
        }
    }

    //! The first one.
    Fiber* pop() noexcept
    {
        Fiber* const first = at(mBegin++);
        // What the next ones need has left the nearest cache since they ran.
        if (size() >= kAHEAD)
        {
            __builtin_prefetch(at(mBegin + kAHEAD - 1));
            at(mBegin + 1)->prefetch();
        }
        return first;
    }

    //! The one with so many before it.
    Fiber* take(size_t which) noexcept
    {
        Fiber* const taken = at(mBegin + which);
        for (size_t i = which; i > 0; --i)
        {
            at(mBegin + i) = at(mBegin + i - 1);
        }
        ++mBegin;
        return taken;
    }

private:
    static constexpr size_t kAHEAD = 4;

    Fiber*& at(size_t number) noexcept
    {
        return mSlots[number & mMask];
    }

    void grow()
    {
        std::vector<Fiber*> larger(mRing.empty() ? 1024 : 2 * mRing.size());
        size_t const count = size();
        for (size_t i = 0; i < count; ++i)
        {
            larger[i] = at(mBegin + i);
        }
        mRing.swap(larger);
        mSlots = mRing.data();
        mMask = mRing.size() - 1;
        mBegin = 0;
        mEnd = count;
    }

    std::vector<Fiber*> mRing; // as long as a power of two
    Fiber** mSlots{nullptr};
    size_t mMask{0};
    size_t mBegin{0};
    size_t mEnd{0};
};

} // namespace v2

} // namespace pluginkit_cpu
