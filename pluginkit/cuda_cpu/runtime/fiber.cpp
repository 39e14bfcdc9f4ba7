#include "fiber.h"

#include <cstring>
#include <new>

#include <sys/mman.h>

// Saves the callee's registers and the stack pointer in *from, and takes up those of `to`.
extern "C" PLUGINKIT_CPU_HIDDEN void pluginkit_cpu_v2_switch(void** from, void* to);

#if defined(__x86_64__)
asm(R"(
    .text
    .hidden pluginkit_cpu_v2_switch
    .globl pluginkit_cpu_v2_switch
    .type pluginkit_cpu_v2_switch, @function
pluginkit_cpu_v2_switch:
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    ret
    .size pluginkit_cpu_v2_switch, .-pluginkit_cpu_v2_switch
)");
#elif defined(__aarch64__)
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
#else
#error "CUDA on the CPU (target cpu) runs on x86-64 and on aarch64."
#endif

// There where AddressSanitizer is in the process; it must know on which stack the code runs.
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

Fiber::Fiber(size_t stackBytes) : mBytes(stackBytes), mOwns(true)
{
    void* const memory = mmap(nullptr, stackBytes + kGUARD_BYTES, PROT_READ | PROT_WRITE,
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
    auto const code = reinterpret_cast<void*>(entry);
#if defined(__x86_64__)
    // Six registers, the entry as the address to return to, and a null as the entry's own: no caller.
    constexpr size_t kSAVED = 8 * sizeof(void*);
    constexpr size_t kENTRY = 6 * sizeof(void*);
#else
    constexpr size_t kSAVED = 160;
    constexpr size_t kENTRY = 88;
#endif
    char* const saved = top() - kSAVED;
    std::memset(saved, 0, kSAVED);
    std::memcpy(saved + kENTRY, &code, sizeof(code));
    mSaved = saved;
}

void Fiber::change(Fiber& from, Fiber& to) noexcept
{
    tLeft = &from;
    if (__sanitizer_start_switch_fiber != nullptr)
    {
        __sanitizer_start_switch_fiber(&from.mFakeStack, to.mStack, to.mBytes);
    }
    pluginkit_cpu_v2_switch(&from.mSaved, to.mSaved);
    arrived(from);
}

void Fiber::arrived(Fiber& self) noexcept
{
    if (__sanitizer_finish_switch_fiber != nullptr)
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
