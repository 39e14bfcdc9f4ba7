//! A stack of its own to run on, and the switch from one to another.
#pragma once

#include <pluginkit/cpu/engine.h>

namespace pluginkit_cpu
{

inline namespace v2
{

struct Block;
struct Record;

//! Saved registers and, for all but a host thread's own, a stack with a closed page below it.
class PLUGINKIT_CPU_HIDDEN Fiber
{
public:
    //! The host thread's own stack.
    Fiber() = default;

    //! Throws std::bad_alloc when there is no memory for a stack of so many bytes.
    explicit Fiber(size_t stackBytes);
    Fiber(Fiber const&) = delete;
    Fiber& operator=(Fiber const&) = delete;
    ~Fiber();

    //! What the next switch to this fiber calls, on an empty stack; it must never return.
    void begin(void (*entry)()) noexcept;

    //! Leaves `from`, which is running, for `to`; returns when somebody switches back.
    static void change(Fiber& from, Fiber& to) noexcept;

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

    Block* block{nullptr};   //!< Whose threads it takes next.
    Record* record{nullptr}; //!< The thread that runs on it, once its block keeps records.
    bool spent{false};       //!< Its thread has left in the midst of its calls: it must begin anew.

private:
    static constexpr size_t kGUARD_BYTES = 65536;

    void* mSaved{nullptr};
    char* mStack{nullptr};
    size_t mBytes{0};
    bool mOwns{false};
    void* mFakeStack{nullptr}; // AddressSanitizer's
};

} // namespace v2

} // namespace pluginkit_cpu
