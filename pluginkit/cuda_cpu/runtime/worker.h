//! A host thread that runs blocks: their threads as fibers that take turns.
#pragma once

#include "block.h"
#include "faults.h"
#include "launch.h"
#include "ready.h"

#include <atomic>
#include <csignal>
#include <ctime>
#include <thread>

namespace pluginkit_cpu
{

inline namespace v2
{

class Worker;

//! The worker whose kernel runs on this host thread; null outside of kernels.
extern PLUGINKIT_CPU_THREAD_LOCAL Worker* tWorker;

//! The first use of the thread-local variables in a host thread, which may allocate them. Before glibc 2.40 that
//! changes registers if it isn't a function's call, as it isn't in kernels and where threads switch (gnu2 in
//! CMakeLists.txt and cuda_cpu/compile.py).
PLUGINKIT_CPU_HIDDEN void reachThreadLocals() noexcept;

//! Not thread safe, and never in two launches at once; its stacks and blocks are used again by the next launch.
class PLUGINKIT_CPU_HIDDEN Worker
{
public:
    Worker();

    //! Has a worker that no launch has, or a new one, run blocks of the launch until none is left; the first of a
    //! launch may start others. They are kept with their stacks.
    static void runOne(LaunchState& launch, bool first);

    //! The worker whose kernel runs on this host thread; null outside of kernels.
    static Worker* current() noexcept
    {
        return tWorker;
    }

    LaunchState& launch() noexcept
    {
        return *mLaunch;
    }

    Fiber& fiber() noexcept
    {
        return *mCurrent;
    }

    //! The kernel's threadIdx.
    uint3 const& thread() const noexcept
    {
        return *mThreadIdx;
    }

    //! The fiber of the running thread, with its record; its block keeps records from now on.
    Fiber& recorded();

    //! The running thread, whose fiber it is, stops; returns when it goes on, which somebody else sees to.
    void wait(Fiber& self, char const* operation, Place place);

    //! Whether `first` may be called.
    bool knows() const noexcept
    {
        return mQuick == kGO_ON && !mReady.empty();
    }

    //! Who goes on when the running thread stops: the first that has been released.
    Fiber& first() noexcept;

    //! The same where it isn't known; the running one's fiber where it goes on, maybe after others.
    [[gnu::noinline]] Fiber& next();

    //! The running thread stops for one of these.
    void hand(Fiber& to) noexcept;

    //! The kernel's names for its place are this fiber's from now on.
    void become(Fiber const& fiber) noexcept;

    //! They are this thread's, of a block that keeps no records.
    void become(uint3 const& thread, Block const& block) noexcept
    {
        *mThreadIdx = thread;
        show(block);
    }

    //! Threads that have been released; more may be added.
    Ready& ready() noexcept
    {
        mIdleTurns = 0;
        return mReady;
    }

    //! The running thread lets all others go first.
    void yield();

    //! The thread that ran on this fiber, of a block that keeps records, has ended.
    void finish(Fiber& fiber);

    //! The running thread ends, wherever it is; never comes back.
    [[noreturn]] void leave();

    //! Ends the launch with an error; never comes back.
    [[noreturn]] void abandon(cudaError_t error);

    Timer& timer() noexcept
    {
        return mTimer;
    }

    //! What the timer's signal does.
    void tick(void const* code);

    //! Not zero while the engine's own code runs: there a thread can't be stopped.
    std::sig_atomic_t volatile inside{0};

    //! From here on the engine's own code runs. A stop before changes what that code reads, so the compiler may read
    //! nothing of it earlier, nor write anything later than `goOutside`.
    void goInside() noexcept
    {
        inside = 1;
        std::atomic_signal_fence(std::memory_order_seq_cst);
    }

    void goOutside() noexcept
    {
        std::atomic_signal_fence(std::memory_order_seq_cst);
        inside = 0;
    }

private:
    [[gnu::noinline]] void runHere(LaunchState& launch, bool first);
    static void enter();
    //! Who goes on now: unknown; the next thread of the block that began last; the first that has been released. If
    //! there is none, it is unknown.
    //! The last only while one block is there, whose index is shown, and where AddressSanitizer watches no stacks.
    static constexpr std::sig_atomic_t kASK = 0;
    static constexpr std::sig_atomic_t kBEGIN = 1;
    static constexpr std::sig_atomic_t kGO_ON = 2;
    //! How many turns of threads that only wait in a loop, before another block may be what they wait for.
    static constexpr uint64_t kIDLE_TURNS = 4096;

    //! The fiber that goes on now; `idle` may begin a thread.
    Fiber* choose(Fiber* idle);
    [[gnu::noinline]] Fiber* chooseAmongAll(Fiber* idle);
    Fiber* startOn(Block& block, Fiber* idle);
    [[gnu::noinline]] Fiber* beginOn(Block& block);
    [[gnu::noinline]] void release(Block& block, Warp& warp);
    void show(Block const& block) noexcept
    {
        *mBlockIdx = block.index;
        mShown = &block;
    }
    void go(Fiber& to) noexcept;
    [[gnu::noinline]] void engage();
    Block* nextBlock();
    void endBlock(Block& block);
    bool releaseVotes();
    void share();
    void reportDeadlock();
    bool expired();

    LaunchState* mLaunch{nullptr};
    Fiber mHost;
    Fiber* mCurrent{nullptr};
    uint3* mThreadIdx{nullptr}; //!< This host thread's.
    uint3* mBlockIdx{nullptr};
    Block const* mShown{nullptr}; //!< Whose index that is.
    size_t mStackBytes;
    std::unique_ptr<char[]> mHandlersStack{new char[Faults::kSTACK]};
    std::vector<std::unique_ptr<Fiber>> mFibers;
    std::vector<Fiber*> mIdle;
    std::vector<std::unique_ptr<Block>> mBlocks;
    std::vector<Block*> mFree;
    std::vector<Block*> mLive;
    Block* mFresh{nullptr}; //!< The block that began last: no other one can have threads to begin.
    Ready mReady;
    std::vector<std::thread> mHelpers;
    Random mRandom{0};
    bool mPlain{false}; //!< The next thread is the first that may go on: no chance, and no grid that waits.
    //! While it isn't kASK nothing but this is to be asked, until a block or the keeping of its records begins, a
    //! thread yields, or the timer comes.
    std::sig_atomic_t volatile mQuick{kASK};
    bool mFirst{false};
    bool mShared{false};
    uint64_t mIdleTurns{0};
    int64_t mBegan{0};

    Timer mTimer;
    // For the timer.
    std::sig_atomic_t volatile mSwitched{0};  //!< Since it came last.
    std::sig_atomic_t volatile mSomeEnded{0}; //!< Likewise.
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
        mWorker.goInside();
    }

    Inside(Inside const&) = delete;
    Inside& operator=(Inside const&) = delete;

    ~Inside()
    {
        mWorker.goOutside();
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
