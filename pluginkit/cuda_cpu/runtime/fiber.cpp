#include "fiber.h"

#include <cstring>
#include <new>

#include <sys/mman.h>

#if defined(__aarch64__)
extern "C" PLUGINKIT_CPU_HIDDEN void pluginkit_cpu_v2_switch(void** from, void* to);
asm(R"(
    .text
    .hidden pluginkit_cpu_v2_switch
    .globl pluginkit_cpu_v2_switch
    .type pluginkit_cpu_v2_switch, %function
pluginkit_cpu_v2_switch:
    sub sp, sp, #160
    stp x19, x20, [sp]
    stp x21, x22, [sp, #16]
    stp x23, x24, [sp, #32]
    stp x25, x26, [sp, #48]
    stp x27, x28, [sp, #64]
    stp x29, x30, [sp, #80]
    stp d8, d9, [sp, #96]
    stp d10, d11, [sp, #112]
    stp d12, d13, [sp, #128]
    stp d14, d15, [sp, #144]
    mov x9, sp
    str x9, [x0]
    mov sp, x1
    ldp x19, x20, [sp]
    ldp x21, x22, [sp, #16]
    ldp x23, x24, [sp, #32]
    ldp x25, x26, [sp, #48]
    ldp x27, x28, [sp, #64]
    ldp x29, x30, [sp, #80]
    ldp d8, d9, [sp, #96]
    ldp d10, d11, [sp, #112]
    ldp d12, d13, [sp, #128]
    ldp d14, d15, [sp, #144]
    add sp, sp, #160
    ret
    .size pluginkit_cpu_v2_switch, .-pluginkit_cpu_v2_switch
)");
#elif !defined(__x86_64__)
#error "CUDA on the CPU (target cpu) runs on x86-64 and on aarch64."
#endif

// There where AddressSanitizer is in the process.
extern "C"
{
    __attribute__((weak)) void __sanitizer_start_switch_fiber(void** fakeStack, void const* bottom, size_t size);
    __attribute__((weak)) void __sanitizer_finish_switch_fiber(void* fakeStack, void const** bottom, size_t* size);
    __attribute__((weak)) void __asan_unpoison_memory_region(void const volatile* address, size_t size);
}

namespace pluginkit_cpu
{

inline namespace v2
{

namespace
{

// The fiber that was left last, for the one that was entered: it learns the host stack's place from there.
__thread Fiber* tLeft;

} // namespace

bool const gWatchesStacks = __sanitizer_start_switch_fiber != nullptr;

Fiber::Fiber(size_t stackBytes, size_t number)
    : mOwns(true), mShift(static_cast<uint16_t>(number * kLINE % kPAGE)), mBytes(stackBytes + kPAGE)
{
    void* const memory = mmap(nullptr, mBytes + kGUARD_BYTES, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (memory == MAP_FAILED)
    {
        throw std::bad_alloc{};
    }
    mprotect(memory, kGUARD_BYTES, PROT_NONE);
    mStack = static_cast<char*>(memory) + kGUARD_BYTES;
}

Fiber::~Fiber()
{
    if (mOwns)
    {
        if (__asan_unpoison_memory_region != nullptr)
        {
            __asan_unpoison_memory_region(mStack, mBytes);
        }
        munmap(mStack - kGUARD_BYTES, mBytes + kGUARD_BYTES);
    }
}

void Fiber::begin(void (*entry)()) noexcept
{
    if (__asan_unpoison_memory_region != nullptr)
    {
        __asan_unpoison_memory_region(mStack, mBytes);
    }
    mFakeStack = nullptr;
    waiting = nullptr;
    auto const code = reinterpret_cast<void*>(entry);
    mSaved = Registers{};
#if defined(__x86_64__)
    // As after a call; but a null to return to: no caller.
    constexpr size_t kSAVED = 24;
    mSaved.code = code;
#else
    constexpr size_t kSAVED = 160;
    constexpr size_t kENTRY = 88;
#endif
    char* const saved = top() - mShift - kSAVED;
    std::memset(saved, 0, kSAVED);
#if !defined(__x86_64__)
    std::memcpy(saved + kENTRY, &code, sizeof(code));
#endif
    mSaved.stack = saved;
}

#if defined(__aarch64__)
void Fiber::swap(Registers& from, Registers const& to) noexcept
{
    pluginkit_cpu_v2_switch(&from.stack, to.stack);
}
#endif

void Fiber::changeWatched(Fiber& from, Fiber& to) noexcept
{
    tLeft = &from;
    __sanitizer_start_switch_fiber(&from.mFakeStack, to.mStack, to.mBytes);
    swap(from.mSaved, to.mSaved);
    arrived(from);
}

// Not inlined, nor is its variable's place kept: an idle fiber goes on in another launch, maybe of another host thread.
[[gnu::noinline]] void Fiber::arrived(Fiber& self) noexcept
{
    asm volatile("");
    if (gWatchesStacks)
    {
        void const* bottom = nullptr;
        size_t size = 0;
        __sanitizer_finish_switch_fiber(self.mFakeStack, &bottom, &size);
        if (!tLeft->mOwns)
        {
            // The host's stack: only now is it known where it lies.
            tLeft->mStack = static_cast<char*>(const_cast<void*>(bottom));
            tLeft->mBytes = size;
        }
    }
}

} // namespace v2

} // namespace pluginkit_cpu
