#include "turns.h"

#include "streams.h"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <vector>

namespace pluginkit_cpu
{

inline namespace v2
{

namespace
{

//! How long the thread whose turn it is may come to no call of CUDA. It may wait for a lock of the plugin's, which a
//! thread holds that waits here; then both go on, as they may.
constexpr std::chrono::milliseconds kPATIENCE{100};
constexpr int kNONE = -1;

struct Turns
{
    std::mutex mutex;
    std::condition_variable changed;
    std::vector<bool> waits; // by thread: whether it is here, or has yet to come, so that it can be given the turn
    int turn{0};
};

__attribute__((init_priority(101))) Turns gTurns;
__thread int tMine{kNONE};

//! Gives the turn to the next thread that can take it; the calling one, if there is no other.
void pass()
{
    auto const count = static_cast<int>(gTurns.waits.size());
    for (int step = 1; step < count; ++step)
    {
        int const next = (tMine + step) % count;
        if (gTurns.waits[static_cast<size_t>(next)])
        {
            gTurns.turn = next;
            break;
        }
    }
    gTurns.changed.notify_all();
}

void wait(std::unique_lock<std::mutex>& lock)
{
    auto const mine = [] { return gTurns.turn == tMine; };
    while (!gTurns.changed.wait_for(lock, kPATIENCE, mine))
    {
        if (!working())
        {
            gTurns.waits[static_cast<size_t>(gTurns.turn)] = false;
            gTurns.turn = tMine;
        }
    }
}

} // namespace

void beginTurns(int threads)
{
    std::lock_guard<std::mutex> const lock{gTurns.mutex};
    gTurns.waits.assign(static_cast<size_t>(threads), true);
    gTurns.turn = 0;
}

void enterTurns(int thread)
{
    std::unique_lock<std::mutex> lock{gTurns.mutex};
    tMine = thread;
    wait(lock);
}

void leaveTurns()
{
    std::lock_guard<std::mutex> const lock{gTurns.mutex};
    gTurns.waits[static_cast<size_t>(tMine)] = false;
    if (gTurns.turn == tMine)
    {
        pass();
    }
    tMine = kNONE;
}

void handOver() noexcept
{
    if (tMine == kNONE || inKernel() || working())
    {
        return;
    }
    std::unique_lock<std::mutex> lock{gTurns.mutex};
    gTurns.waits[static_cast<size_t>(tMine)] = true;
    if (gTurns.turn == tMine)
    {
        pass();
    }
    wait(lock);
}

} // namespace v2

} // namespace pluginkit_cpu
