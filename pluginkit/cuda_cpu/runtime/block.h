//! A block of threads that is being run.
#pragma once

#include "fiber.h"
#include "shared_memory.h"

#include <pluginkit/cpu/kernel.h>

#include <forward_list>
#include <memory>
#include <vector>

namespace pluginkit_cpu
{

inline namespace v2
{

struct LaunchState;
class Worker;

//! What a thread waits in.
struct Waiting
{
    char const* operation;
    Place place;
};

//! A thread of a block; kept from when the first thread of the block waits.
struct Record
{
    Block* block;
    Fiber* fiber; //!< On which it runs, while that has this record.
    uint3 index;
    unsigned int linear;
    uint32_t active; //!< What __activemask gives.
    bool votes;      //!< In __activemask, until nothing else can run.

    //! What it waits in; null if it doesn't.
    Waiting const* waiting() const noexcept;
};

//! A barrier of the block.
struct alignas(64) Barrier
{
    unsigned int arrived{0};
    int predicates{0};
    int result{0};
    Waiting here{"", {nullptr, 0}}; //!< What they wait in, but for those that have a place of their own.
    std::vector<Fiber*> waiting;    //!< As many as can; those that have arrived come first.
};

//! A rendezvous of the lanes of one mask. While lanes still read what one round gave, the next round may begin.
struct Meeting
{
    uint32_t mask{0};
    Lanes rounds[2]{};
    unsigned int open{0};     //!< The round that lanes arrive at.
    uint32_t readers{0};      //!< Lanes that haven't read what the other round gave.
    Fiber* waiting[32]{};     //!< Those that have arrived at the open round, in that order.
    unsigned int arrivals{0}; //!< How many of them.
    char const* operation{""};
    Place place{nullptr, 0};

    Lanes& in() noexcept
    {
        return rounds[open];
    }

    Lanes const& out() const noexcept
    {
        return rounds[1 - open];
    }
};

struct Warp
{
    uint32_t alive{0};
    std::vector<std::unique_ptr<Meeting>> meetings;

    //! The meeting of this mask, made if there is none.
    Meeting& meeting(uint32_t mask)
    {
        return !meetings.empty() && meetings.front()->mask == mask ? *meetings.front() : find(mask);
    }

private:
    Meeting& find(uint32_t mask);
};

//! The state of one block. While no thread of it has waited, its threads simply run row by row, and there are no
//! records; `engaged` tells.
struct Block : Threads
{
    static constexpr unsigned int kBARRIERS = 16;

    //! Makes it the launch's block of this number, with all of its threads still to run, by this worker.
    void begin(Worker& worker, LaunchState& launch, uint64_t number);

    //! Makes the records. `running` is the thread that runs, and all before it have ended; or count, and none has
    //! begun.
    void engage(unsigned int running);

    //! Makes this fiber the next thread's. There must be one.
    Record& start(Fiber& fiber)
    {
        unsigned int const which = inOrder ? started : order[started];
        ++started;
        Record& record = records[which];
        record.fiber = &fiber;
        fiber.record = &record;
        fiber.linear = which;
        fiber.index = record.index;
        return record;
    }

    //! The first thread of the next row, without records. There must be one.
    uint3 nextRow();

    bool hasNew() const noexcept
    {
        return engaged && started < count;
    }

    bool done() const noexcept
    {
        return engaged ? left == 0 : row == rows;
    }

    unsigned int linear(uint3 const& thread) const noexcept;

    //! Whether all threads of a block without records have run, though the engine doesn't know it yet.
    bool behindLast(uint3 const& thread) const noexcept
    {
        return !engaged && linear(thread) >= count;
    }

    //! After a launch that was given up: its threads are left where they stand.
    void forget() noexcept;

    Worker* worker{nullptr};
    LaunchState* launch{nullptr};
    uint64_t number{0};
    uint3 index{};
    unsigned int count{0};
    bool engaged{false};
    unsigned int started{0};
    unsigned int left{0}; //!< How many have not ended, once it keeps records.
    unsigned int row{0};
    unsigned int rows{0};
    bool inOrder{true};
    std::vector<unsigned int> order; //!< In which the threads begin, where it isn't their own.
    std::vector<Record> records;
    std::vector<Warp> warps;
    Barrier barriers[kBARRIERS];
    unsigned int gathering{0};            //!< At how many of them threads wait.
    std::forward_list<Waiting> elsewhere; //!< What threads wait in at barriers to which others came at other places.
    SharedMemory shared;

private:
    void record();

    dim3 mRecorded{0, 0, 0}; // what size of block the records are for
};

} // namespace v2

} // namespace pluginkit_cpu
