#include "worker.h"

#include "accesses.h"
#include "findings.h"
#include "settings.h"
#include "state.h"
#include "switching.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <system_error>

PLUGINKIT_CPU_THREAD_LOCAL uint3 threadIdx;
PLUGINKIT_CPU_THREAD_LOCAL uint3 blockIdx;
PLUGINKIT_CPU_THREAD_LOCAL dim3 blockDim;
PLUGINKIT_CPU_THREAD_LOCAL dim3 gridDim;

namespace pluginkit_cpu
{

inline namespace v2
{

PLUGINKIT_CPU_THREAD_LOCAL Worker* tWorker;

namespace
{

//! Workers that no launch has at the moment. Freed with the library.
struct Idle
{
    std::atomic<Worker*> first{nullptr}; // of a process with one host thread the only one: no lock for it
    std::mutex mutex;
    std::vector<std::unique_ptr<Worker>> workers;

    ~Idle()
    {
        delete first.load();
    }
};

Idle gIdle;

//! As how many of them one counts that had to be stopped by the timer.
constexpr uint64_t kSTOPPED_TURNS = 1024;

//! Blocks of a launch are shared with other host threads when they take longer than this, in nanoseconds.
constexpr int64_t kWORTH_SHARING = 200'000;

} // namespace

int64_t now() noexcept
{
    timespec time{};
    clock_gettime(CLOCK_MONOTONIC, &time);
    return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

char const* kernelName() noexcept
{
    return tWorker == nullptr ? "" : tWorker->launch().name;
}

bool inKernel() noexcept
{
    return tWorker != nullptr;
}

NotStopped::NotStopped() noexcept : mBefore(tWorker == nullptr ? 1 : tWorker->inside)
{
    if (tWorker != nullptr)
    {
        tWorker->inside = 1;
    }
}

NotStopped::~NotStopped()
{
    if (mBefore == 0 && tWorker != nullptr)
    {
        tWorker->inside = 0;
    }
}

void Worker::runOne(LaunchState& launch, bool first)
{
    std::unique_ptr<Worker> worker{gIdle.first.exchange(nullptr)};
    if (worker == nullptr)
    {
        std::lock_guard<std::mutex> const lock{gIdle.mutex};
        if (!gIdle.workers.empty())
        {
            worker = std::move(gIdle.workers.back());
            gIdle.workers.pop_back();
        }
    }
    if (worker == nullptr)
    {
        worker = std::make_unique<Worker>();
    }
    reachThreadLocals();
    worker->runHere(launch, first);
    Worker* none = nullptr;
    if (gIdle.first.compare_exchange_strong(none, worker.get()))
    {
        static_cast<void>(worker.release()); // it is there
        return;
    }
    std::lock_guard<std::mutex> const lock{gIdle.mutex};
    gIdle.workers.push_back(std::move(worker));
}

Worker::Worker() : mStackBytes(static_cast<size_t>(option("PLUGINKIT_CPU_STACK_KB", 256)) * 1024) {}

void Worker::runHere(LaunchState& launch, bool first)
{
    mLaunch = &launch;
    mFirst = first;
    mShared = false;
    mBegan = now();
    mIdleTurns = 0;
    mPlain = !launch.schedule.shuffled() && !launch.schedule.byNumber() && !launch.configuration.cooperative;
    mRandom = Random{launch.schedule.seed()};
    mLimit = launch.timeLimit;
    mLastEnded = mBegan;
    mExpired = 0;
    mQuick = kASK;
    mShown = nullptr;
    blockDim = launch.configuration.block;
    gridDim = launch.configuration.grid;
    mCurrent = &mHost;
    mThreadIdx = &threadIdx;
    mBlockIdx = &blockIdx;
    mSwitched = 1; // the first signal may come at once
    inside = 1;
    tWorker = this;
    Faults const faults{mTimer, mHandlersStack.get(), mBegan};
    if (Block* const block = nextBlock(); block != nullptr)
    {
        go(*startOn(*block, nullptr));
    }
    if (first)
    {
        accesses::launchEnds();
    }
    tWorker = nullptr;
    if (launch.error != cudaSuccess)
    {
        // Some threads were left where they stood: their stacks begin again.
        for (Block* block : mLive)
        {
            block->forget();
            mFree.push_back(block);
        }
        mLive.clear();
        mReady.clear();
        mIdle.clear();
        for (auto& fiber : mFibers)
        {
            fiber->block = nullptr;
            mIdle.push_back(fiber.get());
        }
    }
    for (auto& helper : mHelpers)
    {
        helper.join();
    }
    mHelpers.clear();
}

namespace
{

//! The worker of the host thread that runs here now. The compiler would keep the place of a thread-local variable, but
//! a fiber that was idle goes on in the next launch, which may be another host thread's.
[[gnu::noinline, gnu::noclone]] Worker& ofThisThread()
{
    asm volatile("");
    return *tWorker;
}

} // namespace

void Worker::enter()
{
    Fiber::arrived(*ofThisThread().mCurrent);
    Fiber& self = *ofThisThread().mCurrent;
    while (true)
    {
        Block& block = *self.block;
        Worker& worker = *block.worker;
        self.record = nullptr;
        block.launch->work.run(block);
        if (block.done())
        {
            worker.endBlock(block);
        }
        Fiber* const to = worker.choose(&self);
        if (to != &self)
        {
            worker.mIdle.push_back(&self);
            worker.go(*to);
        }
    }
}

Block* Worker::nextBlock()
{
    uint64_t const number = mLaunch->error == cudaSuccess ? mLaunch->next.fetch_add(1) : mLaunch->blocks;
    if (number >= mLaunch->blocks)
    {
        return nullptr;
    }
    if (mFirst && !mShared && !mLaunch->alone && mLaunch->blocks - number > 1 && now() - mBegan > kWORTH_SHARING)
    {
        share();
    }
    if (mFree.empty())
    {
        mBlocks.push_back(std::make_unique<Block>());
        mFree.push_back(mBlocks.back().get());
    }
    Block* const block = mFree.back();
    mFree.pop_back();
    mLive.push_back(block);
    mFresh = block;
    mQuick = kASK;
    block->begin(*this, *mLaunch, number);
    accesses::blockBegins(block->number);
    return block;
}

void Worker::endBlock(Block& block)
{
    blockIdx = block.index;
    block.shared.end();
    accesses::blockEnds(block.number);
    mLive.erase(std::find(mLive.begin(), mLive.end(), &block));
    mFree.push_back(&block);
    mShown = nullptr; // the next block may be the same object
    mSomeEnded = 1;
}

//! The idle fiber at hand hasn't begun, or there is none.
Fiber* Worker::beginOn(Block& block)
{
    if (mIdle.empty())
    {
        mFibers.push_back(std::make_unique<Fiber>(mStackBytes, mFibers.size()));
        mIdle.push_back(mFibers.back().get());
    }
    Fiber* const fiber = mIdle.back();
    mIdle.pop_back();
    fiber->begin(enter);
    fiber->block = &block;
    return fiber;
}

Fiber& Worker::next()
{
    Fiber& to = *choose(nullptr);
    if (&to != mCurrent && gWatchesStacks)
    {
        go(to);
        return *mCurrent;
    }
    if (&to != &mHost)
    {
        become(to);
    }
    return to;
}

Fiber* Worker::chooseAmongAll(Fiber* idle)
{
    mQuick = kASK;
    if (mPlain && mLaunch->error.load(std::memory_order_relaxed) == cudaSuccess && mExpired == 0)
    {
        if (mFresh->hasNew())
        {
            mQuick = kBEGIN;
            return startOn(*mFresh, idle);
        }
        if (!mReady.empty() && mIdleTurns < kIDLE_TURNS)
        {
            Fiber* const first = mReady.pop();
            mQuick = gWatchesStacks || mLive.size() > 1 ? kASK : kGO_ON;
            return first;
        }
    }
    while (true)
    {
        if (mLaunch->error != cudaSuccess || expired())
        {
            return &mHost;
        }
        bool const some = mFresh->hasNew();
        // In a cooperative launch every block is begun as soon as all that run wait.
        uint64_t const patience = mLaunch->configuration.cooperative ? mReady.size() : kIDLE_TURNS;
        bool const waiting = mIdleTurns >= patience;
        // Threads that the timer had to stop are not a matter of chance: each turn of theirs is long.
        bool const free = !waiting && mIdleTurns < kSTOPPED_TURNS;
        bool const chance = mLaunch->schedule.shuffled() && free;
        if (free && mLaunch->schedule.byNumber() && !mReady.empty())
        {
            return mReady.take(mReady.best([this](Fiber const& one, Fiber const& other)
                                           { return mLaunch->schedule.before(one.linear, other.linear); }));
        }
        if (chance && (some || !mReady.empty()))
        {
            size_t const which = mRandom.below(mReady.size() + (some ? 1 : 0));
            return which == mReady.size() ? startOn(*mFresh, idle) : mReady.take(which);
        }
        if (some)
        {
            return startOn(*mFresh, idle);
        }
        if (!mReady.empty() && !waiting)
        {
            return mReady.pop();
        }
        mIdleTurns = 0;
        if (mReady.empty() && releaseVotes())
        {
            continue;
        }
        if (mReady.empty() && !mLive.empty() && !mLaunch->configuration.cooperative)
        {
            reportDeadlock();
            return &mHost;
        }
        // All blocks are done; or their threads wait.
        Block* const next = nextBlock();
        if (next != nullptr)
        {
            return startOn(*next, idle);
        }
        if (mReady.empty())
        {
            return &mHost;
        }
    }
}

void Worker::share()
{
    mShared = true;
    auto const cores = static_cast<long>(std::max(1U, std::thread::hardware_concurrency()));
    long const workers = option("PLUGINKIT_CPU_WORKERS", cores);
    for (long i = 1; i < workers; ++i)
    {
        try
        {
            mHelpers.emplace_back([&launch = *mLaunch] { runOne(launch, false); });
        }
        catch (std::system_error const&)
        {
            return; // no more host threads: this one does it all
        }
    }
}

void Worker::engage()
{
    Block& block = *mCurrent->block;
    unsigned int const linear = block.linear(threadIdx);
    block.engage(linear);
    mQuick = kASK;
    Record& record = block.records[linear];
    record.fiber = mCurrent;
    mCurrent->record = &record;
    mCurrent->linear = linear;
    mCurrent->index = record.index;
}

void Worker::yield()
{
    Fiber& self = recorded();
    mReady.push(&self);
    ++mIdleTurns;
    mQuick = kASK;
    if (Fiber& to = next(); &to != &self)
    {
        hand(to);
    }
}

void Worker::abandon(cudaError_t error)
{
    inside = 1;
    cudaError_t none = cudaSuccess;
    mLaunch->error.compare_exchange_strong(none, error);
    go(mHost);
    __builtin_unreachable();
}

void Worker::leave()
{
    goInside();
    Fiber& fiber = recorded();
    Block& block = *fiber.block;
    finish(fiber);
    if (block.done())
    {
        endBlock(block);
    }
    Fiber* const to = choose(nullptr);
    fiber.block = nullptr;
    mIdle.push_back(&fiber);
    go(*to);
    __builtin_unreachable();
}

bool Worker::releaseVotes()
{
    bool any = false;
    for (Block* block : mLive)
    {
        for (size_t first = 0; block->engaged && first < block->count; first += warpSize)
        {
            size_t const end = std::min<size_t>(first + warpSize, block->count);
            Record const* leader = nullptr;
            uint32_t together = 0;
            for (size_t i = first; i < end; ++i)
            {
                Record const& each = block->records[i];
                leader = leader == nullptr && each.votes ? &each : leader;
                bool const same = each.votes && each.waiting()->place.line == leader->waiting()->place.line &&
                                  each.waiting()->place.file == leader->waiting()->place.file;
                together |= same ? 1U << i % warpSize : 0U;
            }
            for (size_t i = first; i < end; ++i)
            {
                if ((together >> i % warpSize & 1U) != 0)
                {
                    block->records[i].active = together;
                    block->records[i].votes = false;
                    ready().push(block->records[i].fiber);
                    any = true;
                }
            }
        }
    }
    return any;
}

void Worker::reportDeadlock()
{
    Block const& block = *mLive.front();
    std::map<std::string, unsigned int> waiting;
    Place place{nullptr, 0};
    for (Record const& each : block.records)
    {
        if (Waiting const* const in = each.waiting(); in != nullptr)
        {
            place = place.file == nullptr ? in->place : place;
            ++waiting[std::string{in->operation} + " at " + in->place.file + ":" + std::to_string(in->place.line)];
        }
    }
    std::string text = "no thread of the block can go on:";
    for (auto const& [where, count] : waiting)
    {
        text += " " + std::to_string(count) + " wait in " + where + ";";
    }
    text += " " + std::to_string(block.count - block.left) + " of " + std::to_string(block.count) + " have ended.";
    blockIdx = block.index;
    report({"deadlock", text, place, nullptr, nullptr, true});
    cudaError_t none = cudaSuccess;
    mLaunch->error.compare_exchange_strong(none, cudaErrorLaunchTimeout);
}

bool Worker::expired()
{
    if (mExpired == 0)
    {
        return false;
    }
    Waiting const* const in = mCurrent->record == nullptr ? nullptr : mCurrent->record->waiting();
    report({"endless-kernel",
            "no thread of the kernel has ended for " + std::to_string(mLimit / 1'000'000'000) +
                " s (PLUGINKIT_CPU_TIME_LIMIT); its threads wait for something that doesn't come.",
            in == nullptr ? Place{nullptr, 0} : in->place});
    cudaError_t none = cudaSuccess;
    mLaunch->error.compare_exchange_strong(none, cudaErrorLaunchTimeout);
    return true;
}

void Worker::tick(void const* code)
{
    mQuick = kASK;
    if (mSomeEnded != 0)
    {
        mSomeEnded = 0;
        mLastEnded = now();
    }
    if (now() - mLastEnded > mLimit)
    {
        mExpired = 1;
        if (inside == 0)
        {
            inside = 1;
            report({"endless-kernel",
                    "no thread of the kernel has ended for " + std::to_string(mLimit / 1'000'000'000) +
                        " s (PLUGINKIT_CPU_TIME_LIMIT).",
                    Place{nullptr, 0}, code});
            abandon(cudaErrorLaunchTimeout);
        }
    }
    bool const stuck = mSwitched == 0;
    mSwitched = 0;
    if (stuck && inside == 0 && !mCurrent->block->behindLast(threadIdx))
    {
        // It may wait in a loop for memory that another thread must write.
        Inside const guard{*this};
        mIdleTurns += kSTOPPED_TURNS;
        // Between two threads that have records it names the next one already, while the fiber has the one before.
        bool const recorded = mCurrent->record != nullptr;
        uint3 const thread = *mThreadIdx;
        yield();
        if (recorded)
        {
            *mThreadIdx = thread;
        }
    }
}

bool Threads::advance() noexcept
{
    auto& block = static_cast<Block&>(*this);
    Worker& worker = *block.worker;
    worker.goInside();
    bool more = true;
    if (!block.engaged)
    {
        more = block.row != block.rows;
        if (more)
        {
            worker.become(block.nextRow(), block);
        }
    }
    else
    {
        Fiber& fiber = worker.fiber();
        bool const first = fiber.record == nullptr;
        if (!first)
        {
            if (fiber.index.x == worker.thread().x)
            {
                // The timer stopped it when it had this thread's number, and hadn't run it.
                worker.goOutside();
                return true;
            }
            worker.finish(fiber);
        }
        // In a shuffled order, and by number, it is chosen again who goes on.
        more =
            block.hasNew() && (first || !(worker.launch().schedule.shuffled() || worker.launch().schedule.byNumber()));
        if (more)
        {
            block.start(fiber);
            worker.become(fiber);
        }
    }
    if (more)
    {
        // Not where this call ends: what comes next is the engine's choice again.
        worker.goOutside();
    }
    return more;
}

} // namespace v2

} // namespace pluginkit_cpu
