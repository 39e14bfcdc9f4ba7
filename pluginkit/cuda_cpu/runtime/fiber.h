//! A stack of its own to run on, and the switch from one to another.
#pragma once

#include <pluginkit/cpu/engine.h>

namespace pluginkit_cpu
{

inline namespace v2
{

struct Block;
struct Record;
struct Waiting;

//! Whether AddressSanitizer is in the process; it must know on which stack the code runs.
PLUGINKIT_CPU_HIDDEN extern bool const gWatchesStacks;

//! Saved registers and, for all but a host thread's own, a stack with a closed page below it. What a switch, a barrier
//! and a shuffle need of it is in one line of the processor's cache.
class PLUGINKIT_CPU_HIDDEN __attribute__((aligned(64))) Fiber
{
public:
    //! The host thread's own stack.
    Fiber() = default;

    //! Throws std::bad_alloc when there is no memory for a stack of so many bytes. `number` is among all that run in
    //! turns: their stacks would otherwise all be in the same few lines of the processor's caches.
    Fiber(size_t stackBytes, size_t number);
    Fiber(Fiber const&) = delete;
    Fiber& operator=(Fiber const&) = delete;
    ~Fiber();

    //! What the next switch to this fiber calls, on an empty stack; it must never return. A fiber that has not begun
    //! has no block.
    void begin(void (*entry)()) noexcept;

    //! Leaves `from`, which is running, for `to`; returns when somebody switches back.
    PLUGINKIT_CPU_INLINE static void change(Fiber& from, Fiber& to) noexcept
    {
        if (__builtin_expect(gWatchesStacks ? 1 : 0, 0) != 0)
        {
            changeWatched(from, to);
            return;
        }
        changeUnwatched(from, to);
    }

    //! The same where AddressSanitizer watches no stacks.
    PLUGINKIT_CPU_INLINE static void changeUnwatched(Fiber& from, Fiber& to) noexcept
    {
        swap(from.mSaved, to.mSaved);
    }

    //! Asks the processor for what a switch to this fiber reads first.
    void prefetch() const noexcept
    {
        auto const* const stack = static_cast<char const*>(mSaved.stack);
        __builtin_prefetch(stack);
        __builtin_prefetch(stack + kLINE);
        __builtin_prefetch(stack + 2 * kLINE);
    }

    //! First thing that an entry does.
    static void arrived(Fiber& self) noexcept;

    //! The address just above the stack.
    char* top() const noexcept
    {
        return mStack + mBytes;
    }

    bool holds(void const* address) const noexcept
    {
        return address >= mStack && address < mStack + mBytes;
    }

    //! Whether the address lies in the closed page, or just below it: the stack has overflowed.
    bool overflowed(void const* address) const noexcept
    {
        return mOwns && address < mStack && address >= mStack - kGUARD_BYTES;
    }

    Block* block{nullptr};           //!< Whose threads it takes next; null: it must begin first.
    Record* record{nullptr};         //!< The thread that runs on it, once its block keeps records.
    Waiting const* waiting{nullptr}; //!< What that thread waits in; null at most barriers, whose queues tell it.
    unsigned int linear{0};          //!< That thread's number in the block.
    uint3 index{};                   //!< Its threadIdx.

private:
    static constexpr size_t kGUARD_BYTES = 65536;
    static constexpr size_t kLINE = 64;
    static constexpr size_t kPAGE = 4096;

    //! What is kept of a fiber that doesn't run; the other registers of the callee are on its stack.
    struct Registers
    {
        void* stack{nullptr};
#if defined(__x86_64__)
        void* code{nullptr};
        void* rbp{nullptr};
#endif
    };

    //! Saves the registers in `from`, and takes up those of `to`.
    static void swap(Registers& from, Registers const& to) noexcept;
    static void changeWatched(Fiber& from, Fiber& to) noexcept;

    Registers mSaved;
    bool mOwns{false};
    uint16_t mShift{0}; // from the top to where it begins
    char* mStack{nullptr};
    size_t mBytes{0};
    void* mFakeStack{nullptr}; // AddressSanitizer's
};

#if defined(__x86_64__)
// A jump where the switch is inlined, and no return: the processor predicts where each of them goes. Nothing is pushed:
// a function may use what lies below its stack pointer.
PLUGINKIT_CPU_INLINE void Fiber::swap(Registers& from, Registers const& to) noexcept
{
    Registers* saved = &from;
    Registers const* taken = &to;
    asm volatile("leaq 1f(%%rip), %%rax\n"
                 "movq %%rsp, (%0)\n"
                 "movq %%rax, 8(%0)\n"
                 "movq %%rbp, 16(%0)\n"
                 "movq (%1), %%rsp\n"
                 "movq 16(%1), %%rbp\n"
                 "jmp *8(%1)\n"
                 "1:\n"
                 : "+D"(saved), "+S"(taken)
                 :
                 : "rax", "rbx", "rcx", "rdx", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "xmm0", "xmm1",
                   "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13",
                   "xmm14", "xmm15", "cc", "memory");
}
#endif

} // namespace v2

} // namespace pluginkit_cpu
