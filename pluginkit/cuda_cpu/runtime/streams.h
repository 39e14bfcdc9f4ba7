//! Streams and events: which work comes after which, and who has waited for what.
//!
//! Every piece of work has a number, larger than those of the work that it comes after. So whoever waits for one runs
//! the pieces that it comes after, theirs too, in the order of their numbers. At once, work gets a number and is done.
#pragma once

#include "state.h"

#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

namespace pluginkit_cpu
{

inline namespace v2
{

using Number = uint64_t;

constexpr int kGREATEST_PRIORITY = -5; // of streams; the least one is 0

//! How much of each stream's work (by the stream's identity) is known to have come before.
using Knowledge = std::map<uint64_t, uint64_t>;

struct StreamState
{
    uint64_t identity;
    unsigned int flags;
    int priority;
    Number last{0}; //!< Its latest work.
    // For the rules of enqueue(); of the enqueue() with this number.
    uint64_t enqueueNumber{0};
    uint64_t amount{0};
    Knowledge knows;

    bool blocking() const noexcept
    {
        return (flags & cudaStreamNonBlocking) == 0;
    }
};

using Clock = std::chrono::steady_clock;

struct EventState
{
    unsigned int flags;
    Number record{0}; //!< The work that records it; 0: never.
    Clock::time_point time;
    uint64_t enqueueNumber{0};
    Knowledge knows;
};

//! Names for streams and events: addresses at which nothing is, none of them used twice for a long time.
class PLUGINKIT_CPU_HIDDEN Handles
{
public:
    Handles() = default;
    Handles(Handles const&) = delete;
    Handles& operator=(Handles const&) = delete;
    ~Handles();
    uintptr_t next();

private:
    uintptr_t mBegin{0};
    size_t mUsed{0};
};

class PLUGINKIT_CPU_HIDDEN Streams
{
public:
    // Each gives CUDA's error; work that is given to a stream may run in the call.

    cudaError_t create(cudaStream_t& stream, unsigned int flags, int priority);
    cudaError_t destroy(cudaStream_t stream);
    //! Flags, priority and identity of a stream.
    cudaError_t ask(cudaStream_t stream, StreamState& answer);
    cudaError_t enqueue(cudaStream_t stream, std::function<void()> work, Caller const& caller, Side side);
    //! cudaSuccess when all is done, else cudaErrorNotReady; then some work is done, so that asking ends.
    cudaError_t query(cudaStream_t stream);
    cudaError_t synchronize(cudaStream_t stream);
    void synchronizeAll();
    //! As synchronizeAll; the streams take turns, a piece of work each, as far as events leave that open.
    void interleave();

    cudaError_t createEvent(cudaEvent_t& event, unsigned int flags);
    cudaError_t destroyEvent(cudaEvent_t event);
    cudaError_t record(cudaEvent_t event, cudaStream_t stream);
    cudaError_t wait(cudaStream_t stream, cudaEvent_t event);
    cudaError_t queryEvent(cudaEvent_t event);
    cudaError_t synchronizeEvent(cudaEvent_t event);
    cudaError_t elapsed(float& milliseconds, cudaEvent_t from, cudaEvent_t to);

    //! Forgets all streams and events.
    void reset();

    void setDeferred(bool on);
    bool deferred() const noexcept;

    //! The rules of enqueue(): from here on all work must be on this stream, or on one that joins it again.
    void beginEnqueue(cudaStream_t stream);
    void endEnqueue(Caller const& caller);

private:
    using Lock = std::unique_lock<std::mutex>;

    struct Piece
    {
        std::function<void()> work;
        Side side{Side::kDevice};
        std::vector<Number> after;
        uint64_t stream{0}; // its identity
    };

    StreamState* find(cudaStream_t stream);
    StreamState* perThread();
    //! The pending work that new work of a stream comes after, or that someone waits for who waits for the stream.
    std::vector<Number> before(StreamState const& stream, bool work) const;
    std::set<Number> allBefore(Number number) const;
    void runThrough(Number number);
    void run(std::set<Number> const& numbers);
    cudaError_t progress(Number number);
    void add(Lock& lock, StreamState& stream, Piece piece);
    void refresh(StreamState& stream) const;
    std::string wrongStream(StreamState& stream) const;

    mutable std::mutex mMutex;     // guards all members
    std::recursive_mutex mRunning; // held by whoever runs work; taken before mMutex
    Handles mHandles;
    std::map<uintptr_t, StreamState> mStreams; // by handle; the default one is 0
    std::map<uint64_t, StreamState> mPerThread;
    std::map<uintptr_t, EventState> mEvents;
    std::map<Number, Piece> mPending;
    std::vector<Number> mOrphans; // the last work of streams that were destroyed before it was done
    Number mLast{0};
    uint64_t mLastIdentity{0};
    std::atomic<int> mDeferred{-1}; // as PLUGINKIT_CPU_DEFERRED says
    uint64_t mEnqueue{0};
    bool mInEnqueue{false};
    uint64_t mGiven{0}; // the identity of the stream that enqueue() was given
};

extern PLUGINKIT_CPU_HIDDEN Streams gStreams;

//! Whether a host thread runs work of a stream.
PLUGINKIT_CPU_HIDDEN bool working() noexcept;

// --- control.cpp: the rules of enqueue(), of which a breach is a finding ---

PLUGINKIT_CPU_HIDDEN bool inEnqueue() noexcept;
PLUGINKIT_CPU_HIDDEN void checkNoAllocation(Caller const& caller);
PLUGINKIT_CPU_HIDDEN void checkNoSynchronization(Caller const& caller, char const* why = "waits for the device");

//! Reports a question whether work is done, in enqueue(): a stream that is captured refuses it.
PLUGINKIT_CPU_HIDDEN void checkNoQuery(Caller const& caller);

// --- control_access.cpp ---

//! From here on a host access to device memory is a finding, except in work that opens it.
PLUGINKIT_CPU_HIDDEN void guardAccess();
PLUGINKIT_CPU_HIDDEN void endGuard();
//! After memory has become known, or a copy has set off.
PLUGINKIT_CPU_HIDDEN void updateGuard();

//! Opens device memory while it lives, in the host thread that runs work.
class PLUGINKIT_CPU_HIDDEN Opened
{
public:
    Opened();
    ~Opened();
    Opened(Opened const&) = delete;
    Opened& operator=(Opened const&) = delete;
};

} // namespace v2

} // namespace pluginkit_cpu
