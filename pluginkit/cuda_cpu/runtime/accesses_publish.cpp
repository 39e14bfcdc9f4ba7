//! What threads tell others by fences and atomics.

#include "accesses_order.h"

#include <algorithm>

#ifdef PLUGINKIT_CPU_CHECKED

namespace pluginkit_cpu
{

inline namespace v2
{

namespace accesses
{

namespace
{

void raise(Learned& learned, Publication const* publication, uint32_t version)
{
    auto const found = std::find_if(learned.begin(), learned.end(),
                                    [publication](auto const& each) { return each.first == publication; });
    if (found == learned.end())
    {
        learned.emplace_back(publication, version);
    }
    else
    {
        found->second = std::max(found->second, version);
    }
}

} // namespace

void join(Learned& learned, Learned const& other)
{
    for (auto const& [publication, version] : other)
    {
        raise(learned, publication, version);
    }
}

void History::note(uint32_t version, uint32_t value)
{
    if (value > (mSteps.empty() ? 0 : mSteps.back().second))
    {
        mSteps.emplace_back(version, value);
    }
}

uint32_t History::at(uint32_t version) const
{
    auto const after = std::upper_bound(mSteps.begin(), mSteps.end(), version,
                                        [](uint32_t wanted, auto const& step) { return wanted < step.first; });
    return after == mSteps.begin() ? 0 : std::prev(after)->second;
}

bool Order::published(Moment const& then) const
{
    Learned open = mCurrent->learned;
    join(open, mBlock->learned);
    // Each publication is looked at again when it is reached at a later version.
    for (size_t i = 0; i < open.size(); ++i)
    {
        auto const [publication, version] = open[i];
        auto const epochs = publication->epochs.find(then.block);
        if (epochs != publication->epochs.end() && epochs->second.at(version) > then.epoch)
        {
            return true;
        }
        auto const clocks = publication->clocks.find({then.block, then.thread});
        if (clocks != publication->clocks.end() && clocks->second.at(version) >= then.clock)
        {
            return true;
        }
        for (auto const& [other, history] : publication->others)
        {
            uint32_t const reached = history.at(version);
            bool const known = std::any_of(open.begin(), open.end(), [other = other, reached](auto const& each)
                                           { return each.first == other && each.second >= reached; });
            if (reached != 0 && !known)
            {
                open.emplace_back(other, reached);
            }
        }
    }
    return false;
}

void Order::learn(uintptr_t address)
{
    if (mPublished.empty())
    {
        return;
    }
    auto const found = mPublished.find(address);
    if (found != mPublished.end())
    {
        if (mCurrent->learned.empty())
        {
            mBlock->learners.push_back(mLinear);
        }
        raise(mCurrent->learned, found->second, found->second->version);
    }
}

void Order::publish(uintptr_t address)
{
    if (mCurrent->fenceClock == 0)
    {
        return;
    }
    Publication*& known = mPublished[address];
    if (known == nullptr)
    {
        mPublications.push_back(std::make_unique<Publication>());
        known = mPublications.back().get();
    }
    Publication& here = *known;
    uint32_t const version = ++here.version;
    here.clocks[{mBlock->number, mLinear}].note(version, mCurrent->fenceClock);
    // All threads of a block mostly execute the same fences: a barrier after this one's makes theirs known too.
    here.epochs[mBlock->number].note(version, std::min(mCurrent->fenceEpoch + 1, mBlock->epoch));
    if (LaneClocks const* const lanes = mBlock->warps[mLinear / warpSize].get(); lanes != nullptr)
    {
        uint32_t const first = mLinear / warpSize * warpSize;
        for (uint32_t lane = 0; lane < 32; ++lane)
        {
            if (first + lane != mLinear)
            {
                here.clocks[{mBlock->number, first + lane}].note(version, lanes->known[mLinear % warpSize][lane]);
            }
        }
    }
    for (auto const* learned : {&mCurrent->learned, &mBlock->learned})
    {
        for (auto const& [publication, reached] : *learned)
        {
            if (publication != known)
            {
                here.others[publication].note(version, reached);
            }
        }
    }
}

void Order::forget(uintptr_t begin, size_t size)
{
    mPublished.erase(mPublished.lower_bound(begin), mPublished.lower_bound(begin + size));
}

} // namespace accesses

} // namespace v2

} // namespace pluginkit_cpu

#endif
