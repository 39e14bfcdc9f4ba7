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
    mSwitches = mSwitches + 1;
    Fiber::change(from, to);
}

PLUGINKIT_CPU_INLINE Fiber* Worker::choose(Fiber* idle)
{
    return mQuick != 0 && !mReady.empty() ? mReady.pop() : chooseAmongAll(idle);
}

PLUGINKIT_CPU_INLINE Record& Worker::record()
{
    Record* const kept = mCurrent->record;
    return kept != nullptr ? *kept : engage();
}

PLUGINKIT_CPU_INLINE Fiber& Worker::recorded()
{
    if (mCurrent->record == nullptr)
    {
        engage();
    }
    return *mCurrent;
}

PLUGINKIT_CPU_INLINE void Worker::park()
{
    // On the thread's stack, which it needs anyway when it goes on.
    uint3 const thread = *mThreadIdx;
    Fiber* const to = choose(nullptr);
    if (to != mCurrent)
    {
        go(*to);
    }
    become(thread, mCurrent->block->index);
}

PLUGINKIT_CPU_INLINE void Worker::wait(Fiber& self, char const* operation, Place place)
{
    Waiting const waiting{operation, place};
    self.waiting = &waiting;
    park();
    self.waiting = nullptr;
}

} // namespace v2

} // namespace pluginkit_cpu
