#include "paged_buffer.h"

#include "closed.h"

#include <csignal>
#include <map>
#include <mutex>
#include <new>

#include <sys/mman.h>
#include <unistd.h>

namespace pluginkit
{

namespace
{

//! The buffers of this process, by their first page. The handler takes the lock in the thread whose access has failed,
//! which holds it nowhere: nothing here touches a closed page.
std::mutex gMutex;
std::map<std::uintptr_t, PagedBuffer*> gBuffers;
struct sigaction gBefore{};

std::size_t pageSize() noexcept
{
    static std::size_t const size = static_cast<std::size_t>(sysconf(_SC_PAGE_SIZE));
    return size;
}

std::size_t roundUp(std::size_t size, std::size_t unit) noexcept
{
    return (size + unit - 1) / unit * unit;
}

void handle(int number, siginfo_t* info, void* context)
{
    bool const ofAccess = info->si_code > 0; // else somebody has sent it, as raise() does, and there is no address
    if (ofAccess)
    {
        auto const address = reinterpret_cast<std::uintptr_t>(info->si_addr);
        std::lock_guard<std::mutex> const lock{gMutex};
        auto const next = gBuffers.upper_bound(address);
        if (next != gBuffers.begin() && std::prev(next)->second->open(address))
        {
            return;
        }
    }
    noteBeyond(info, context);
    sigaction(number, &gBefore, nullptr); // as if we were not here: the access happens again
    if (!ofAccess)
    {
        std::raise(number);
    }
}

void install()
{
    struct sigaction action{};
    action.sa_sigaction = handle;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
    sigemptyset(&action.sa_mask);
    sigaction(SIGSEGV, &action, &gBefore);
}

} // namespace

PagedBuffer::PagedBuffer(std::size_t size, bool atStart, guard::Pattern const& around) : mSize{size}, mAround{around}
{
    std::size_t const page = pageSize();
    std::size_t const used = roundUp(size, kTENSOR_ALIGNMENT);
    std::size_t const room = roundUp(used, page);
    if (room < size)
    {
        throw std::bad_alloc{};
    }
    mPages = room + 2 * page;
    int const access = asan::present() ? PROT_READ | PROT_WRITE : PROT_NONE;
    void* const pages = mmap(nullptr, mPages, access, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED)
    {
        throw std::bad_alloc{};
    }
    mFirst = static_cast<std::uint8_t*>(pages);
    mBegin = asan::present() ? mFirst : mFirst + page;
    mEnd = asan::present() ? mFirst + mPages : mBegin + room;
    mData = mFirst + page + (atStart ? 0 : room - used);
    if (room > 0 && mprotect(mFirst + page, room, PROT_READ | PROT_WRITE) != 0)
    {
        munmap(pages, mPages);
        throw std::bad_alloc{};
    }
    guard::fillBefore(mBegin, mData, mAround);
    guard::fillBehind(mData + size, mEnd, mAround);
    asan::close(mBegin, static_cast<std::size_t>(mData - mBegin));
    asan::close(mData + size, static_cast<std::size_t>(mEnd - mData) - size);
    if (!asan::present())
    {
        std::lock_guard<std::mutex> const lock{gMutex};
        static bool const installed = (install(), true);
        static_cast<void>(installed);
        gBuffers.emplace(reinterpret_cast<std::uintptr_t>(mFirst), this);
    }
}

PagedBuffer::~PagedBuffer()
{
    if (!asan::present())
    {
        std::lock_guard<std::mutex> const lock{gMutex};
        gBuffers.erase(reinterpret_cast<std::uintptr_t>(mFirst));
    }
    asan::open(mFirst, mPages); // for whoever gets these addresses next
    munmap(mFirst, mPages);
}

std::optional<Damage> PagedBuffer::damage() const
{
    return guard::damage(mBegin, mData, mSize, mEnd, mAround);
}

std::optional<std::ptrdiff_t> PagedBuffer::touched() const
{
    std::uintptr_t const address = mTouched;
    if (address == 0)
    {
        return std::nullopt;
    }
    return static_cast<std::ptrdiff_t>(address - reinterpret_cast<std::uintptr_t>(mData));
}

bool PagedBuffer::open(std::uintptr_t address) noexcept
{
    auto* const at = reinterpret_cast<std::uint8_t*>(address);
    std::size_t const page = pageSize();
    std::uint8_t* const behind = mFirst + mPages - page;
    bool const isBefore = at >= mFirst && at < mFirst + page;
    if (!isBefore && (at < behind || at >= behind + page))
    {
        return false;
    }
    if (mprotect(isBefore ? mFirst : behind, page, PROT_READ | PROT_WRITE) != 0)
    {
        return false;
    }
    // Another thread may have opened it in the meantime: the access is tried again all the same.
    if (isBefore && mBegin != mFirst)
    {
        guard::fillBefore(mFirst, mBegin, mAround, static_cast<std::size_t>(mData - mBegin));
        mBegin = mFirst;
    }
    else if (!isBefore && mEnd != mFirst + mPages)
    {
        guard::fillBehind(mEnd, mFirst + mPages, mAround, static_cast<std::size_t>(mEnd - mData) - mSize);
        mEnd = mFirst + mPages;
    }
    std::uintptr_t none = 0;
    mTouched.compare_exchange_strong(none, address);
    return true;
}

} // namespace pluginkit
