//! Finds host code that touches device memory during enqueue(): its pages are closed, except while work runs.
//!
//! An access to a closed page comes here as a signal. It is noted, the page is opened, and the access goes on; what was
//! noted is reported when enqueue() ends, because a signal handler can do hardly anything.

#include "findings.h"
#include "memory.h"
#include "streams.h"

#include <atomic>
#include <cstring>

#include <dlfcn.h>
#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>

namespace pluginkit_cpu
{

inline namespace v2
{

namespace
{

constexpr size_t kCAUGHT = 32;
constexpr size_t kSTACK_WORDS = 256;

struct Caught
{
    uintptr_t address;
    uintptr_t code;
    char const* what;
};

struct Guard
{
    std::mutex mutex; // for opening and closing; the handler can't take it, and finds both arrays at rest
    std::vector<Closing> closed;
    std::vector<char> open; // those of `closed` that an access has opened
    int opened{0};          // pieces of work that run now
    bool active{false};
    struct sigaction before[2]{};
    Caught caught[kCAUGHT]{};
    std::atomic<size_t> caughtCount{0};
};

__attribute__((init_priority(101))) Guard gGuard;

constexpr int kGUARDED[] = {SIGSEGV, SIGBUS};

bool ours(uintptr_t code) noexcept
{
    Dl_info here{};
    Dl_info there{};
    return dladdr(reinterpret_cast<void const*>(&guardAccess), &here) != 0 &&
           dladdr(reinterpret_cast<void const*>(code), &there) != 0 && here.dli_fbase == there.dli_fbase;
}

uintptr_t codeOf(ucontext_t const& context) noexcept
{
#if defined(__x86_64__)
    return static_cast<uintptr_t>(context.uc_mcontext.gregs[REG_RIP]);
#elif defined(__aarch64__)
    return static_cast<uintptr_t>(context.uc_mcontext.pc);
#else
    return 0;
#endif
}

uintptr_t stackOf(ucontext_t const& context) noexcept
{
#if defined(__x86_64__)
    return static_cast<uintptr_t>(context.uc_mcontext.gregs[REG_RSP]);
#elif defined(__aarch64__)
    return static_cast<uintptr_t>(context.uc_mcontext.sp);
#else
    return 0;
#endif
}

//! Behind the code at fault, as a return address is; where that is memcpy or the like, what looks like the return
//! address into our library.
uintptr_t culprit(ucontext_t const& context) noexcept
{
    uintptr_t const code = codeOf(context);
    if (ours(code))
    {
        return code + 1;
    }
    auto const* const stack = reinterpret_cast<uintptr_t const*>(stackOf(context));
    for (size_t i = 0; stack != nullptr && i < kSTACK_WORDS; ++i)
    {
        if (ours(stack[i]))
        {
            return stack[i];
        }
    }
    return code + 1;
}

//! Notes the access and opens the page, if it is one of ours.
bool caughtOne(uintptr_t address, ucontext_t const& context) noexcept
{
    bool found = false;
    char const* what = nullptr;
    for (size_t i = 0; i < gGuard.closed.size(); ++i)
    {
        Closing const& closing = gGuard.closed[i];
        if (address < closing.pages || address >= closing.pages + closing.pagesSize || gGuard.open[i] != 0)
        {
            continue;
        }
        found = true;
        gGuard.open[i] = 1;
        mprotect(reinterpret_cast<void*>(closing.pages), closing.pagesSize, PROT_READ | PROT_WRITE);
        bool const inside = address >= closing.begin && address < closing.begin + closing.size;
        what = inside ? closing.what : what;
    }
    size_t const number = gGuard.caughtCount;
    if (what != nullptr && number < kCAUGHT)
    {
        gGuard.caught[number] = {address, culprit(context), what};
        gGuard.caughtCount = number + 1;
    }
    return found;
}

void handle(int number, siginfo_t* info, void* context)
{
    if (caughtOne(reinterpret_cast<uintptr_t>(info->si_addr), *static_cast<ucontext_t*>(context)))
    {
        return;
    }
    // Not our business: as if we were not here.
    struct sigaction const& before = gGuard.before[number == SIGSEGV ? 0 : 1];
    if ((before.sa_flags & SA_SIGINFO) != 0 && before.sa_sigaction != nullptr)
    {
        before.sa_sigaction(number, info, context);
    }
    else if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN)
    {
        before.sa_handler(number);
    }
    else
    {
        sigaction(number, &before, nullptr); // and the access happens again
    }
}

void protect(Closing const& closing, int how) noexcept
{
    mprotect(reinterpret_cast<void*>(closing.pages), closing.pagesSize, how);
}

void open()
{
    for (Closing const& closing : gGuard.closed)
    {
        protect(closing, PROT_READ | PROT_WRITE);
    }
    gGuard.closed.clear();
    gGuard.open.clear();
}

void close()
{
    gGuard.closed = gMemory.closings();
    gGuard.open.assign(gGuard.closed.size(), 0);
    for (Closing const& closing : gGuard.closed)
    {
        protect(closing, closing.readable ? PROT_READ : PROT_NONE);
    }
    // A page that one copy reads and another writes is closed for both.
    for (Closing const& closing : gGuard.closed)
    {
        if (!closing.readable)
        {
            protect(closing, PROT_NONE);
        }
    }
}

} // namespace

void guardAccess()
{
    std::lock_guard<std::mutex> const lock{gGuard.mutex};
    if (gGuard.active)
    {
        return;
    }
    gGuard.active = true;
    gGuard.caughtCount = 0;
    struct sigaction action{};
    action.sa_sigaction = handle;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < std::size(kGUARDED); ++i)
    {
        sigaction(kGUARDED[i], &action, &gGuard.before[i]);
    }
    close();
}

void updateGuard()
{
    std::lock_guard<std::mutex> const lock{gGuard.mutex};
    if (gGuard.active && gGuard.opened == 0)
    {
        open();
        close();
    }
}

void endGuard()
{
    std::unique_lock<std::mutex> lock{gGuard.mutex};
    if (!gGuard.active)
    {
        return;
    }
    open();
    for (size_t i = 0; i < std::size(kGUARDED); ++i)
    {
        sigaction(kGUARDED[i], &gGuard.before[i], nullptr);
    }
    gGuard.active = false;
    lock.unlock();
    for (size_t i = 0; i < gGuard.caughtCount; ++i)
    {
        Caught const& caught = gGuard.caught[i];
        report({"host-access",
                std::string{"host code uses "} + caught.what +
                    " in enqueue(): " + describeAddress(reinterpret_cast<void const*>(caught.address)),
                {nullptr, 0},
                reinterpret_cast<void const*>(caught.code)});
    }
}

Opened::Opened()
{
    std::lock_guard<std::mutex> const lock{gGuard.mutex};
    if (gGuard.active && gGuard.opened == 0)
    {
        open();
    }
    ++gGuard.opened;
}

Opened::~Opened()
{
    std::lock_guard<std::mutex> const lock{gGuard.mutex};
    --gGuard.opened;
    if (gGuard.active && gGuard.opened == 0)
    {
        close();
    }
}

} // namespace v2

} // namespace pluginkit_cpu
