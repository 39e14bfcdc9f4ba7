//! A block of threads that is being run.
#pragma once

#include "fiber.h"
#include "shared_memory.h"

#include <pluginkit/cpu/kernel.h>

#include <memory>
#include <vector>

namespace pluginkit_cpu
{

inline namespace v2
{

struct LaunchState;

enum class State : uint8_t
{
    kNEW,
    kRUNNING,
    kREADY,
    kWAITING,
    kVOTING, //!< In __activemask, until nothing else can run.
    kENDED,
};

//! A thread of a block; kept from when the first thread of the block waits.
struct Record
{
    Block* block;
    uint3 index;
    unsigned int linear;
    State state;
    Fiber* fiber;
    char const* operation; //!< What it waits in.
    Place place;
    uint32_t active; //!< What __activemask gives.
};

//! A barrier of the block.
struct Barrier
{
    unsigned int arrived{0};
    int predicates{0};
    int result{0};
    Place place{nullptr, 0};
    std::vector<Record*> waiting;
};

//! A rendezvous of the lanes of one mask. While lanes still read what one round gave, the next round may begin.
struct Meeting
{
    uint32_t mask{0};
    Lanes rounds[2]{};
    unsigned int open{0}; //!< The round that lanes arrive at.
    uint32_t readers{0};  //!< Lanes that haven't read what the other round gave.
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
    Meeting& meeting(uint32_t mask);
};

//! The state of one block. While no thread of it has waited, its threads simply run row by row, and there are no
//! records; `engaged` tells.
struct Block : Threads
{
    static constexpr unsigned int kBARRIERS = 16;

    //! Makes it the launch's block of this number, with all of its threads still to run.
    void begin(LaunchState& launch, uint64_t number);

    //! Makes the records. `running` is the thread that runs, and all before it have ended; or count, and none has
    //! begun.
    void engage(unsigned int running);

    //! Begins the next thread, on this fiber. There must be one.
    void start(Fiber& fiber);

    //! The next row of threads, without records; false when there is none.
    bool nextRow();

    bool hasNew() const noexcept
    {
        return engaged && started < count;
    }

    bool done() const noexcept
    {
        return engaged ? ended == count : row == rows;
    }

    unsigned int linear(uint3 const& thread) const noexcept;

    LaunchState* launch{nullptr};
    uint64_t number{0};
    uint3 index{};
    unsigned int count{0};
    bool engaged{false};
    unsigned int started{0};
    unsigned int ended{0};
    unsigned int row{0};
    unsigned int rows{0};
    std::vector<unsigned int> order; //!< In which the threads begin, where it isn't their own.
    std::vector<Record> records;
    std::vector<Warp> warps;
    Barrier barriers[kBARRIERS];
    SharedMemory shared;
};

} // namespace v2

} // namespace pluginkit_cpu
