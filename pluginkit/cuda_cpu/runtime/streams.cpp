//! Work in the order that streams and events give it: at once, or when it is waited for.

#include "streams.h"

#include "findings.h"
#include "settings.h"

#include <algorithm>
#include <atomic>

#include <sys/mman.h>

namespace pluginkit_cpu
{

inline namespace v2
{

// After gMemory, which the work that is left over may hold on to.
__attribute__((init_priority(102))) Streams gStreams;

namespace
{

constexpr uintptr_t kLEGACY = 0;
constexpr uintptr_t kLEGACY_NAME = 1;     // cudaStreamLegacy
constexpr uintptr_t kPER_THREAD_NAME = 2; // cudaStreamPerThread
constexpr size_t kHANDLE_BYTES = size_t{64} << 20;
constexpr size_t kHANDLE_STEP = 16;

__thread uint64_t gThread{0}; // this host thread's number, for its own default stream
__thread bool gInHostFunction{false};
std::atomic<uint64_t> gThreads{0};
std::atomic<int> gWorking{0};

//! Runs a piece of work as its side is due.
void perform(std::function<void()> const& work, Side side)
{
    if (!work || (stuck() != cudaSuccess && side != Side::kRelease))
    {
        return;
    }
    struct Working
    {
        Working() noexcept
        {
            ++gWorking;
        }
        ~Working()
        {
            --gWorking;
        }
    } const working;
    if (side == Side::kHost)
    {
        gInHostFunction = true;
        work();
        gInHostFunction = false;
        return;
    }
    Opened const opened;
    work();
}

uintptr_t nameOf(cudaStream_t stream) noexcept
{
    auto const name = reinterpret_cast<uintptr_t>(stream);
    return name == kLEGACY_NAME ? kLEGACY : name;
}

} // namespace

bool working() noexcept
{
    return gWorking != 0;
}

bool inHostFunction() noexcept
{
    return gInHostFunction;
}

Handles::~Handles()
{
    if (mBegin != 0)
    {
        munmap(reinterpret_cast<void*>(mBegin), kHANDLE_BYTES);
    }
}

uintptr_t Handles::next()
{
    if (mBegin == 0)
    {
        void* const begin = mmap(nullptr, kHANDLE_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (begin == MAP_FAILED)
        {
            throw std::bad_alloc{};
        }
        mBegin = reinterpret_cast<uintptr_t>(begin);
    }
    mUsed = (mUsed + kHANDLE_STEP) % kHANDLE_BYTES;
    return mBegin + mUsed;
}

StreamState* Streams::perThread()
{
    if (gThread == 0)
    {
        gThread = ++gThreads;
    }
    auto const found = mPerThread.find(gThread);
    return found != mPerThread.end()
               ? &found->second
               : &mPerThread.emplace(gThread, StreamState{++mLastIdentity, 0, 0, 0, 0, 0, {}}).first->second;
}

StreamState* Streams::find(cudaStream_t stream)
{
    uintptr_t const name = nameOf(stream);
    if (name == kPER_THREAD_NAME)
    {
        return perThread();
    }
    if (name == kLEGACY && mStreams.find(kLEGACY) == mStreams.end())
    {
        mStreams.emplace(kLEGACY, StreamState{++mLastIdentity, 0, 0, 0, 0, 0, {}});
    }
    auto const found = mStreams.find(name);
    return found == mStreams.end() ? nullptr : &found->second;
}

cudaError_t Streams::create(cudaStream_t& stream, unsigned int flags, int priority)
{
    if ((flags & ~static_cast<unsigned int>(cudaStreamNonBlocking)) != 0)
    {
        return cudaErrorInvalidValue;
    }
    Lock const lock{mMutex};
    uintptr_t const name = mHandles.next();
    mStreams[name] = StreamState{++mLastIdentity, flags, std::clamp(priority, kGREATEST_PRIORITY, 0), 0, 0, 0, {}};
    stream = reinterpret_cast<cudaStream_t>(name);
    return cudaSuccess;
}

cudaError_t Streams::destroy(cudaStream_t stream)
{
    Lock const lock{mMutex};
    auto const found = mStreams.find(nameOf(stream));
    if (found == mStreams.end() || found->first == kLEGACY)
    {
        return cudaErrorInvalidResourceHandle;
    }
    if (mPending.count(found->second.last) != 0 && found->second.blocking())
    {
        mOrphans.push_back(found->second.last);
    }
    mStreams.erase(found);
    return cudaSuccess;
}

cudaError_t Streams::ask(cudaStream_t stream, StreamState& answer)
{
    Lock const lock{mMutex};
    StreamState const* const found = find(stream);
    if (found == nullptr)
    {
        return cudaErrorInvalidResourceHandle;
    }
    answer = *found;
    return cudaSuccess;
}

std::vector<Number> Streams::before(StreamState const& stream, bool work) const
{
    std::vector<Number> numbers{stream.last};
    auto const legacy = mStreams.find(kLEGACY);
    if (legacy != mStreams.end() && &legacy->second == &stream)
    {
        // The default stream comes after all that was given to the blocking ones.
        auto const take = [&numbers](auto const& each)
        {
            if (each.second.blocking())
            {
                numbers.push_back(each.second.last);
            }
        };
        std::for_each(mStreams.begin(), mStreams.end(), take);
        std::for_each(mPerThread.begin(), mPerThread.end(), take);
        numbers.insert(numbers.end(), mOrphans.begin(), mOrphans.end());
    }
    else if (legacy != mStreams.end() && stream.blocking() && work)
    {
        numbers.push_back(legacy->second.last);
    }
    numbers.erase(
        std::remove_if(numbers.begin(), numbers.end(), [this](Number number) { return mPending.count(number) == 0; }),
        numbers.end());
    return numbers;
}

std::set<Number> Streams::allBefore(Number number) const
{
    std::set<Number> all;
    std::vector<Number> open{number};
    while (!open.empty())
    {
        Number const next = open.back();
        open.pop_back();
        auto const piece = mPending.find(next);
        if (piece != mPending.end() && all.insert(next).second)
        {
            open.insert(open.end(), piece->second.after.begin(), piece->second.after.end());
        }
    }
    return all;
}

void Streams::run(std::set<Number> const& numbers)
{
    // mRunning is held: no other thread takes a piece away.
    for (Number const number : numbers)
    {
        Lock lock{mMutex};
        auto const piece = mPending.find(number);
        if (piece == mPending.end())
        {
            continue;
        }
        {
            // It goes without the lock, too: a kernel's arguments may be objects that call CUDA when they end.
            std::function<void()> const work = std::move(piece->second.work);
            Side const side = piece->second.side;
            lock.unlock();
            perform(work, side);
        }
        lock.lock();
        mPending.erase(number);
    }
    Lock const lock{mMutex};
    mOrphans.erase(
        std::remove_if(mOrphans.begin(), mOrphans.end(), [this](Number number) { return mPending.count(number) == 0; }),
        mOrphans.end());
}

void Streams::runThrough(Number number)
{
    if (inKernel())
    {
        return;
    }
    std::lock_guard<std::recursive_mutex> const running{mRunning};
    std::set<Number> numbers;
    {
        Lock const lock{mMutex};
        numbers = allBefore(number);
    }
    run(numbers);
}

void Streams::synchronizeAll()
{
    if (inKernel())
    {
        return;
    }
    std::lock_guard<std::recursive_mutex> const running{mRunning};
    std::set<Number> numbers;
    {
        Lock const lock{mMutex};
        for (auto const& each : mPending)
        {
            numbers.insert(numbers.end(), each.first);
        }
    }
    run(numbers);
}

void Streams::interleave()
{
    std::lock_guard<std::recursive_mutex> const running{mRunning};
    uint64_t last = 0;
    while (true)
    {
        Number next = 0;
        {
            Lock const lock{mMutex};
            uint64_t best = 0;
            for (auto const& [number, piece] : mPending)
            {
                bool const ready = std::none_of(piece.after.begin(), piece.after.end(),
                                                [this](Number one) { return mPending.count(one) != 0; });
                // How far behind the stream that went last, in a circle.
                uint64_t const distance = piece.stream - last - 1;
                if (ready && (next == 0 || distance < best))
                {
                    next = number;
                    best = distance;
                }
            }
            if (next == 0)
            {
                return;
            }
            last = mPending.at(next).stream;
        }
        run({next});
    }
}

void Streams::add(Lock& lock, StreamState& stream, Piece piece)
{
    if (deferred())
    {
        auto const earlier = before(stream, true);
        piece.after.insert(piece.after.end(), earlier.begin(), earlier.end());
        stream.last = ++mLast;
        piece.stream = stream.identity;
        mPending.emplace(stream.last, std::move(piece));
        return;
    }
    stream.last = ++mLast;
    bool const old = !mPending.empty();
    lock.unlock();
    std::lock_guard<std::recursive_mutex> const running{mRunning};
    if (old) // from before the environment changed it
    {
        synchronizeAll();
    }
    perform(piece.work, piece.side);
}

cudaError_t Streams::enqueue(cudaStream_t stream, std::function<void()> work, Caller const& caller, Side side)
{
    Lock lock{mMutex};
    StreamState* const found = find(stream);
    if (found == nullptr)
    {
        return cudaErrorInvalidResourceHandle;
    }
    if (inKernel())
    {
        // Libraries whose host and device code are one text (Thrust) copy from kernels. The launch that this thread
        // belongs to may hold mRunning in another host thread, which waits for this one.
        lock.unlock();
        if (work)
        {
            work();
        }
        return cudaSuccess;
    }
    std::string const wrong = wrongStream(*found);
    if (!wrong.empty())
    {
        report({"wrong-stream", std::string{caller.function} + wrong, {nullptr, 0}, caller.code});
    }
    add(lock, *found, Piece{std::move(work), side, {}});
    return cudaSuccess;
}

cudaError_t Streams::progress(Number number)
{
    std::set<Number> numbers;
    {
        Lock const lock{mMutex};
        numbers = allBefore(number);
    }
    if (numbers.empty())
    {
        return cudaSuccess;
    }
    std::lock_guard<std::recursive_mutex> const running{mRunning};
    run({*numbers.begin()});
    return cudaErrorNotReady;
}

cudaError_t Streams::query(cudaStream_t stream)
{
    Number last = 0;
    {
        Lock const lock{mMutex};
        StreamState const* const found = find(stream);
        if (found == nullptr)
        {
            return cudaErrorInvalidResourceHandle;
        }
        auto const numbers = before(*found, false);
        last = numbers.empty() ? 0 : *std::max_element(numbers.begin(), numbers.end());
    }
    return progress(last);
}

cudaError_t Streams::synchronize(cudaStream_t stream)
{
    std::vector<Number> numbers;
    {
        Lock const lock{mMutex};
        StreamState const* const found = find(stream);
        if (found == nullptr)
        {
            return cudaErrorInvalidResourceHandle;
        }
        numbers = before(*found, false);
    }
    for (Number const number : numbers)
    {
        runThrough(number);
    }
    if (!inKernel())
    {
        // Another thread may be running the last of it.
        std::lock_guard<std::recursive_mutex> const running{mRunning};
    }
    return cudaSuccess;
}

void Streams::reset()
{
    Lock const lock{mMutex};
    mStreams.clear();
    mPerThread.clear();
    mEvents.clear();
}

void Streams::setDeferred(bool on)
{
    mDeferred = on ? 1 : 0;
    if (!on)
    {
        synchronizeAll();
    }
}

bool Streams::deferred() const noexcept
{
    return mDeferred == -1 ? wholeNumber(Settings::fromEnvironment().deferred, 0) != 0 : mDeferred != 0;
}

cudaError_t enqueueWork(cudaStream_t stream, std::function<void()> work, Caller const& caller, Side side)
{
    return gStreams.enqueue(stream, std::move(work), caller, side);
}

bool isStream(cudaStream_t stream)
{
    StreamState state{};
    return gStreams.ask(stream, state) == cudaSuccess;
}

bool deferred() noexcept
{
    return gStreams.deferred();
}

} // namespace v2

} // namespace pluginkit_cpu
