//! Kernels that go on when they are told to and then fault; and a process's own handlers of signals.

#include <cuda_runtime.h>

#include <csetjmp>
#include <csignal>
#include <cstdint>

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace
{

struct Word
{
    int volatile begun;
    int volatile goOn;
};

__device__ int deeper(int volatile* some, int n)
{
    int volatile local[256];
    local[n % 256] = n;
    return n == 0 ? some[0] : deeper(some, n - 1) + local[n % 256];
}

__global__ void hold(Word* word, int how)
{
    word->begun = 1;
    while (word->goOn == 0)
    {
    }
    int volatile zero = 0;
    uintptr_t volatile nowhere = 8;
    switch (how)
    {
    case SIGSEGV:
        *reinterpret_cast<int volatile*>(nowhere) = 1;
        break;
    case SIGFPE:
        word->begun = 7 / zero;
        break;
    case SIGSTKFLT:
        word->begun = deeper(&word->begun, 1 << 20);
        break;
    default:
        break;
    }
}

sigjmp_buf gBack;
int volatile gBlocked;
struct sigaction gBefore;

void leaves(int /*signal*/)
{
    siglongjmp(gBack, 1);
}

void passesOn(int signal, siginfo_t* info, void* context)
{
    gBefore.sa_sigaction(signal, info, context);
}

void notesMask(int /*signal*/)
{
    sigset_t now;
    pthread_sigmask(SIG_BLOCK, nullptr, &now);
    gBlocked = sigismember(&now, SIGUSR1) | sigismember(&now, SIGRTMAX) << 1 | sigismember(&now, SIGUSR2) << 2 |
               sigismember(&now, SIGURG) << 3;
}

} // namespace

//! A word of pinned memory: whether a kernel has begun, whether it may go on.
EXPORT int* newWord()
{
    void* memory = nullptr;
    cudaMallocHost(&memory, sizeof(Word));
    auto* const word = static_cast<Word*>(memory);
    word->begun = 0;
    word->goOn = 0;
    return static_cast<int*>(memory);
}

//! The error of a kernel that ends like this signal (SIGSTKFLT: its stack is full), or well.
EXPORT int runHold(int* word, int how)
{
    hold<<<1, 1>>>(reinterpret_cast<Word*>(word), how);
    int const error = cudaDeviceSynchronize();
    cudaDeviceReset();
    return error;
}

//! As a process that looks whether addresses are readable.
EXPORT void handleFaults()
{
    struct sigaction action{};
    action.sa_handler = leaves;
    sigaction(SIGSEGV, &action, nullptr);
}

//! As one that passes on what isn't its own.
EXPORT void chain(int signal)
{
    struct sigaction action{};
    action.sa_sigaction = passesOn;
    action.sa_flags = SA_SIGINFO | SA_NODEFER;
    sigaction(signal, &action, &gBefore);
}

//! As one that has a handler of SIGURG during which the first and the last of signals are blocked.
EXPORT void handleWithMask()
{
    struct sigaction action{};
    action.sa_handler = notesMask;
    action.sa_flags = SA_ONSTACK | SA_NOCLDWAIT;
    sigaddset(&action.sa_mask, SIGUSR1);
    sigaddset(&action.sa_mask, SIGRTMAX);
    sigaction(SIGURG, &action, nullptr);
}

//! Whether it is as that set it.
EXPORT int hasMask()
{
    struct sigaction now{};
    sigaction(SIGURG, nullptr, &now);
    bool const blocks = sigismember(&now.sa_mask, SIGUSR1) == 1 && sigismember(&now.sa_mask, SIGRTMAX) == 1 &&
                        sigismember(&now.sa_mask, SIGUSR2) == 0;
    int const flags = SA_SIGINFO | SA_ONSTACK | SA_NOCLDWAIT | SA_NODEFER | SA_RESTART;
    return blocks && now.sa_handler == notesMask && (now.sa_flags & flags) == (SA_ONSTACK | SA_NOCLDWAIT) ? 1 : 0;
}

//! What was blocked in it when it was called last: SIGUSR1, SIGRTMAX, SIGUSR2, SIGURG, a bit each.
EXPORT int blocked()
{
    return gBlocked;
}

EXPORT int isReadable(int const volatile* address)
{
    if (sigsetjmp(gBack, 1) != 0)
    {
        return 0;
    }
    (void)*address;
    return 1;
}

//! Whether this thread's stack for signals is the one that `giveStack` gave.
EXPORT int hasStack(char* memory)
{
    stack_t stack{};
    sigaltstack(nullptr, &stack);
    return stack.ss_sp == memory && (stack.ss_flags & SS_DISABLE) == 0 ? 1 : 0;
}

EXPORT char* giveStack()
{
    static char memory[65536];
    stack_t stack{};
    stack.ss_sp = memory;
    stack.ss_size = sizeof(memory);
    sigaltstack(&stack, nullptr);
    return memory;
}
