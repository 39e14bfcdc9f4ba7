//! The order in which blocks and threads run, where CUDA leaves it open.
#pragma once

#include <cstdint>
#include <vector>

namespace pluginkit_cpu
{

inline namespace v2
{

//! Forward, reverse, or shuffled from a seed; or `lowest` or `highest`: of the threads that can go on always the one
//! with that number, so that one gets as far ahead of the others as the barriers let it. It is what
//! PLUGINKIT_CPU_SCHEDULE says.
class Schedule
{
public:
    //! From the variable's value, or null. `launchNumber` makes the launches of a seed differ.
    static Schedule fromText(char const* text, uint64_t launchNumber);

    //! Whether blocks and threads run in their own order.
    bool inOrder() const noexcept
    {
        return mKind == Kind::kFORWARD;
    }

    bool shuffled() const noexcept
    {
        return mKind == Kind::kSHUFFLED;
    }

    //! Whether the thread that goes on is the one with the lowest or highest number.
    bool byNumber() const noexcept
    {
        return mKind == Kind::kLOWEST || mKind == Kind::kHIGHEST;
    }

    //! Of two threads' numbers, whether the first one's goes before.
    bool before(unsigned int one, unsigned int other) const noexcept
    {
        return mKind == Kind::kLOWEST ? one < other : one > other;
    }

    //! The block that runs as the n-th of so many.
    uint64_t block(uint64_t n, uint64_t blocks) const noexcept;

    //! The order in which a block's threads begin.
    void threads(uint64_t block, unsigned int count, std::vector<unsigned int>& order) const;

    uint64_t seed() const noexcept
    {
        return mSeed;
    }

private:
    enum class Kind
    {
        kFORWARD,
        kREVERSE,
        kSHUFFLED,
        kLOWEST,
        kHIGHEST,
    };

    Kind mKind{Kind::kFORWARD};
    uint64_t mSeed{0};
};

//! A small generator of random numbers (splitmix64; Steele, Lea, Flood: Fast Splittable Pseudorandom Number
//! Generators).
class Random
{
public:
    explicit Random(uint64_t seed) noexcept : mState(seed) {}

    uint64_t next() noexcept
    {
        mState += 0x9E3779B97F4A7C15U;
        uint64_t z = mState;
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9U;
        z = (z ^ (z >> 27)) * 0x94D049BB133111EBU;
        return z ^ (z >> 31);
    }

    //! A number below `end`, which is not 0.
    uint64_t below(uint64_t end) noexcept
    {
        return next() % end;
    }

private:
    uint64_t mState;
};

} // namespace v2

} // namespace pluginkit_cpu
