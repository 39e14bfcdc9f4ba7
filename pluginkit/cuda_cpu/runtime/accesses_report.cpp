//! The messages of what the checks of memory accesses find.

#include "accesses_checks.h"

#include <cstring>
#include <functional>

#ifdef PLUGINKIT_CPU_CHECKED

namespace pluginkit_cpu
{

inline namespace v2
{

namespace accesses
{

namespace
{

constexpr size_t kREPORTED = 100; // of each kind and launch: more of them say nothing new

std::string words(uint3 const& index)
{
    return "(" + std::to_string(index.x) + ", " + std::to_string(index.y) + ", " + std::to_string(index.z) + ")";
}

std::string bytes(size_t size)
{
    return std::to_string(size) + (size == 1 ? " byte" : " bytes");
}

//! Reports within its life may be of other threads: afterwards blockIdx and threadIdx are again what they were.
class SameThreadAfter
{
public:
    SameThreadAfter() = default;
    SameThreadAfter(SameThreadAfter const&) = delete;
    SameThreadAfter& operator=(SameThreadAfter const&) = delete;
    ~SameThreadAfter()
    {
        blockIdx = mBlock;
        threadIdx = mThread;
    }

private:
    uint3 mBlock{blockIdx};
    uint3 mThread{threadIdx};
};

} // namespace

//! "4 bytes of shared array tile, bytes 12 to 15 (element 3 of that size)".
std::string Checks::describe(uintptr_t address, size_t size) const
{
    auto const next = mShared.upper_bound(address);
    if (next != mShared.begin())
    {
        auto const& [begin, shared] = *std::prev(next);
        size_t const offset = address - begin;
        if (offset < shared.size)
        {
            std::string const element =
                offset % size == 0 ? " (element " + std::to_string(offset / size) + " of that size)" : "";
            return bytes(size) + " of shared array " + shared.name + ", at byte " + std::to_string(offset) + element;
        }
    }
    auto const known = gMemory.find(address);
    std::string const place = describeAddress(reinterpret_cast<void const*>(address));
    if (!place.empty())
    {
        size_t const offset = address - known->begin;
        std::string const element = address >= known->begin && offset % size == 0
                                        ? " (element " + std::to_string(offset / size) + " of that size)"
                                        : "";
        return bytes(size) + ", at " + place + element;
    }
    char text[32];
    std::snprintf(text, sizeof(text), " at 0x%zx", address);
    return bytes(size) + text;
}

//! What the other thread did, and what would have ordered the two.
std::string Checks::describeOther(Collision const& collision) const
{
    Moment const& then = mOrder.moment(collision.other.moment);
    Moment const& now = mOrder.moment(mMoment);
    bool const sameBlock = then.block == now.block;
    bool const sameWarp = sameBlock && then.thread / warpSize == now.thread / warpSize;
    std::string const atomic = collision.other.atomic != 0 ? " by an atomic" : "";
    std::string text = "thread " + words(mOrder.threadAt(then.thread)) +
                       (sameBlock ? "" : " of block " + words(mOrder.blockAt(then.block))) +
                       (collision.otherWrites ? " wrote them" : " read them") + atomic + " before, and ";
    if (collision.other.atomic != 0 || collision.access.atomic)
    {
        text += "only one of the two is atomic";
    }
    else if (sameBlock)
    {
        text += sameWarp ? "no __syncthreads() or __syncwarp() is between" : "no __syncthreads() is between";
    }
    else
    {
        text += "nothing orders the two blocks";
    }
    return text + ".";
}

bool Checks::isNew(char const* kind, void const* code, void const* other)
{
    auto& known = mReported[kind];
    auto const pair = std::less<>{}(code, other) ? std::make_pair(code, other) : std::make_pair(other, code);
    return known.size() < kREPORTED && known.insert(pair).second;
}

void Checks::reportRace(Collision const& collision)
{
    Access const& access = collision.access;
    void const* const other = Races::codeAt(collision.other.code);
    if (!isNew("race", access.code, other))
    {
        return;
    }
    std::string const does = access.writes ? (access.reads ? "changes " : "writes ") : "reads ";
    std::string text = "thread " + words(threadIdx) + " of block " + words(blockIdx) + " " + does +
                       describe(access.address, access.size) + (access.atomic ? ", by an atomic; " : "; ") +
                       describeOther(collision);
    Finding finding{"race", std::move(text), {nullptr, 0}, access.code, other};
    if (!collision.otherWrites || access.reads || !access.writes || access.size > sizeof(mWaiting.before))
    {
        report(finding);
        return;
    }
    // Whether it writes the value that is there can be seen once it has.
    mWaiting = {std::move(finding), access.address, access.size, {}, blockIdx, threadIdx};
    std::memcpy(mWaiting.before, reinterpret_cast<void const*>(access.address), access.size);
    mPending = true;
}

void Checks::found(Collision const& collision)
{
    constexpr size_t kGUESSES = 65536;
    if (!collision.isGuess() || mGuesses.size() == kGUESSES)
    {
        reportRace(collision);
        return;
    }
    Moment const& reader = mOrder.moment(collision.otherWrites ? mMoment : collision.other.moment);
    mGuesses.push_back({collision, mMoment, blockIdx, threadIdx, reader.block, reader.thread});
}

void Checks::confirmGuesses(Access const& access)
{
    Moment const& now = mOrder.moment(mMoment);
    for (Guess const& guess : mGuesses)
    {
        Access const& met = guess.collision.access;
        bool const overlap = met.address < access.address + access.size && access.address < met.address + met.size;
        if (overlap && guess.readersBlock == now.block && guess.reader == now.thread)
        {
            mRaces.confirm(guess.collision.readersCode());
        }
    }
}

void Checks::reportGuesses()
{
    SameThreadAfter const same;
    for (Guess const& guess : mGuesses)
    {
        if (mRaces.isConfirmed(guess.collision.readersCode()))
        {
            continue;
        }
        blockIdx = guess.block;
        threadIdx = guess.thread;
        mMoment = guess.moment;
        reportRace(guess.collision);
    }
    mGuesses.clear();
}

void Checks::reportPending() noexcept
{
    mPending = false;
    bool const same = std::memcmp(mWaiting.before, reinterpret_cast<void const*>(mWaiting.address), mWaiting.size) == 0;
    if (same)
    {
        mWaiting.finding.text = "same value written: " + mWaiting.finding.text;
    }
    SameThreadAfter const sameThread;
    blockIdx = mWaiting.block;
    threadIdx = mWaiting.thread;
    report(mWaiting.finding);
}

} // namespace accesses

} // namespace v2

} // namespace pluginkit_cpu

#endif
