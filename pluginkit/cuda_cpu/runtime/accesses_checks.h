//! The checks of memory accesses together, as compiled code and the engine's hooks reach them.
#pragma once

#include "accesses_races.h"
#include "accesses_written.h"
#include "findings.h"
#include "memory.h"

#include <mutex>
#include <set>
#include <string>
#include <string_view>

namespace pluginkit_cpu
{

inline namespace v2
{

namespace accesses
{

inline uintptr_t number(void const* address) noexcept
{
    return reinterpret_cast<uintptr_t>(address);
}

//! How an atomic or volatile access orders others.
enum class Strength
{
    kPLAIN,
    kVOLATILE,
    kRELAXED,  //!< CUDA's atomics: they order only together with fences.
    kORDERING, //!< C++'s acquire and release: a fence of its own.
};

//! Whether PLUGINKIT_CPU_CHECK selects a check.
PLUGINKIT_CPU_HIDDEN bool isAsked(std::string_view check);

class PLUGINKIT_CPU_HIDDEN Checks
{
public:
    Checks();
    Checks(Checks const&) = delete;
    Checks& operator=(Checks const&) = delete;
    ~Checks();

    void launchBegins(dim3 const& grid, dim3 const& block);
    void launchEnds();
    void blockBegins(uint64_t block);
    void blockEnds(uint64_t block);
    void barrierPassed();
    void warpSynced(uint32_t lanes);
    void fenced();
    void sharedStarts(uintptr_t memory, size_t size, char const* name);

    //! An access by compiled code. Nothing happens if no kernel runs on this host thread, or if the memory is the
    //! thread's own.
    void see(Access access, Strength strength) noexcept;

    //! The current thread has read what an atomic gave it: other threads may have run since it was seen.
    void hear(uintptr_t address) noexcept;

    //! The current thread's next atomic accesses to these bytes are parts of one of CUDA's atomics, which is seen now.
    void begins(Access const& access) noexcept;

    //! Finishes what waits for the current thread's access to be done.
    void settle() noexcept
    {
        if (mPending)
        {
            reportPending();
        }
    }

    void allocated(void* memory, size_t size, bool initialized);
    void released(void* memory, size_t size);
    void copied(void* to, void const* from, size_t size, bool toHost, Caller const& caller);
    void filled(void* memory, size_t size);

private:
    struct Shared
    {
        size_t size;
        char const* name;
    };

    //! A collision of two writes, before the second one is done.
    struct PendingWrites
    {
        Finding finding;
        uintptr_t address;
        size_t size;
        unsigned char before[16];
        uint3 block;
        uint3 thread;
    };

    //! A race, unless its reader still changes the bytes by an atomic.
    struct Guess
    {
        Collision collision;
        uint32_t moment; //!< The current one then.
        uint3 block;
        uint3 thread;
        uint64_t readersBlock;
        uint32_t reader;
    };

    bool isOwn(uintptr_t address) const noexcept;
    void found(Collision const& collision);
    void confirmGuesses(Access const& access);
    void reportGuesses();
    void checkWritten(Access const& access);
    size_t countAgain(std::optional<Allocation> const& known, uintptr_t address, size_t size, uintptr_t& first);
    bool isDevice(uintptr_t address);
    void checkDevice(Access const& access);
    void reportRace(Collision const& collision);
    void reportPending() noexcept;
    bool isNew(char const* kind, void const* code, void const* other);
    std::string describe(uintptr_t address, size_t size) const;
    std::string describeOther(Collision const& collision) const;

    bool mRacesOn{false};
    bool mWrittenOn{false};
    bool mDeviceKnown{false}; // so that all other memory is the host's
    std::pair<uintptr_t, size_t> mDevice[8]{};
    size_t mNextDevice{0};
    Order mOrder;
    Races mRaces{mOrder};
    std::mutex mMutex; // of mUnwritten: other host threads allocate and copy while a kernel runs
    Unwritten mUnwritten;
    std::map<uintptr_t, Shared> mShared;
    std::map<std::string_view, std::set<std::pair<void const*, void const*>>> mReported;
    uintptr_t mVariables{0}; // the host thread's own, such as threadIdx
    size_t mVariablesSize{0};
    uint32_t mMoment{0}; // of the access that is being checked
    Access mAtomic{};
    uint32_t mAtomicMoment{0};
    bool mPending{false};
    PendingWrites mWaiting{};
    std::vector<Guess> mGuesses;
};

extern PLUGINKIT_CPU_HIDDEN Checks gChecks;

} // namespace accesses

} // namespace v2

} // namespace pluginkit_cpu
