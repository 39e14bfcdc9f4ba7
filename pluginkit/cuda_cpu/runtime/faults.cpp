#include "faults.h"

#include "closed_pointers.h"
#include "findings.h"
#include "settings.h"
#include "state.h"
#include "worker.h"

#include <cerrno>
#include <cstdlib>

#include <link.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

namespace pluginkit_cpu
{

inline namespace v2
{

namespace
{

constexpr long kPERIOD = 10'000'000; // nanoseconds

//! The library's own code, where a thread of a kernel may be stopped: no lock of the C library is held there.
struct Range
{
    uintptr_t begin{0};
    uintptr_t end{0};
};

Range gCode;

int findCode(dl_phdr_info* info, size_t /*size*/, void* /*data*/)
{
    auto const here = reinterpret_cast<uintptr_t>(&findCode);
    for (int i = 0; i < info->dlpi_phnum; ++i)
    {
        auto const& part = info->dlpi_phdr[i];
        uintptr_t const begin = info->dlpi_addr + part.p_vaddr;
        if (part.p_type == PT_LOAD && (part.p_flags & PF_X) != 0 && here >= begin && here < begin + part.p_memsz)
        {
            gCode = {begin, begin + part.p_memsz};
            return 1;
        }
    }
    return 0;
}

uintptr_t codeOf(void const* context) noexcept
{
    auto const& registers = static_cast<ucontext_t const*>(context)->uc_mcontext;
#if defined(__x86_64__)
    return static_cast<uintptr_t>(registers.gregs[REG_RIP]);
#else
    return registers.pc;
#endif
}

//! Makes the interrupted thread go on in `entry`, on an empty stack.
void redirect(void* context, void (*entry)(), char* top) noexcept
{
    auto& registers = static_cast<ucontext_t*>(context)->uc_mcontext;
    uintptr_t const stack = reinterpret_cast<uintptr_t>(top) / 16 * 16 - 512;
#if defined(__x86_64__)
    registers.gregs[REG_RIP] = reinterpret_cast<greg_t>(entry);
    registers.gregs[REG_RSP] = static_cast<greg_t>(stack - 8); // as after a call
#else
    registers.pc = reinterpret_cast<uintptr_t>(entry);
    registers.sp = stack;
#endif
}

//! How often the process has become a child: timers and numbers of threads are the parent's.
unsigned gForks{0};
int const gCounts = pthread_atfork(nullptr, nullptr, [] { ++gForks; });

__thread pid_t tThread{0};
__thread unsigned tForks{0};

pid_t thisThread() noexcept
{
    if (tThread == 0 || tForks != gForks)
    {
        tThread = static_cast<pid_t>(syscall(SYS_gettid));
        tForks = gForks;
    }
    return tThread;
}

__thread cudaError_t tError;

void leave()
{
    Worker::current()->abandon(tError);
}

void onFault(int signal, siginfo_t* info, void* context)
{
    Worker* const worker = Worker::current();
    worker->inside = 1;
    // Findings name where a call returns to: one byte further than what is meant.
    auto const* const code = reinterpret_cast<void const*>(codeOf(context) + 1);
    if (signal == SIGFPE)
    {
        report({"undefined", "an integer is divided by zero (or the smallest one by -1).", Place{nullptr, 0}, code});
        tError = cudaErrorLaunchFailure;
    }
    else if (worker->fiber().overflowed(info->si_addr))
    {
        report({"stack-overflow",
                "the thread's stack is full: large local arrays, or a deep recursion (PLUGINKIT_CPU_STACK_KB is " +
                    std::to_string(option("PLUGINKIT_CPU_STACK_KB", 256)) + ").",
                Place{nullptr, 0}, code});
        tError = cudaErrorLaunchFailure;
    }
    else if (std::string const host = describeClosed(reinterpret_cast<uintptr_t>(info->si_addr)); !host.empty())
    {
        report({"host-pointer", "the thread follows " + host, Place{nullptr, 0}, code});
        tError = cudaErrorIllegalAddress;
    }
    else
    {
        char address[32];
        std::snprintf(address, sizeof(address), "%p", info->si_addr);
        std::string const known = describeAddress(info->si_addr);
        report({"invalid-address",
                std::string{"the thread touches "} + address + ", " +
                    (known.empty() ? "which is not memory of the process." : "which is " + known + "."),
                Place{nullptr, 0}, code});
        tError = cudaErrorIllegalAddress;
    }
    redirect(context, leave, worker->fiber().top());
}

bool runsHere()
{
    return Worker::current() != nullptr;
}

bool sent(siginfo_t const* info)
{
    return info->si_code == SI_TIMER && info->si_value.sival_ptr == &Worker::current()->timer();
}

void onTick(void* context)
{
    Worker* const worker = Worker::current();
    int const error = errno;
    worker->timer().again();
    uintptr_t const code = codeOf(context);
    if (code >= gCode.begin && code < gCode.end)
    {
        worker->tick(reinterpret_cast<void const*>(code + 1));
    }
    errno = error;
}

Answers const& answers()
{
    if (gCode.begin == 0)
    {
        dl_iterate_phdr(findCode, nullptr);
    }
    static constexpr Answers kANSWERS{runsHere, sent, onFault, onTick};
    return kANSWERS;
}

} // namespace

Timer::~Timer()
{
    discard();
}

void Timer::start(int64_t time) noexcept
{
    // Set by an earlier launch, and not over now, when there is a handler: it will come.
    if (mThread == thisThread() && mForks == gForks && (time < mDue || arm(kPERIOD)))
    {
        return;
    }
    discard();
    if (make())
    {
        arm(kPERIOD);
    }
}

void Timer::again() noexcept
{
    if (now() >= mDue)
    {
        arm(kPERIOD);
    }
}

void Timer::stop() noexcept
{
    if (mThread != 0)
    {
        arm(0);
    }
}

bool Timer::make() noexcept
{
    sigevent event{};
    event.sigev_notify = SIGEV_THREAD_ID;
    event.sigev_signo = kTIMER_SIGNAL;
    event.sigev_value.sival_ptr = this;
    event._sigev_un._tid = thisThread(); // glibc 2.36 has no other name for it
    bool const made = timer_create(CLOCK_MONOTONIC, &event, &mTimer) == 0;
    mThread = made ? thisThread() : 0;
    mForks = gForks;
    return made;
}

bool Timer::arm(long period) noexcept
{
    mDue = period == 0 ? 0 : now() + period;
    itimerspec const times{{0, 0}, {0, period}};
    return timer_settime(mTimer, 0, &times, nullptr) == 0;
}

void Timer::discard() noexcept
{
    if (mThread != 0 && mForks == gForks)
    {
        timer_delete(mTimer);
    }
    mThread = 0;
}

Faults::Faults(Timer& timer, char* stack, int64_t time) : mHandlers(answers()), mTimer(timer)
{
    stack_t ours{};
    ours.ss_sp = stack;
    ours.ss_size = kSTACK;
    sigaltstack(&ours, &mOldStack);
    mTimer.start(time);
}

Faults::~Faults()
{
    sigaltstack(&mOldStack, nullptr);
    if (Handlers::timersAreHeard())
    {
        mTimer.stop(); // its signals would be taken for others
    }
}

} // namespace v2

} // namespace pluginkit_cpu
