//! While a kernel runs: bad addresses become CUDA's errors, and no thread keeps its host thread for ever.
#pragma once

#include "signals.h"

#include <pluginkit/cpu/engine.h>

#include <csignal>
#include <cstdint>
#include <ctime>

#include <sys/types.h>

namespace pluginkit_cpu
{

inline namespace v2
{

//! A signal to a host thread 10 ms after the last one, while kernels run. It is kept from launch to launch, and what is
//! left of the 10 ms too: to make one takes as long as a small launch, and to set one is a fifth of it.
class PLUGINKIT_CPU_HIDDEN Timer
{
public:
    Timer() = default;
    Timer(Timer const&) = delete;
    Timer& operator=(Timer const&) = delete;
    ~Timer();

    //! The calling thread, which has a handler for it, gets the next signal in 10 ms or less. `time` is the clock's.
    void start(int64_t time) noexcept;

    //! A signal has come: sees to the next one. In its handler.
    void again() noexcept;

    //! No further one comes.
    void stop() noexcept;

private:
    bool make() noexcept;
    bool arm(long period) noexcept;
    void discard() noexcept;

    timer_t mTimer{};
    pid_t mThread{0};   // whose it is; 0: there is none
    unsigned mForks{0}; // in which process it was made: children don't have it
    int64_t mDue{0};    // before this the signal doesn't come: nanoseconds of the monotonic clock
};

//! Of a run of the worker that is current.
class PLUGINKIT_CPU_HIDDEN Faults
{
public:
    //! The handlers run on `stack`, of kSTACK bytes: a fault may be that a fiber's is full. `time` is
    //! the monotonic clock's, in nanoseconds: to read it is a hundredth of a small launch.
    Faults(Timer& timer, char* stack, int64_t time);
    Faults(Faults const&) = delete;
    Faults& operator=(Faults const&) = delete;
    ~Faults();

    static constexpr size_t kSTACK = 65536;

private:
    Handlers mHandlers;
    Timer& mTimer;
    stack_t mOldStack{};
};

} // namespace v2

} // namespace pluginkit_cpu
