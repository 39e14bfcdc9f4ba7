//! How a thread of a kernel stops and another one goes on: in a header, since each barrier and shuffle does it.
#pragma once

#include "worker.h"

namespace pluginkit_cpu
{

inline namespace v2
{

PLUGINKIT_CPU_INLINE void Worker::go(Fiber& to) noexcept
{
    Fiber& from = *mCurrent;
    mCurrent = &to;
    mSwitched = 1;
    if (&to != &mHost)
    {
        become(to);
    }
    Fiber::change(from, to);
}

PLUGINKIT_CPU_INLINE Fiber* Worker::choose(Fiber* idle)
{
    std::sig_atomic_t const quick = mQuick;
    if (quick == kGO_ON && !mReady.empty())
    {
        return mReady.pop();
    }
    return quick == kBEGIN && mFresh->hasNew() ? startOn(*mFresh, idle) : chooseAmongAll(idle);
}

PLUGINKIT_CPU_INLINE Fiber* Worker::startOn(Block& block, Fiber* idle)
{
    Fiber* fiber = idle;
    if (fiber == nullptr)
    {
        if (mIdle.empty() || mIdle.back()->block == nullptr)
        {
            return beginOn(block);
        }
        fiber = mIdle.back();
        mIdle.pop_back();
    }
    fiber->block = &block;
    return fiber;
}

PLUGINKIT_CPU_INLINE void Worker::become(Fiber const& fiber) noexcept
{
    *mThreadIdx = fiber.index;
    if (fiber.block != mShown)
    {
        show(*fiber.block);
    }
}

PLUGINKIT_CPU_INLINE void Worker::finish(Fiber& fiber)
{
    Block& block = *fiber.block;
    Warp& warp = block.warps[fiber.linear / warpSize];
    fiber.record = nullptr;
    warp.alive &= ~(1U << fiber.linear % warpSize);
    --block.left;
    mSomeEnded = 1;
    mIdleTurns = 0;
    if (block.gathering != 0 || !warp.meetings.empty())
    {
        release(block, warp);
    }
}

PLUGINKIT_CPU_INLINE Fiber& Worker::recorded()
{
    if (mCurrent->record == nullptr)
    {
        engage();
    }
    return *mCurrent;
}

PLUGINKIT_CPU_INLINE Fiber& Worker::first() noexcept
{
    Fiber& to = *mReady.pop();
    *mThreadIdx = to.index;
    return to;
}

// Never further down in calls than the functions that a kernel calls: the processor takes a return to go where the last
// call came from, and that is right as long as all threads stop at the same depth.
PLUGINKIT_CPU_INLINE void Worker::hand(Fiber& to) noexcept
{
    Fiber& from = *mCurrent;
    mCurrent = &to;
    mSwitched = 1;
    Fiber::changeUnwatched(from, to);
}

PLUGINKIT_CPU_INLINE void Worker::wait(Fiber& self, char const* operation, Place place)
{
    Waiting const waiting{operation, place};
    self.waiting = &waiting;
    if (Fiber& to = knows() ? first() : next(); &to != &self)
    {
        hand(to);
    }
    self.waiting = nullptr;
}

} // namespace v2

} // namespace pluginkit_cpu
