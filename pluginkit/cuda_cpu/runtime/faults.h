//! While a kernel runs: bad addresses become CUDA's errors, and no thread keeps its host thread for ever.
#pragma once

#include <pluginkit/cpu/engine.h>

#include <csignal>
#include <ctime>

namespace pluginkit_cpu
{

inline namespace v2
{

//! Of a worker's run. The process's own signal handlers are back once the last one is gone.
class PLUGINKIT_CPU_HIDDEN Faults
{
public:
    Faults();
    Faults(Faults const&) = delete;
    Faults& operator=(Faults const&) = delete;
    ~Faults();

private:
    timer_t mTimer{};
    bool mTimed{false};
    stack_t mOldStack{};
};

} // namespace v2

} // namespace pluginkit_cpu
