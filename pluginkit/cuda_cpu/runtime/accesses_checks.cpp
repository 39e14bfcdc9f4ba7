//! What is done with one access, and what is known of memory's bytes.

#include "accesses_checks.h"
#include "worker.h"

#include <cstdlib>

#ifdef PLUGINKIT_CPU_CHECKED

namespace pluginkit_cpu
{

inline namespace v2
{

namespace accesses
{

bool isAsked(std::string_view check)
{
    char const* const text = std::getenv("PLUGINKIT_CPU_CHECK");
    return text == nullptr || std::string_view{text}.find(check) != std::string_view::npos;
}

bool Checks::isOwn(uintptr_t address) const noexcept
{
    Fiber const& fiber = Worker::current()->fiber();
    return address - mVariables < mVariablesSize || fiber.holds(reinterpret_cast<void const*>(address)) ||
           address - number(static_cast<Threads const*>(fiber.block)) < sizeof(Threads);
}

void Checks::see(Access access, Strength strength) noexcept
{
    Worker* const worker = Worker::current();
    if (worker == nullptr || worker->inside != 0 || access.size == 0 || isOwn(access.address))
    {
        return;
    }
    Inside const guard{*worker};
    settle();
    mOrder.here();
    mOrder.learnNow();
    if (strength == Strength::kVOLATILE)
    {
        // In shared memory it mostly stands where __syncwarp is missing: that was how warps exchanged values once.
        access.atomic = !worker->fiber().block->shared.holds(reinterpret_cast<void const*>(access.address));
    }
    bool const part = strength != Strength::kVOLATILE && access.atomic && mAtomicMoment == mOrder.now() &&
                      access.address >= mAtomic.address &&
                      access.address + access.size <= mAtomic.address + mAtomic.size;
    if (part)
    {
        return;
    }
    if (strength != Strength::kPLAIN && access.reads)
    {
        mOrder.learn(access.address);
    }
    if (strength == Strength::kORDERING)
    {
        mOrder.fence();
    }
    mMoment = mOrder.now();
    Collision collision{};
    if (mRacesOn && access.atomic && !mGuesses.empty())
    {
        confirmGuesses(access);
    }
    if (mRacesOn && mRaces.check(access, collision))
    {
        found(collision);
    }
    if (mWrittenOn)
    {
        checkWritten(access);
    }
    if (mDeviceKnown && !isDevice(access.address))
    {
        checkDevice(access);
    }
    if (strength != Strength::kPLAIN && access.writes)
    {
        mOrder.publish(access.address);
    }
    if (strength == Strength::kVOLATILE && access.reads)
    {
        mOrder.learnSoon(access.address);
    }
    mAtomicMoment = 0;
}

void Checks::hear(uintptr_t address) noexcept
{
    Worker* const worker = Worker::current();
    if (worker != nullptr && worker->inside == 0 && !isOwn(address))
    {
        Inside const guard{*worker};
        mOrder.here();
        mOrder.learn(address);
    }
}

void Checks::begins(Access const& access) noexcept
{
    Worker* const worker = Worker::current();
    if (worker != nullptr && worker->inside == 0 && !isOwn(access.address))
    {
        mAtomicMoment = 0;
        see(access, Strength::kRELAXED);
        Inside const guard{*worker};
        mOrder.here();
        mAtomic = access;
        mAtomicMoment = mOrder.now();
    }
}

size_t Checks::countAgain(std::optional<Allocation> const& known, uintptr_t address, size_t size, uintptr_t& first)
{
    if (!known || known->origin != Origin::kHarness) // whose memory holds what the harness has put there
    {
        mUnwritten.compare(address, size);
    }
    return mUnwritten.count(address, size, first);
}

void Checks::checkWritten(Access const& access)
{
    uintptr_t first = 0;
    size_t missing = 0;
    {
        std::lock_guard<std::mutex> const lock{mMutex};
        missing = access.reads ? mUnwritten.count(access.address, access.size, first) : 0;
        if (access.writes && missing == 0)
        {
            mUnwritten.write(access.address, access.size);
        }
    }
    if (missing == 0)
    {
        return;
    }
    auto const known = gMemory.find(access.address); // not under our lock: who has gMemory's comes for ours
    {
        std::lock_guard<std::mutex> const lock{mMutex};
        missing = countAgain(known, access.address, access.size, first);
        if (access.writes)
        {
            mUnwritten.write(access.address, access.size);
        }
    }
    if (missing == 0)
    {
        return;
    }
    if (known && known->isHostsToo())
    {
        // The host may have written it, which isn't reported.
        std::lock_guard<std::mutex> const lock{mMutex};
        mUnwritten.end(known->begin, known->size);
        return;
    }
    if (isNew("uninitialized-read", access.code, nullptr))
    {
        report({"uninitialized-read",
                "the thread reads " + describe(first, access.size - (first - access.address)) +
                    ", and nobody has written " + (missing == access.size ? "them." : "some of them."),
                {nullptr, 0},
                access.code});
    }
}

void Checks::allocated(void* memory, size_t size, bool initialized)
{
    std::lock_guard<std::mutex> const lock{mMutex};
    mUnwritten.end(number(memory), size);
    if (!initialized)
    {
        mUnwritten.begin(number(memory), size);
    }
}

void Checks::released(void* memory, size_t size)
{
    std::lock_guard<std::mutex> const lock{mMutex};
    mUnwritten.end(number(memory), size);
}

void Checks::copied(void* to, void const* from, size_t size, bool toHost, Caller const& caller)
{
    uintptr_t first = 0;
    size_t missing = 0;
    auto const known = gMemory.find(number(from));
    {
        std::lock_guard<std::mutex> const lock{mMutex};
        if (known && known->isHostsToo())
        {
            mUnwritten.end(known->begin, known->size); // the host may have written it, which isn't reported
        }
        missing = toHost ? mUnwritten.count(number(from), size, first) : 0;
        missing = missing == 0 ? 0 : countAgain(known, number(from), size, first);
        mUnwritten.copy(number(to), number(from), size);
    }
    if (missing == 0 || !isAsked("memory"))
    {
        return;
    }
    report({"uninitialized-copy",
            std::string{caller.function} + " copies " + std::to_string(size) +
                " bytes to the host; nobody has written " + std::to_string(missing) + " of them, the first is " +
                describeAddress(reinterpret_cast<void const*>(first)) + ".",
            {nullptr, 0},
            caller.code});
}

void Checks::filled(void* memory, size_t size)
{
    std::lock_guard<std::mutex> const lock{mMutex};
    mUnwritten.write(number(memory), size);
}

} // namespace accesses

} // namespace v2

} // namespace pluginkit_cpu

#endif
