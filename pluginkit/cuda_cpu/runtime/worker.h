//! A host thread that runs blocks: their threads as fibers that take turns.
#pragma once

#include "block.h"
#include "launch.h"

#include <csignal>
#include <ctime>
#include <deque>
#include <thread>

namespace pluginkit_cpu
{

inline namespace v2
{

//! Not thread safe, and never in two launches at once; its stacks and blocks are used again by the next launch.
class PLUGINKIT_CPU_HIDDEN Worker
{
public:
    Worker();

    //! Runs blocks of the launch until none is left, together with the other workers that it may start for it.
    void run(LaunchState& launch, bool first);

    //! The worker whose kernel runs on this host thread; null outside of kernels.
    static Worker* current() noexcept;

    LaunchState& launch() noexcept
    {
        return *mLaunch;
    }

    Fiber& fiber() noexcept
    {
        return *mCurrent;
    }

    //! The record of the running thread; its block keeps records from now on.
    Record& record();

    //! The running thread stops; returns when it goes on. Its state says until when.
    void park(Record& record);

    void makeReady(Record& record);

    //! The running thread lets all others go first.
    void yield();

    //! The thread that ran on this fiber has ended.
    void finish(Record& record);

    //! The running thread ends, wherever it is; never comes back.
    [[noreturn]] void leave();

    //! Ends the launch with an error; never comes back.
    [[noreturn]] void abandon(cudaError_t error);

    //! What the timer's signal does.
    void tick(void const* code);

    //! Not zero while the engine's own code runs: there a thread can't be stopped.
    std::sig_atomic_t volatile inside{0};

private:
    static void enter();
    Fiber* choose(Fiber* idle);
    Fiber* startOn(Block& block, Fiber* idle);
    Fiber* resume(size_t which);
    void go(Fiber& to);
    Block* nextBlock();
    void endBlock(Block& block);
    bool releaseVotes();
    void share();
    void reportDeadlock();
    bool expired();

    LaunchState* mLaunch{nullptr};
    Fiber mHost;
    Fiber* mCurrent{nullptr};
    size_t mStackBytes;
    std::vector<std::unique_ptr<Fiber>> mFibers;
    std::vector<Fiber*> mIdle;
    std::vector<std::unique_ptr<Block>> mBlocks;
    std::vector<Block*> mFree;
    std::vector<Block*> mLive;
    std::deque<Record*> mReady;
    std::vector<std::thread> mHelpers;
    Random mRandom{0};
    bool mFirst{false};
    bool mShared{false};
    uint64_t mIdleTurns{0};
    int64_t mBegan{0};

    // For the timer.
    std::sig_atomic_t volatile mSwitches{0};
    std::sig_atomic_t volatile mEnded{0};
    std::sig_atomic_t mSeenSwitches{0};
    std::sig_atomic_t mSeenEnded{0};
    int64_t mLastEnded{0};
    int64_t mLimit{0};
    std::sig_atomic_t volatile mExpired{0};
};

//! While it lives, the engine's own code runs and isn't interrupted.
class Inside
{
public:
    explicit Inside(Worker& worker) noexcept : mWorker(worker)
    {
        mWorker.inside = 1;
    }

    Inside(Inside const&) = delete;
    Inside& operator=(Inside const&) = delete;

    ~Inside()
    {
        mWorker.inside = 0;
    }

private:
    Worker& mWorker;
};

//! The name of the kernel that runs on this host thread.
PLUGINKIT_CPU_HIDDEN char const* kernelName() noexcept;

//! Nanoseconds of a clock that never goes back.
PLUGINKIT_CPU_HIDDEN int64_t now() noexcept;

} // namespace v2

} // namespace pluginkit_cpu
