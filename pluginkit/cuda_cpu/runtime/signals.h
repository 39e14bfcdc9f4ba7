//! Handlers of signals are the process's, and each library of target cpu has a runtime: what the runtimes agree on.
#pragma once

#include <pluginkit/cpu/engine.h>

#include <csignal>

namespace pluginkit_cpu
{

inline namespace v2
{

//! The signal of the runtimes' timers: one that does nothing where nobody handles it, since the last comes after the
//! launch.
constexpr int kTIMER_SIGNAL = SIGURG;

//! What one runtime has to say to a signal. The first is called for each signal of the process.
struct Answers
{
    bool (*runsHere)();             //!< Whether this thread runs a kernel of its.
    bool (*sent)(siginfo_t const*); //!< Whether its timer for this thread has sent the signal.
    void (*fault)(int, siginfo_t*, void*);
    void (*tick)(void*);
};

//! While any runtime of the process has one, a single handler serves them all; the process's own handlers are back
//! once the last one is gone, and get all signals that are not a kernel's before.
class PLUGINKIT_CPU_HIDDEN Handlers
{
public:
    //! The answers must live as long as the library.
    explicit Handlers(Answers const& answers);
    Handlers(Handlers const&) = delete;
    Handlers& operator=(Handlers const&) = delete;
    ~Handlers();

    //! Whether the process has its own handler of the timer's signal.
    static bool timersAreHeard() noexcept;
};

} // namespace v2

} // namespace pluginkit_cpu
