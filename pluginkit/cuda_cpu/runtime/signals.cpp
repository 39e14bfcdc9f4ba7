#include "signals.h"

#include <atomic>
#include <cstring>
#include <new>

#include <elf.h>
#include <link.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

// There where AddressSanitizer is in the process, which has its own handler of faults and reports more.
extern "C" __attribute__((weak)) void __asan_init();

namespace pluginkit_cpu
{

inline namespace v2
{

namespace
{

constexpr int kSIGNALS[] = {kTIMER_SIGNAL, SIGSEGV, SIGBUS, SIGFPE};
constexpr size_t kCOUNT = 4;

using Handler = void (*)(int, siginfo_t*, void*);

//! What is done with a signal, as the system has it (Linux, include/linux/signal_types.h; the same on x86-64 and
//! aarch64). The C library's struct sigaction has four times the bytes: to fill and copy eight of them was a sixth of a
//! small launch.
struct Action
{
    union
    {
        Handler handler;
        void (*simple)(int); //!< Without SA_SIGINFO; or SIG_DFL, SIG_IGN.
    };
    unsigned long flags;
    void (*restorer)(); //!< Where the handler returns to, of the C library.
    uint64_t mask;

    bool isDefault() const noexcept
    {
        return simple == SIG_DFL;
    }

    bool has(int flag) const noexcept
    {
        return (flags & static_cast<unsigned int>(flag)) != 0;
    }

    bool isIgnored() const noexcept
    {
        return simple == SIG_IGN;
    }
};

//! A runtime of the process.
struct Runtime
{
    Answers answers{};
    Handler handler{nullptr};
    std::atomic<Runtime*> next{nullptr};
};

//! What all of them share. It belongs to none, for each may be unloaded. Its layout is that of the note's number.
struct Shared
{
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    unsigned launches{0};        //!< Of all runtimes.
    Runtime* installed{nullptr}; //!< Whose handler the process has; null: its own.
    std::atomic<Runtime*> first{nullptr};
    std::atomic<unsigned> readers{0}; //!< Handlers that go through the runtimes.
    Action own[kCOUNT]{};             //!< The process's.
};

} // namespace

} // namespace v2

} // namespace pluginkit_cpu

//! Where the others find what is shared: the loader lists the notes of all that is loaded, and this one's names the
//! place of the pointer.
extern "C" PLUGINKIT_CPU_HIDDEN void* pluginkit_cpu_v2_signals;
void* pluginkit_cpu_v2_signals = nullptr;

asm(R"(
    .pushsection .note.pluginkit.signals, "a", %note
    .balign 4
    .long 12
    .long 4
    .long 2
    .ascii "pluginkit-s\0"
    .long pluginkit_cpu_v2_signals - .
    .popsection
)");

