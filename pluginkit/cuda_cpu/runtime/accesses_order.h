//! Which accesses of a launch come before which, by CUDA's rules.
//!
//! An access is made by a thread at a moment. A moment is a block's barrier epoch and a count of the thread's own
//! (its clock, which goes on at fences and at __syncwarp). One comes before another if it is of the same thread; or of
//! the same block and an earlier epoch; or the lanes have met in __syncwarp since; or it was published: its thread
//! executed a fence and then an atomic, and the other thread has read what that atomic wrote, in an atomic or volatile
//! access. Publications hand on what their thread knows of others.
#pragma once

#include <pluginkit/cpu/engine.h>

#include <map>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

namespace pluginkit_cpu
{

inline namespace v2
{

namespace accesses
{

//! When and by whom an access was made.
struct Moment
{
    uint64_t block;
    uint32_t thread; //!< In its block.
    uint32_t epoch;
    uint32_t clock;
};

//! A value that only grows, and what it was at each version of something.
class History
{
public:
    void note(uint32_t version, uint32_t value);
    uint32_t at(uint32_t version) const;

private:
    std::vector<std::pair<uint32_t, uint32_t>> mSteps;
};

//! What was published at one address. A version is one publication.
struct Publication
{
    uint32_t version{0};
    std::unordered_map<uint64_t, History> epochs;            //!< By block: all epochs before this one.
    std::map<std::pair<uint64_t, uint32_t>, History> clocks; //!< By thread: up to this clock.
    std::unordered_map<Publication const*, History> others;  //!< What its threads had learned.
};

//! What a thread has learned: publications, each up to a version.
using Learned = std::vector<std::pair<Publication const*, uint32_t>>;

//! Adds what `other` has to `learned`.
PLUGINKIT_CPU_HIDDEN void join(Learned& learned, Learned const& other);

//! The clocks that each lane of a warp knows of each; all zero before the first __syncwarp.
struct LaneClocks
{
    uint32_t known[32][32];
};

struct ThreadState
{
    uint32_t clock{1};
    uint32_t fenceClock{0}; //!< At its last fence; 0 before the first.
    uint32_t fenceEpoch{0};
    uint32_t moment{0}; //!< Number of its moment, 0 when a new one must be made.
    uint32_t momentEpoch{0};
    uintptr_t hears{0}; //!< Where it is reading, in a volatile access.
    Learned learned;
};

struct BlockState
{
    uint64_t number{0};
    uint32_t epoch{1};
    std::vector<ThreadState> threads;
    std::vector<std::unique_ptr<LaneClocks>> warps;
    std::vector<uint32_t> learners; //!< Threads that have learned something since the last barrier.
    Learned learned;
};

//! The order of one launch's accesses.
class PLUGINKIT_CPU_HIDDEN Order
{
public:
    void launchBegins(dim3 const& grid, dim3 const& block);
    void launchEnds();
    void blockBegins(uint64_t block);
    void blockEnds(uint64_t block);

    //! Makes the thread that blockIdx and threadIdx name the current one.
    void here()
    {
        if (mSeen && threadIdx.x == mThread.x && threadIdx.y == mThread.y && threadIdx.z == mThread.z &&
            blockIdx.x == mBlockIndex.x && blockIdx.y == mBlockIndex.y && blockIdx.z == mBlockIndex.z)
        {
            return;
        }
        change();
    }

    //! The number of the current thread's moment; not 0.
    uint32_t now()
    {
        return mCurrent->moment != 0 && mCurrent->momentEpoch == mBlock->epoch ? mCurrent->moment : makeMoment();
    }

    Moment const& moment(uint32_t number) const
    {
        return mMoments[number];
    }

    //! Whether what was done then comes before what the current thread does now.
    bool before(uint32_t number) const;

    void barrier();
    void warpSync(uint32_t lanes);
    void fence();

    //! The current thread reads, in an atomic or volatile access, what was published there.
    void learn(uintptr_t address);
    //! It is about to read so: other threads may run before it does, so that it learns once more afterwards.
    void learnSoon(uintptr_t address)
    {
        mCurrent->hears = address;
    }
    void learnNow()
    {
        if (mCurrent->hears != 0)
        {
            learn(mCurrent->hears);
            mCurrent->hears = 0;
        }
    }
    //! The current thread writes there in such an access: publishes what came before its last fence.
    void publish(uintptr_t address);

    //! These addresses begin again.
    void forget(uintptr_t begin, size_t size);

    //! The x, y and z of a block of the launch, or of a thread of a block.
    uint3 blockAt(uint64_t number) const;
    uint3 threadAt(uint32_t number) const;

private:
    void change();
    uint32_t makeMoment();
    bool published(Moment const& then) const;

    dim3 mGrid;
    dim3 mBlockSize;
    bool mSeen{false};
    uint3 mThread{};
    uint3 mBlockIndex{};
    BlockState* mBlock{nullptr};
    ThreadState* mCurrent{nullptr};
    uint32_t mLinear{0};
    std::vector<Moment> mMoments;
    std::unordered_map<uint64_t, std::unique_ptr<BlockState>> mBlocks;
    std::vector<std::unique_ptr<BlockState>> mFree;
    std::map<uintptr_t, Publication*> mPublished;
    std::vector<std::unique_ptr<Publication>> mPublications;
};

} // namespace accesses

} // namespace v2

} // namespace pluginkit_cpu
