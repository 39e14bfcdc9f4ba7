//! The memory that a library knows: what it allocated itself, and what the test harness named to it.
//!
//! An allocation has pages of its own. It ends, but for its alignment, where an inaccessible page begins, and
//! so does the page before its first. The gap between its last byte and that page is filled and looked at now and then.
#pragma once

#include "state.h"

#include <atomic>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <vector>

namespace pluginkit_cpu
{

inline namespace v2
{

enum class Origin
{
    kDevice,     //!< cudaMalloc and its like.
    kPinned,     //!< cudaMallocHost and its like.
    kManaged,    //!< cudaMallocManaged.
    kRegistered, //!< The user's own host memory, after cudaHostRegister.
    kSymbol,     //!< A __device__ or __constant__ variable that a call has named.
    kHarness,    //!< Device memory of the test harness.
};

//! A known piece of memory. `pages` is all that was mapped for it, guards included; empty for memory of others.
struct Allocation
{
    uintptr_t begin{0};
    size_t size{0};
    Origin origin{Origin::kDevice};
    char const* function{""}; //!< That made it.
    unsigned int flags{0};
    uintptr_t pages{0};
    size_t pagesSize{0};
    bool leaving{false}; //!< cudaFreeAsync was called, but its stream has not come so far.
    bool damaged{false}; //!< Reported.

    bool isHost() const noexcept
    {
        return origin == Origin::kPinned || origin == Origin::kRegistered;
    }
    //! Whether host code may read and write it without a call.
    bool isHostsToo() const noexcept
    {
        return isHost() || origin == Origin::kManaged;
    }
};

//! A piece of host or managed memory that a copy in a deferred stream reads or writes.
struct Flight
{
    uintptr_t begin;
    size_t size;
    bool written;
};

//! Pages to close while host code runs, and the bytes in them that it must not touch.
struct Closing
{
    uintptr_t pages;
    size_t pagesSize;
    uintptr_t begin;
    size_t size;
    bool readable;
    char const* what;
};

class PLUGINKIT_CPU_HIDDEN DeviceMemory
{
public:
    DeviceMemory() = default;
    DeviceMemory(DeviceMemory const&) = delete;
    DeviceMemory& operator=(DeviceMemory const&) = delete;
    ~DeviceMemory();

    //! Poisoned memory with a gap and guard pages; null when there is none.
    void* allocate(size_t size, Origin origin, char const* function, unsigned int flags = 0);

    //! Marks it as leaving, so that it isn't freed twice; the allocation, or nothing if it can't be freed so.
    std::optional<Allocation> leave(void* memory, bool host, Caller const& caller);

    //! Ends an allocation that is leaving. Its addresses stay closed for some time.
    void release(uintptr_t begin);

    //! Frees all that is the library's own, and forgets its variables and the host memory that was registered.
    void reset();

    //! Makes memory of others known. False if a part of it is known already.
    bool add(Allocation const& allocation);
    //! Forgets memory of others; false if there is not one of that origin at this address.
    bool remove(uintptr_t begin, Origin origin);

    //! What an address belongs to: inside it, or outside within its guards.
    std::optional<Allocation> find(uintptr_t address) const;
    //! The harness's memory in whose pages an address lies, outside of its bytes or inside.
    std::optional<Allocation> findInPages(uintptr_t address) const;
    //! The harness's memory in whose pages, or the one before or behind them, an address lies.
    std::optional<Allocation> findBeside(uintptr_t address) const;
    //! Whether memory begins there: memory of no bytes too.
    bool begins(uintptr_t address) const;
    //! The allocation that was freed and had this address, if that was not long ago.
    std::optional<Allocation> findFreed(uintptr_t address) const;

    //! Whether memory that isn't known can't be the device's, because the harness has named all that it has.
    bool deviceMemoryIsKnown() const;

    size_t count() const;
    size_t bytes() const;

    void checkGaps();

    //! A copy's host memory, from the call to when the copy is done.
    int takeOff(Flight const& flight);
    void land(int number);

    //! What host code must not touch now.
    std::vector<Closing> closings() const;

private:
    void checkGap(Allocation& allocation);
    std::optional<Allocation> leaveError(Caller const& caller, std::string const& text) const;

    mutable std::mutex mMutex;
    std::map<uintptr_t, Allocation> mAllocations; // by their first page, or byte where they have no pages
    std::deque<Allocation> mFreed;
    std::map<int, Flight> mFlights;
    int mLastFlight{0};
    size_t mBytes{0};
    std::atomic<size_t> mHarness{0}; // changed with the lock
};

extern PLUGINKIT_CPU_HIDDEN DeviceMemory gMemory;

//! The observer's functions, which do nothing where there is none.
PLUGINKIT_CPU_HIDDEN void observeCopy(void* to, void const* from, size_t size, bool toHost, Caller const& caller);
PLUGINKIT_CPU_HIDDEN void observeFill(void* memory, size_t size);

//! The bytes of the machine, which are the device's.
PLUGINKIT_CPU_HIDDEN size_t totalMemory() noexcept;

} // namespace v2

} // namespace pluginkit_cpu
