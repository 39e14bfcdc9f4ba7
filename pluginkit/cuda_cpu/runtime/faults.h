//! While a kernel runs: bad addresses become CUDA's errors, and no thread keeps its host thread for ever.
#pragma once

#include <pluginkit/cpu/engine.h>

#include <csignal>
#include <cstdint>
#include <ctime>

#include <sys/types.h>

namespace pluginkit_cpu
{

inline namespace v2
{

//! A signal to a host thread every 10 ms. It is kept from launch to launch, since to make one takes as long as a small
//! launch.
class PLUGINKIT_CPU_HIDDEN Timer
{
public:
    Timer() = default;
    Timer(Timer const&) = delete;
    Timer& operator=(Timer const&) = delete;
    ~Timer();

    //! The calling thread gets the signals from now on.
    void start() noexcept;

    //! It gets none any more, nor is one on its way.
    void stop() noexcept;

private:
    bool make() noexcept;
    bool arm(long period) noexcept;
    void discard() noexcept;

    timer_t mTimer{};
    pid_t mThread{0};    // whose it is; 0: there is none
    unsigned mForks{0};  // in which process it was made: children don't have it
    int64_t mStarted{0}; // nanoseconds of the monotonic clock
};

//! Of a worker's run. The process's own signal handlers are back once the last one is gone.
class PLUGINKIT_CPU_HIDDEN Faults
{
public:
    explicit Faults(Timer& timer);
    Faults(Faults const&) = delete;
    Faults& operator=(Faults const&) = delete;
    ~Faults();

private:
    Timer& mTimer;
    stack_t mOldStack{};
};

} // namespace v2

} // namespace pluginkit_cpu
