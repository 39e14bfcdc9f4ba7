#include "accesses_order.h"

#include <algorithm>
#include <cstring>

#ifdef PLUGINKIT_CPU_CHECKED

namespace pluginkit_cpu
{

inline namespace v2
{

namespace accesses
{

void Order::launchBegins(dim3 const& grid, dim3 const& block)
{
    launchEnds();
    mGrid = grid;
    mBlockSize = block;
    mMoments.push_back({}); // no moment has number 0
}

void Order::launchEnds()
{
    mSeen = false;
    mBlock = nullptr;
    mCurrent = nullptr;
    mBlocks.clear();
    mFree.clear();
    mPublished.clear();
    mPublications.clear();
    std::vector<Moment>{}.swap(mMoments);
}

void Order::blockBegins(uint64_t block)
{
    if (mFree.empty())
    {
        mFree.push_back(std::make_unique<BlockState>());
    }
    auto state = std::move(mFree.back());
    mFree.pop_back();
    size_t const count = size_t{mBlockSize.x} * mBlockSize.y * mBlockSize.z;
    state->number = block;
    state->epoch = 1;
    state->threads.assign(count, ThreadState{});
    state->warps.clear();
    state->warps.resize((count + warpSize - 1) / warpSize);
    state->learners.clear();
    state->learned.clear();
    mBlocks[block] = std::move(state);
    mSeen = false;
}

void Order::blockEnds(uint64_t block)
{
    auto const found = mBlocks.find(block);
    if (found != mBlocks.end())
    {
        mFree.push_back(std::move(found->second));
        mBlocks.erase(found);
    }
    mSeen = false;
}

void Order::change()
{
    uint64_t const number = blockIdx.x + uint64_t{mGrid.x} * (blockIdx.y + uint64_t{mGrid.y} * blockIdx.z);
    mThread = threadIdx;
    mBlockIndex = blockIdx;
    mLinear = mThread.x + mBlockSize.x * (mThread.y + mBlockSize.y * mThread.z);
    if (mBlock == nullptr || !mSeen || mBlock->number != number)
    {
        mBlock = mBlocks.at(number).get();
    }
    mCurrent = &mBlock->threads.at(mLinear);
    mSeen = true;
}

uint32_t Order::makeMoment()
{
    mMoments.push_back({mBlock->number, mLinear, mBlock->epoch, mCurrent->clock});
    mCurrent->moment = static_cast<uint32_t>(mMoments.size() - 1);
    mCurrent->momentEpoch = mBlock->epoch;
    return mCurrent->moment;
}

bool Order::before(uint32_t number) const
{
    Moment const& then = mMoments[number];
    if (then.block == mBlock->number)
    {
        if (then.thread == mLinear || then.epoch < mBlock->epoch)
        {
            return true;
        }
        LaneClocks const* const lanes =
            then.thread / warpSize == mLinear / warpSize ? mBlock->warps[mLinear / warpSize].get() : nullptr;
        if (lanes != nullptr && lanes->known[mLinear % warpSize][then.thread % warpSize] >= then.clock)
        {
            return true;
        }
    }
    return (!mCurrent->learned.empty() || !mBlock->learned.empty()) && published(then);
}

void Order::barrier()
{
    here();
    for (ThreadState& thread : mBlock->threads)
    {
        mCurrent = &thread;
        mLinear = static_cast<uint32_t>(&thread - mBlock->threads.data());
        learnNow();
    }
    mSeen = false;
    for (uint32_t const each : mBlock->learners)
    {
        join(mBlock->learned, mBlock->threads[each].learned);
        mBlock->threads[each].learned.clear();
    }
    mBlock->learners.clear();
    ++mBlock->epoch;
}

void Order::warpSync(uint32_t lanes)
{
    here();
    auto& clocks = mBlock->warps[mLinear / warpSize];
    if (clocks == nullptr)
    {
        clocks = std::make_unique<LaneClocks>();
    }
    uint32_t const first = mLinear / warpSize * warpSize;
    uint32_t together[32] = {};
    Learned learned;
    for (uint32_t lane = 0; lane < 32; ++lane)
    {
        if ((lanes >> lane & 1U) != 0)
        {
            ThreadState& thread = mBlock->threads[first + lane];
            clocks->known[lane][lane] = thread.clock++;
            thread.moment = 0;
            join(learned, thread.learned);
            std::transform(together, together + 32, clocks->known[lane], together,
                           [](uint32_t a, uint32_t b) { return std::max(a, b); });
        }
    }
    for (uint32_t lane = 0; lane < 32; ++lane)
    {
        if ((lanes >> lane & 1U) != 0)
        {
            std::memcpy(clocks->known[lane], together, sizeof(together));
            if (!learned.empty())
            {
                mBlock->threads[first + lane].learned = learned;
                mBlock->learners.push_back(first + lane);
            }
        }
    }
}

void Order::fence()
{
    here();
    learnNow();
    mCurrent->fenceClock = mCurrent->clock++;
    mCurrent->fenceEpoch = mBlock->epoch;
    mCurrent->moment = 0;
}

uint3 Order::blockAt(uint64_t number) const
{
    return {static_cast<unsigned int>(number % mGrid.x), static_cast<unsigned int>(number / mGrid.x % mGrid.y),
            static_cast<unsigned int>(number / mGrid.x / mGrid.y)};
}

uint3 Order::threadAt(uint32_t number) const
{
    return {number % mBlockSize.x, number / mBlockSize.x % mBlockSize.y, number / mBlockSize.x / mBlockSize.y};
}

} // namespace accesses

} // namespace v2

} // namespace pluginkit_cpu

#endif
