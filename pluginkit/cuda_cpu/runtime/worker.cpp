#include "worker.h"

#include "accesses.h"
#include "faults.h"
#include "findings.h"
#include "state.h"

#include <algorithm>
#include <map>
#include <system_error>

PLUGINKIT_CPU_THREAD_LOCAL uint3 threadIdx;
PLUGINKIT_CPU_THREAD_LOCAL uint3 blockIdx;
PLUGINKIT_CPU_THREAD_LOCAL dim3 blockDim;
PLUGINKIT_CPU_THREAD_LOCAL dim3 gridDim;

namespace pluginkit_cpu
{

inline namespace v2
{

namespace
{

__thread Worker* tWorker;

//! How many turns of threads that only wait in a loop, before another block may be what they wait for.
constexpr uint64_t kIDLE_TURNS = 4096;

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

Worker* Worker::current() noexcept
{
    return tWorker;
}

Worker::Worker() : mStackBytes(static_cast<size_t>(option("PLUGINKIT_CPU_STACK_KB", 256)) * 1024) {}

void Worker::run(LaunchState& launch, bool first)
{
    mLaunch = &launch;
    mFirst = first;
    mShared = false;
    mBegan = now();
    mIdleTurns = 0;
    mRandom = Random{launch.schedule.seed()};
    mLimit = option("PLUGINKIT_CPU_TIME_LIMIT", 60) * 1'000'000'000;
    mLastEnded = mBegan;
    mExpired = 0;
    blockDim = launch.configuration.block;
    gridDim = launch.configuration.grid;
    mCurrent = &mHost;
    inside = 1;
    Faults const faults;
    tWorker = this;
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
        // Some threads were left where they stood: their stacks begin anew.
        for (Block* block : mLive)
        {
            mFree.push_back(block);
        }
        mLive.clear();
        mReady.clear();
        mIdle.clear();
        for (auto& fiber : mFibers)
        {
            fiber->spent = false;
            fiber->begin(enter);
            mIdle.push_back(fiber.get());
        }
    }
    for (auto& helper : mHelpers)
    {
        helper.join();
    }
    mHelpers.clear();
}

void Worker::enter()
{
    Fiber::arrived(*tWorker->mCurrent);
    while (true)
    {
        // Fetched anew in each turn: nothing of it may be kept over a switch.
        Fiber& self = *tWorker->mCurrent;
        Block& block = *self.block;
        self.record = nullptr;
        block.launch->work.run(block);
        if (block.done())
        {
            tWorker->endBlock(block);
        }
        Fiber* const to = tWorker->choose(&self);
        if (to != &self)
        {
            tWorker->mIdle.push_back(&self);
            tWorker->go(*to);
        }
    }
}

void Worker::go(Fiber& to)
{
    Fiber& from = *mCurrent;
    mCurrent = &to;
    mSwitches = mSwitches + 1;
    Fiber::change(from, to);
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
    block->begin(*mLaunch, number);
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
    mEnded = mEnded + 1;
}

Fiber* Worker::startOn(Block& block, Fiber* idle)
{
    Fiber* fiber = idle;
    if (fiber == nullptr && mIdle.empty())
    {
        mFibers.push_back(std::make_unique<Fiber>(mStackBytes));
        fiber = mFibers.back().get();
        fiber->begin(enter);
    }
    else if (fiber == nullptr)
    {
        fiber = mIdle.back();
        mIdle.pop_back();
        if (fiber->spent)
        {
            fiber->spent = false;
            fiber->begin(enter);
        }
    }
    fiber->block = &block;
    return fiber;
}

Fiber* Worker::resume(size_t which)
{
    Record* const record = mReady[which];
    mReady.erase(mReady.begin() + static_cast<std::ptrdiff_t>(which));
    return record->fiber;
}

Fiber* Worker::choose(Fiber* idle)
{
    while (true)
    {
        if (mLaunch->error != cudaSuccess || expired())
        {
            return &mHost;
        }
        auto const fresh = std::find_if(mLive.begin(), mLive.end(), [](Block const* each) { return each->hasNew(); });
        bool const some = fresh != mLive.end();
        // In a cooperative launch every block is begun as soon as all that run wait.
        uint64_t const patience = mLaunch->configuration.cooperative ? mReady.size() : kIDLE_TURNS;
        bool const waiting = mIdleTurns >= patience;
        // Threads that the timer had to stop are no matter of chance: each turn of theirs is long.
        bool const chance = mLaunch->schedule.shuffled() && !waiting && mIdleTurns < kSTOPPED_TURNS;
        if (chance && (some || !mReady.empty()))
        {
            size_t const which = mRandom.below(mReady.size() + (some ? 1 : 0));
            return which == mReady.size() ? startOn(**fresh, idle) : resume(which);
        }
        if (some)
        {
            return startOn(**fresh, idle);
        }
        if (!mReady.empty() && !waiting)
        {
            return resume(0);
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
            mHelpers.emplace_back(
                [&launch = *mLaunch]
                {
                    Worker helper;
                    helper.run(launch, false);
                });
        }
        catch (std::system_error const&)
        {
            return; // no more host threads: this one does it all
        }
    }
}

Record& Worker::record()
{
    Block& block = *mCurrent->block;
    if (!block.engaged)
    {
        unsigned int const linear = block.linear(threadIdx);
        block.engage(linear);
        block.records[linear].fiber = mCurrent;
        mCurrent->record = &block.records[linear];
    }
    return *mCurrent->record;
}

void Worker::park(Record& record)
{
    Fiber* const to = choose(nullptr);
    if (to != mCurrent)
    {
        go(*to);
    }
    threadIdx = record.index;
    blockIdx = record.block->index;
    record.state = State::kRUNNING;
}

void Worker::makeReady(Record& record)
{
    record.state = State::kREADY;
    mReady.push_back(&record);
    mIdleTurns = 0;
}

void Worker::yield()
{
    Record& self = record();
    uint64_t const turns = mIdleTurns + 1;
    makeReady(self);
    mIdleTurns = turns;
    park(self);
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
    inside = 1;
    Record& self = record();
    Fiber& fiber = *mCurrent;
    Block& block = *fiber.block;
    fiber.record = nullptr;
    finish(self);
    if (block.done())
    {
        endBlock(block);
    }
    Fiber* const to = choose(nullptr);
    fiber.spent = true;
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
                leader = leader == nullptr && each.state == State::kVOTING ? &each : leader;
                bool const same = each.state == State::kVOTING && each.place.line == leader->place.line &&
                                  each.place.file == leader->place.file;
                together |= same ? 1U << i % warpSize : 0U;
            }
            for (size_t i = first; i < end; ++i)
            {
                if ((together >> i % warpSize & 1U) != 0)
                {
                    block->records[i].active = together;
                    makeReady(block->records[i]);
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
        if (each.state == State::kWAITING)
        {
            place = place.file == nullptr ? each.place : place;
            ++waiting[std::string{each.operation} + " at " + each.place.file + ":" + std::to_string(each.place.line)];
        }
    }
    std::string text = "no thread of the block can go on:";
    for (auto const& [where, count] : waiting)
    {
        text += " " + std::to_string(count) + " wait in " + where + ";";
    }
    text += " " + std::to_string(block.ended) + " of " + std::to_string(block.count) + " have ended.";
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
    Record const* const one = mCurrent->record;
    report({"endless-kernel",
            "no thread of the kernel has ended for " + std::to_string(mLimit / 1'000'000'000) +
                " s (PLUGINKIT_CPU_TIME_LIMIT); its threads wait for something that doesn't come.",
            one == nullptr ? Place{nullptr, 0} : one->place});
    cudaError_t none = cudaSuccess;
    mLaunch->error.compare_exchange_strong(none, cudaErrorLaunchTimeout);
    return true;
}

void Worker::tick(void const* code)
{
    if (mEnded != mSeenEnded)
    {
        mSeenEnded = mEnded;
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
    bool const stuck = mSeenSwitches == mSwitches;
    mSeenSwitches = mSwitches;
    if (stuck && inside == 0 && !mCurrent->block->between())
    {
        // It may wait in a loop for memory that another thread must write.
        Inside const guard{*this};
        mIdleTurns += kSTOPPED_TURNS;
        yield();
    }
}

bool Threads::advance() noexcept
{
    Worker& worker = *tWorker;
    worker.inside = 1;
    mBetween = 0;
    auto& block = static_cast<Block&>(*this);
    bool more = true;
    if (!block.engaged)
    {
        more = block.nextRow();
    }
    else
    {
        Fiber& fiber = worker.fiber();
        bool const first = fiber.record == nullptr;
        if (!first)
        {
            Record& ended = *fiber.record;
            fiber.record = nullptr;
            worker.finish(ended);
        }
        // In a shuffled order it is chosen anew who goes on.
        more = block.hasNew() && (first || !worker.launch().schedule.shuffled());
        if (more)
        {
            block.start(fiber);
        }
    }
    if (more)
    {
        // Not where this call ends: what comes next is the engine's choice again.
        worker.inside = 0;
    }
    return more;
}

} // namespace v2

} // namespace pluginkit_cpu