namespace pluginkit_cpu
{

inline namespace v2
{

namespace
{

constexpr char kOWNER[] = "pluginkit-s";
constexpr unsigned kLAYOUT = 2; // of Shared, Action, Runtime and Answers

Runtime gThis;

Shared* shared() noexcept
{
    return static_cast<Shared*>(__atomic_load_n(&pluginkit_cpu_v2_signals, __ATOMIC_ACQUIRE));
}

//! In `found`, what a runtime of the process shares already. Others neither come nor go meanwhile: the loader's lock.
int findShared(dl_phdr_info* info, size_t /*size*/, void* found)
{
    for (int i = 0; i < info->dlpi_phnum; ++i)
    {
        auto const& part = info->dlpi_phdr[i];
        char const* at = reinterpret_cast<char const*>(info->dlpi_addr + part.p_vaddr);
        char const* const end = at + (part.p_type == PT_NOTE && part.p_align <= 4 ? part.p_memsz : 0);
        while (at + sizeof(ElfW(Nhdr)) + sizeof(kOWNER) < end)
        {
            ElfW(Nhdr) note;
            std::memcpy(&note, at, sizeof(note));
            char const* const name = at + sizeof(note);
            char const* const place = name + (size_t{note.n_namesz} + 3) / 4 * 4;
            at = place + (size_t{note.n_descsz} + 3) / 4 * 4;
            if (note.n_namesz == sizeof(kOWNER) && std::memcmp(name, kOWNER, sizeof(kOWNER)) == 0 &&
                note.n_type == kLAYOUT)
            {
                int32_t offset = 0;
                std::memcpy(&offset, place, sizeof(offset));
                void* const pointer = __atomic_load_n(
                    reinterpret_cast<void* const*>(reinterpret_cast<uintptr_t>(place) + static_cast<intptr_t>(offset)),
                    __ATOMIC_ACQUIRE);
                if (pointer != nullptr)
                {
                    *static_cast<void**>(found) = pointer;
                }
            }
        }
    }
    return 0;
}

//! Calls `function` while no library is loaded or unloaded, nor another runtime does the same.
template <typename Function>
void locked(Function const& function)
{
    dl_iterate_phdr(
        [](dl_phdr_info*, size_t, void* data)
        {
            (*static_cast<Function const*>(data))();
            return 1;
        },
        const_cast<Function*>(&function));
}

class Lock
{
public:
    explicit Lock(Shared& shared) noexcept : mShared(shared)
    {
        pthread_mutex_lock(&shared.mutex);
    }

    Lock(Lock const&) = delete;
    Lock& operator=(Lock const&) = delete;

    ~Lock()
    {
        pthread_mutex_unlock(&mShared.mutex);
    }

private:
    Shared& mShared;
};

size_t indexOf(int signal) noexcept
{
    size_t i = 0;
    while (i + 1 < kCOUNT && kSIGNALS[i] != signal)
    {
        ++i;
    }
    return i;
}

//! Sets what is done with a signal; null leaves it. What was before, in `before` if that isn't null.
void exchange(int signal, Action const* action, Action* before) noexcept
{
    syscall(SYS_rt_sigaction, signal, action, before, sizeof(Action::mask));
}

//! Has `handler` called for a signal; what was done with it before, in `before` if that isn't null. With the lock.
void exchange(int signal, Handler handler, int flags, Action* before) noexcept
{
    // What the C library adds to an action, the first that is set through it shows.
    static Action theirs{};
    if (theirs.handler == handler)
    {
        Action const action{{handler}, theirs.flags | static_cast<unsigned int>(flags), theirs.restorer, 0};
        exchange(signal, &action, before);
        return;
    }
    struct sigaction action{};
    struct sigaction was{};
    sigemptyset(&action.sa_mask);
    action.sa_sigaction = handler;
    action.sa_flags = flags;
    sigaction(signal, &action, &was);
    exchange(signal, nullptr, &theirs); // another thread's, if one has set its own since
    theirs.flags &= ~static_cast<unsigned long>(static_cast<unsigned int>(flags));
    if (before != nullptr)
    {
        *before = {{was.sa_sigaction}, static_cast<unsigned int>(was.sa_flags), was.sa_restorer, 0};
        std::memcpy(&before->mask, &was.sa_mask, sizeof(before->mask));
    }
}

//! As if nobody had handled it: a fault comes again when the instruction is tried again, a signal that was sent is sent
//! again.
void giveUp(int signal, siginfo_t const* info) noexcept
{
    struct sigaction action{};
    sigemptyset(&action.sa_mask);
    action.sa_handler = SIG_DFL;
    sigaction(signal, &action, nullptr);
    if (info->si_code <= 0)
    {
        pthread_kill(pthread_self(), signal);
    }
}

//! To the process's own handler.
void passOn(int signal, siginfo_t* info, void* context)
{
    struct Passed
    {
        siginfo_t const* info;
        void const* frame;
    };
    // A handler that came after ours, and before an earlier launch of ours, may pass it on to us. Ours is then called
    // for the same signal further up the stack; a handler that has left by longjmp isn't below.
    static __thread Passed tPassed;
    bool const faulted = signal != kTIMER_SIGNAL;
    void const* const frame = __builtin_frame_address(0);
    if (tPassed.info == info && frame < tPassed.frame)
    {
        tPassed = {};
        if (faulted)
        {
            giveUp(signal, info);
        }
        return;
    }
    Action& own = shared()->own[indexOf(signal)];
    Action const action = own;
    if (action.isDefault() || action.isIgnored())
    {
        // What the system does with a fault is the same for both.
        if (faulted && (action.isDefault() || info->si_code > 0))
        {
            giveUp(signal, info);
        }
        return;
    }
    if (action.has(SA_RESETHAND))
    {
        own.simple = SIG_DFL;
    }
    sigset_t blocked;
    sigemptyset(&blocked);
    std::memcpy(&blocked, &action.mask, sizeof(action.mask));
    if (!action.has(SA_NODEFER))
    {
        sigaddset(&blocked, signal);
    }
    sigset_t before;
    pthread_sigmask(SIG_BLOCK, &blocked, &before);
    tPassed = {info, frame};
    if (action.has(SA_SIGINFO))
    {
        action.handler(signal, info, context);
    }
    else
    {
        action.simple(signal);
    }
    tPassed = {};
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void onSignal(int signal, siginfo_t* info, void* context)
{
    Shared& all = *shared();
    all.readers.fetch_add(1);
    Answers const* whose = nullptr;
    for (Runtime const* each = all.first; each != nullptr && whose == nullptr; each = each->next)
    {
        whose = each->answers.runsHere() ? &each->answers : nullptr;
    }
    all.readers.fetch_sub(1); // what runs a kernel isn't unloaded
    if (signal != kTIMER_SIGNAL && whose != nullptr)
    {
        whose->fault(signal, info, context);
        return;
    }
    if (whose == nullptr || !whose->sent(info))
    {
        passOn(signal, info, context);
    }
    if (whose != nullptr)
    {
        whose->tick(context);
    }
}

bool handles(int signal) noexcept
{
    return signal == kTIMER_SIGNAL || __asan_init == nullptr;
}

void install(Shared& all, Runtime& runtime, bool first) noexcept
{
    for (size_t i = 0; i < kCOUNT; ++i)
    {
        // A fault's on a stack of its own: that a fiber's is full may be the fault. The timer's on the thread's own,
        // and not blocked while it runs: it may leave for another thread, and be there again.
        bool const timer = kSIGNALS[i] == kTIMER_SIGNAL;
        int const flags = SA_SIGINFO | SA_NODEFER | (timer ? SA_RESTART : SA_ONSTACK);
        if (handles(kSIGNALS[i]))
        {
            exchange(kSIGNALS[i], runtime.handler, flags, first ? &all.own[i] : nullptr);
        }
    }
    all.installed = &runtime;
}

void uninstall(Shared& all) noexcept
{
    for (size_t i = 0; i < kCOUNT; ++i)
    {
        if (!handles(kSIGNALS[i]))
        {
            continue;
        }
        Action now{};
        exchange(kSIGNALS[i], &all.own[i], &now);
        if (now.handler != all.installed->handler)
        {
            exchange(kSIGNALS[i], &now, nullptr); // the process has set one of its own since
        }
    }
    all.installed = nullptr;
}

//! In a child of a process's fork, which has none of its other threads: their launches, and what they had locked.
void afterFork()
{
    Shared* const all = shared();
    if (all == nullptr)
    {
        return;
    }
    all->mutex = PTHREAD_MUTEX_INITIALIZER;
    all->readers = 0;
    all->launches = 0;
    if (all->installed != nullptr)
    {
        uninstall(*all);
    }
}

//! This library's part in it, from its first launch until it is unloaded.
class Member
{
public:
    Member()
    {
        void* found = nullptr;
        locked(
            [&found]
            {
                dl_iterate_phdr(findShared, &found);
                if (found == nullptr)
                {
                    void* const memory =
                        mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
                    found = memory == MAP_FAILED ? nullptr : new (memory) Shared;
                }
                __atomic_store_n(&pluginkit_cpu_v2_signals, found, __ATOMIC_RELEASE);
            });
        if (found == nullptr)
        {
            throw std::bad_alloc{};
        }
        Shared& all = *shared();
        Lock const lock{all};
        for (size_t i = 0; all.launches == 0 && i < kCOUNT; ++i)
        {
            exchange(kSIGNALS[i], nullptr, &all.own[i]); // for a signal that comes while ours are installed
        }
        gThis.handler = onSignal;
        gThis.next = all.first.load();
        all.first = &gThis;
        pthread_atfork(nullptr, nullptr, afterFork); // until the library is unloaded
    }

    Member(Member const&) = delete;
    Member& operator=(Member const&) = delete;

    ~Member()
    {
        Shared& all = *shared();
        Lock const lock{all};
        std::atomic<Runtime*>* at = &all.first;
        while (at->load() != &gThis)
        {
            at = &at->load()->next;
        }
        at->store(gThis.next);
        if (all.installed == &gThis && all.first != nullptr)
        {
            install(all, *all.first, false);
        }
        while (all.readers != 0)
        {
            sched_yield();
        }
    }
};

} // namespace

Handlers::Handlers(Answers const& answers)
{
    static Member const member = [&answers]
    {
        gThis.answers = answers;
        return Member{};
    }();
    Shared& all = *shared();
    Lock const lock{all};
    if (all.launches++ == 0)
    {
        install(all, gThis, true);
    }
}

Handlers::~Handlers()
{
    Shared& all = *shared();
    Lock const lock{all};
    if (--all.launches == 0)
    {
        uninstall(all);
    }
}

bool Handlers::timersAreHeard() noexcept
{
    Action const& own = shared()->own[0];
    return !own.isDefault() && !own.isIgnored();
}

} // namespace v2

} // namespace pluginkit_cpu
