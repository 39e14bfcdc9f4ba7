//! Allocations with guards, poison and gaps, and who owns which address.

#include "memory.h"

#include "accesses.h"
#include "asan.h"
#include "findings.h"
#include "objects.h"

#include <algorithm>
#include <cstring>

#include <sys/mman.h>
#include <unistd.h>

namespace pluginkit_cpu
{

inline namespace v2
{

// Before all objects of the user's, so that those can still free memory when they go.
__attribute__((init_priority(101))) DeviceMemory gMemory;

namespace
{

constexpr size_t kALIGNMENT = 256; // what cudaMalloc promises
constexpr unsigned char kGAP_BYTE = 0xC9;
constexpr size_t kGAP_BEFORE = 64;              // bytes looked at before an allocation
constexpr size_t kGAPS_WATCHED = 1024;          // with more allocations, gaps are looked at when they are freed
constexpr size_t kPOISONED = size_t{256} << 20; // of a larger allocation only the beginning is filled
constexpr size_t kREMEMBERED = 64;              // freed allocations whose addresses stay closed
constexpr size_t kREMEMBERED_SIZE = size_t{64} << 20;

MemoryObserver gObserver{};

size_t pageSize() noexcept
{
    static size_t const size = static_cast<size_t>(sysconf(_SC_PAGE_SIZE));
    return size;
}

size_t roundUp(size_t size, size_t unit) noexcept
{
    return (size + unit - 1) / unit * unit;
}

void* at(uintptr_t address) noexcept
{
    return reinterpret_cast<void*>(address);
}

uintptr_t key(Allocation const& allocation) noexcept
{
    return allocation.pages != 0 ? allocation.pages : allocation.begin;
}

uintptr_t endOf(Allocation const& allocation) noexcept
{
    return allocation.pages != 0 ? allocation.pages + allocation.pagesSize : allocation.begin + allocation.size;
}

//! The pages of an allocation without its guards.
uintptr_t inner(Allocation const& allocation) noexcept
{
    return allocation.pages + pageSize();
}

size_t innerSize(Allocation const& allocation) noexcept
{
    return allocation.pagesSize - 2 * pageSize();
}

//! The pages that memory of the harness has for itself, from the first to behind the last. That which begins at a page,
//! or ends at one but for its alignment, has all of them; of others, a part of a page may be anybody's.
std::pair<uintptr_t, uintptr_t> pagesOf(Allocation const& allocation) noexcept
{
    uintptr_t const page = pageSize();
    uintptr_t const end = allocation.begin + allocation.size;
    bool const own = allocation.begin % page == 0 || roundUp(end, kALIGNMENT) % page == 0;
    return {own ? allocation.begin / page * page : roundUp(allocation.begin, page),
            own && allocation.size > 0 ? roundUp(end, page) : end / page * page};
}

std::string bytesAt(Allocation const& allocation)
{
    if (allocation.origin == Origin::kHarness)
    {
        return "the " + std::to_string(allocation.size) + " bytes of " + allocation.function +
               " that the plugin was given";
    }
    char text[64];
    std::snprintf(text, sizeof(text), "the %zu bytes at 0x%zx", allocation.size, allocation.begin);
    switch (allocation.origin)
    {
    case Origin::kSymbol:
        return std::string{text} + " of a device variable";
    case Origin::kDevice:
    case Origin::kPinned:
    case Origin::kManaged:
    case Origin::kRegistered:
    case Origin::kHarness:
        break;
    }
    return std::string{text} + " of " + allocation.function;
}

template <typename Map>
auto findIn(Map& allocations, uintptr_t address) -> decltype(&allocations.begin()->second)
{
    auto next = allocations.upper_bound(address);
    if (next == allocations.begin())
    {
        return nullptr;
    }
    auto& found = std::prev(next)->second;
    return address < endOf(found) ? &found : nullptr;
}

void unmap(Allocation const& allocation) noexcept
{
    if (allocation.pages != 0)
    {
        asan::open(at(inner(allocation)), innerSize(allocation)); // for whoever gets these addresses next
        munmap(at(allocation.pages), allocation.pagesSize);
    }
}

void fill(Allocation const& allocation) noexcept
{
    auto* const data = static_cast<unsigned char*>(at(allocation.begin));
    auto* const first = static_cast<unsigned char*>(at(inner(allocation)));
    unsigned char* const last = first + innerSize(allocation);
    std::memset(first, kGAP_BYTE, static_cast<size_t>(data - first));
    std::memset(data, kPOISON, std::min(allocation.size, kPOISONED));
    std::memset(data + allocation.size, kGAP_BYTE, static_cast<size_t>(last - data) - allocation.size);
    asan::open(data, allocation.size);
    asan::close(first, static_cast<size_t>(data - first));
    asan::close(data + allocation.size, static_cast<size_t>(last - data) - allocation.size);
}

} // namespace

DeviceMemory::~DeviceMemory()
{
    // What the user never freed is freed here, as by a process that ends.
    for (auto const& each : mAllocations)
    {
        unmap(each.second);
    }
    std::for_each(mFreed.begin(), mFreed.end(), unmap);
}

void* DeviceMemory::allocate(size_t size, Origin origin, char const* function, unsigned int flags)
{
    size_t const room = roundUp(roundUp(size, kALIGNMENT), pageSize());
    {
        std::lock_guard<std::mutex> const lock{mMutex};
        if (room < size || room > totalMemory() - std::min(totalMemory(), mBytes))
        {
            return nullptr;
        }
    }
    Allocation made{};
    made.size = size;
    made.origin = origin;
    made.function = function;
    made.flags = flags;
    made.pagesSize = room + 2 * pageSize();
    void* const pages = mmap(nullptr, made.pagesSize, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (pages == MAP_FAILED)
    {
        return nullptr;
    }
    made.pages = reinterpret_cast<uintptr_t>(pages);
    made.begin = inner(made) + room - roundUp(size, kALIGNMENT);
    if (mprotect(at(inner(made)), room, PROT_READ | PROT_WRITE) != 0)
    {
        munmap(pages, made.pagesSize);
        return nullptr;
    }
    fill(made);
    {
        std::lock_guard<std::mutex> const lock{mMutex};
        mAllocations.emplace(key(made), made);
        mBytes += size;
    }
    if (gObserver.made != nullptr)
    {
        gObserver.made(at(made.begin), size, false);
    }
    return at(made.begin);
}

std::optional<Allocation> DeviceMemory::leaveError(Caller const& caller, std::string const& text) const
{
    report({"bad-free", std::string{caller.function} + " of " + text, {nullptr, 0}, caller.code});
    return std::nullopt;
}

std::optional<Allocation> DeviceMemory::leave(void* memory, bool host, Caller const& caller)
{
    auto const address = reinterpret_cast<uintptr_t>(memory);
    std::unique_lock<std::mutex> lock{mMutex};
    Allocation* const found = findIn(mAllocations, address);
    if (found == nullptr)
    {
        lock.unlock();
        auto const freed = findFreed(address);
        return leaveError(caller, freed ? bytesAt(*freed) + ", which are freed already"
                                        : "an address that no CUDA function has given");
    }
    Allocation const copy = *found;
    bool const ours = copy.pages != 0;
    if (!ours || copy.begin != address || copy.leaving || (copy.origin == Origin::kPinned) != host)
    {
        lock.unlock();
        if (copy.leaving)
        {
            return leaveError(caller, bytesAt(copy) + ", which are freed already");
        }
        if (!ours)
        {
            return leaveError(caller, bytesAt(copy) + ", which are not the caller's to free");
        }
        return leaveError(caller, copy.begin != address ? "an address inside or beside " + bytesAt(copy)
                                                        : bytesAt(copy) + ", which another function frees");
    }
    found->leaving = true;
    return copy;
}

void DeviceMemory::release(uintptr_t begin)
{
    std::unique_lock<std::mutex> lock{mMutex};
    Allocation* const found = findIn(mAllocations, begin);
    if (found == nullptr)
    {
        return;
    }
    checkGap(*found);
    Allocation const gone = *found;
    mAllocations.erase(key(gone));
    mBytes -= gone.size;
    // ASan sees an access before it happens, and says more of it than of an inaccessible page.
    asan::close(at(inner(gone)), innerSize(gone));
    bool const kept = gone.pagesSize <= kREMEMBERED_SIZE &&
                      (asan::present() || mprotect(at(gone.pages), gone.pagesSize, PROT_NONE) == 0);
    if (kept)
    {
        madvise(at(gone.pages), gone.pagesSize, MADV_DONTNEED);
        mFreed.push_back(gone);
    }
    else
    {
        unmap(gone);
    }
    if (mFreed.size() > kREMEMBERED)
    {
        unmap(mFreed.front());
        mFreed.pop_front();
    }
    lock.unlock();
    gaveBack(at(gone.begin));
    if (gObserver.gone != nullptr)
    {
        gObserver.gone(at(gone.begin), gone.size);
    }
}

void DeviceMemory::reset()
{
    std::vector<uintptr_t> own;
    {
        std::lock_guard<std::mutex> const lock{mMutex};
        for (auto next = mAllocations.begin(); next != mAllocations.end();)
        {
            Allocation const& each = next->second;
            if (each.pages != 0)
            {
                own.push_back(each.begin);
            }
            bool const forgotten = each.pages == 0 && each.origin != Origin::kHarness;
            next = forgotten ? mAllocations.erase(next) : std::next(next);
        }
    }
    std::for_each(own.begin(), own.end(), [this](uintptr_t begin) { release(begin); });
}

bool DeviceMemory::add(Allocation const& allocation)
{
    bool const harness = allocation.origin == Origin::kHarness;
    {
        std::lock_guard<std::mutex> const lock{mMutex};
        auto const next = mAllocations.lower_bound(allocation.begin + allocation.size);
        if (next != mAllocations.begin() && endOf(std::prev(next)->second) > allocation.begin)
        {
            return false;
        }
        mAllocations.emplace(key(allocation), allocation);
        mHarness += harness ? 1 : 0;
    }
    if (gObserver.made != nullptr && harness && allocation.size > 0)
    {
        gObserver.made(at(allocation.begin), allocation.size, allocation.flags != 0);
    }
    return true;
}

bool DeviceMemory::remove(uintptr_t begin, Origin origin)
{
    size_t size = 0;
    {
        std::lock_guard<std::mutex> const lock{mMutex};
        auto const found = mAllocations.find(begin);
        if (found == mAllocations.end() || found->second.origin != origin)
        {
            return false;
        }
        size = found->second.size;
        if (origin == Origin::kRegistered)
        {
            gaveBack(at(begin));
        }
        mHarness -= origin == Origin::kHarness ? 1 : 0;
        mAllocations.erase(found);
    }
    if (gObserver.gone != nullptr && origin == Origin::kHarness && size > 0)
    {
        gObserver.gone(at(begin), size);
    }
    return true;
}

std::optional<Allocation> DeviceMemory::find(uintptr_t address) const
{
    std::lock_guard<std::mutex> const lock{mMutex};
    Allocation const* const found = findIn(mAllocations, address);
    return found == nullptr ? std::nullopt : std::optional<Allocation>{*found};
}

std::optional<Allocation> DeviceMemory::findBeside(uintptr_t address) const
{
    std::lock_guard<std::mutex> const lock{mMutex};
    // A page on either side is the allocation's own; what lies further away may be anybody's, as a thread's stack.
    uintptr_t const page = pageSize();
    for (auto const& [start, each] : mAllocations)
    {
        uintptr_t const first = each.begin / page * page - page;
        uintptr_t const last = roundUp(each.begin + each.size, page) + page;
        if (each.origin == Origin::kHarness && address >= first && address < last)
        {
            return each;
        }
    }
    return std::nullopt;
}

std::optional<Allocation> DeviceMemory::findInPages(uintptr_t address) const
{
    std::lock_guard<std::mutex> const lock{mMutex};
    for (auto const& [start, each] : mAllocations)
    {
        auto const [first, last] = pagesOf(each);
        if (each.origin == Origin::kHarness && address >= first && address < last)
        {
            return each;
        }
    }
    return std::nullopt;
}

bool DeviceMemory::begins(uintptr_t address) const
{
    std::lock_guard<std::mutex> const lock{mMutex};
    return mAllocations.count(address) != 0;
}

std::optional<Allocation> DeviceMemory::findFreed(uintptr_t address) const
{
    std::lock_guard<std::mutex> const lock{mMutex};
    auto const found = std::find_if(mFreed.rbegin(), mFreed.rend(), [address](Allocation const& each)
                                    { return key(each) <= address && address < endOf(each); });
    return found == mFreed.rend() ? std::nullopt : std::optional<Allocation>{*found};
}

bool DeviceMemory::deviceMemoryIsKnown() const
{
    return mHarness > 0;
}

size_t DeviceMemory::count() const
{
    std::lock_guard<std::mutex> const lock{mMutex};
    return static_cast<size_t>(std::count_if(mAllocations.begin(), mAllocations.end(),
                                             [](auto const& each) { return each.second.pages != 0; }));
}

size_t DeviceMemory::bytes() const
{
    std::lock_guard<std::mutex> const lock{mMutex};
    return mBytes;
}

void DeviceMemory::checkGap(Allocation& allocation)
{
    // ASan sees each access to a gap itself.
    if (asan::present() || allocation.pages == 0 || allocation.damaged)
    {
        return;
    }
    auto const* const data = static_cast<unsigned char const*>(at(allocation.begin));
    auto const before = std::min<size_t>(allocation.begin - inner(allocation), kGAP_BEFORE);
    auto const behind = inner(allocation) + innerSize(allocation) - allocation.begin - allocation.size;
    auto const whole = [](unsigned char byte) { return byte == kGAP_BYTE; };
    unsigned char const* const end = data + allocation.size;
    auto const* const wrong = std::find_if_not(end, end + behind, whole);
    auto const* const wrongBefore = std::find_if_not(data - before, data, whole);
    if (wrong == end + behind && wrongBefore == data)
    {
        return;
    }
    allocation.damaged = true;
    auto const offset = wrong != end + behind ? wrong - data : wrongBefore - data;
    report({"invalid-address",
            "something has written beside " + bytesAt(allocation) + ", at byte " + std::to_string(offset)});
}

void DeviceMemory::checkGaps()
{
    std::lock_guard<std::mutex> const lock{mMutex};
    if (mAllocations.size() <= kGAPS_WATCHED)
    {
        for (auto& each : mAllocations)
        {
            checkGap(each.second);
        }
    }
}

int DeviceMemory::takeOff(Flight const& flight)
{
    std::lock_guard<std::mutex> const lock{mMutex};
    mFlights.emplace(++mLastFlight, flight);
    return mLastFlight;
}

void DeviceMemory::land(int number)
{
    std::lock_guard<std::mutex> const lock{mMutex};
    mFlights.erase(number);
}

std::vector<Closing> DeviceMemory::closings() const
{
    std::lock_guard<std::mutex> const lock{mMutex};
    std::vector<Closing> all;
    for (auto const& [start, each] : mAllocations)
    {
        if (each.origin == Origin::kDevice)
        {
            all.push_back({inner(each), innerSize(each), each.begin, each.size, false, "device memory"});
        }
        else if (each.origin == Origin::kHarness)
        {
            auto const [first, last] = pagesOf(each);
            if (first < last)
            {
                all.push_back({first, last - first, each.begin, each.size, false, "device memory"});
            }
        }
    }
    for (auto const& [number, flight] : mFlights)
    {
        Allocation const* const found = findIn(mAllocations, flight.begin);
        if (found != nullptr && found->pages != 0)
        {
            char const* const what = flight.written ? "memory that a copy on its way is about to write"
                                                    : "memory that a copy on its way is about to read";
            all.push_back({inner(*found), innerSize(*found), flight.begin, flight.size, !flight.written, what});
        }
    }
    return all;
}

void observeMemory(MemoryObserver const& observer) noexcept
{
    gObserver = observer;
}

void observeCopy(void* to, void const* from, size_t size, bool toHost, Caller const& caller)
{
    if (gObserver.copied != nullptr)
    {
        gObserver.copied(to, from, size, toHost, caller);
    }
}

void observeFill(void* memory, size_t size)
{
    if (gObserver.filled != nullptr)
    {
        gObserver.filled(memory, size);
    }
}

size_t totalMemory() noexcept
{
    return static_cast<size_t>(sysconf(_SC_PHYS_PAGES)) * pageSize();
}

void checkGaps()
{
    gMemory.checkGaps();
}

std::string describeAddress(void const* address)
{
    auto const number = reinterpret_cast<uintptr_t>(address);
    auto found = gMemory.find(number);
    bool const freed = !found;
    if (freed)
    {
        found = gMemory.findFreed(number);
    }
    bool const outside = !found;
    if (outside)
    {
        found = gMemory.findBeside(number);
    }
    if (!found)
    {
        return {};
    }
    std::string const whole = bytesAt(*found) + ((freed && !outside) || found->leaving ? ", which are freed" : "");
    if (number < found->begin)
    {
        return std::to_string(found->begin - number) + " bytes before " + whole;
    }
    size_t const offset = number - found->begin;
    return offset < found->size ? "byte " + std::to_string(offset) + " of " + whole
                                : std::to_string(offset - found->size) + " bytes behind " + whole;
}

} // namespace v2

} // namespace pluginkit_cpu
