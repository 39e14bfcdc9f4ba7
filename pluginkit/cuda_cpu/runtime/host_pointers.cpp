//! Kernels that are given pointers to pageable host memory: no GPU reaches it, but for systems whose device attribute
//! cudaDevAttrPageableMemoryAccess says so (CUDA C++ Programming Guide, "Unified Memory": HMM, ATS).

#include "closed_pointers.h"
#include "findings.h"
#include "memory.h"

#include <pluginkit/cpu/argument_pointers.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <string>

#include <pthread.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

// The linker's names for the library's own memory, and for its __managed__ variables.
extern "C"
{
    extern PLUGINKIT_CPU_HIDDEN char const __ehdr_start;
    extern PLUGINKIT_CPU_HIDDEN char const _end;
    extern PLUGINKIT_CPU_HIDDEN __attribute__((weak)) char const __start_pluginkit_cpu_managed;
    extern PLUGINKIT_CPU_HIDDEN __attribute__((weak)) char const __stop_pluginkit_cpu_managed;
}

namespace pluginkit_cpu
{

inline namespace v2
{

namespace
{

constexpr uintptr_t kLOWEST = 65536; // Linux maps nothing below (vm.mmap_min_addr)

uintptr_t number(void const* address) noexcept
{
    return reinterpret_cast<uintptr_t>(address);
}

bool inImage(uintptr_t address) noexcept
{
    return address >= number(&__ehdr_start) && address < number(&_end);
}

bool isManaged(uintptr_t address) noexcept
{
    return &__start_pluginkit_cpu_managed != nullptr && address >= number(&__start_pluginkit_cpu_managed) &&
           address < number(&__stop_pluginkit_cpu_managed);
}

//! Whether all device memory is known: the test harness has named it, or this is a program, which has no other.
bool allIsKnown()
{
    static bool const program = inImage(getauxval(AT_PHDR));
    return program || gMemory.deviceMemoryIsKnown();
}

//! Whether there is memory that can be read. The system copies the set before it finds that `how` is none.
bool isReadable(uintptr_t address) noexcept
{
    constexpr int kNO_HOW = ~0;
    int const before = errno;
    long const result = syscall(SYS_rt_sigprocmask, kNO_HOW, address & ~uintptr_t{7}, nullptr, 8);
    bool const readable = result == 0 || errno != EFAULT;
    errno = before;
    return readable;
}

bool onStack(uintptr_t address) noexcept
{
    pthread_attr_t attributes{};
    void* begin = nullptr;
    size_t size = 0;
    if (pthread_getattr_np(pthread_self(), &attributes) != 0)
    {
        return false;
    }
    pthread_attr_getstack(&attributes, &begin, &size);
    pthread_attr_destroy(&attributes);
    return address - number(begin) < size;
}

//! What a pointer that is not device memory's points to: as cudaPointerGetAttributes has it, memory that was "not
//! allocated in, mapped by or registered with" CUDA. More is said only where it is sure.
std::string describe(void const* pointer)
{
    uintptr_t const address = number(pointer);
    char text[32];
    std::snprintf(text, sizeof(text), "%p, ", pointer);
    std::string const where{text};
    if (inImage(address))
    {
        return where + "in pageable memory of the host: a variable of the library; cudaGetSymbolAddress gives a "
                       "__device__ variable's address";
    }
    if (onStack(address))
    {
        return where + "in pageable memory of the host: the stack of the thread that launches it";
    }
    std::string const beside = describeAddress(pointer);
    return where + "which is neither memory of the device nor pinned memory of the host" +
           (beside.empty() ? "" : ", but " + beside);
}

//! What a program has been told: of its other launches with the same argument only their number is, at its end. Each is
//! in the file of findings, whose reader asks what a case of many in a process did.
class Told
{
public:
    Told() = default;
    Told(Told const&) = delete;
    Told& operator=(Told const&) = delete;

    ~Told()
    {
        for (auto const& [argument, launches] : mLaunches)
        {
            if (launches > 1)
            {
                std::fprintf(stderr, "pluginkit cpu: host-pointer: %s at %zu more launches, too\n", argument.c_str(),
                             launches - 1);
            }
        }
    }

    //! Counts a launch; whether it is the first.
    bool isNew(std::string const& argument)
    {
        std::lock_guard<std::mutex> const lock{mMutex};
        return ++mLaunches[argument] == 1;
    }

private:
    std::mutex mMutex;
    std::map<std::string, size_t> mLaunches;
};

bool isNews(std::string const& argument)
{
    static Told told;
    return std::getenv("PLUGINKIT_CPU_FINDINGS") != nullptr || told.isNew(argument);
}

bool isHosts(void const* pointer)
{
    uintptr_t const address = number(pointer);
    if (address < kLOWEST || inKernel() || !allIsKnown())
    {
        return false;
    }
    // A pointer behind the last byte may be the end of a range. One further out, but in the pages of device memory, is
    // no pointer to the host's: what the kernel does with it decides, and each access there is seen.
    return !gMemory.find(address) && !gMemory.find(address - 1) && !gMemory.begins(address) &&
           !gMemory.findFreed(address) && !gMemory.findInPages(address) && !isManaged(address) && isReadable(address);
}

std::string argumentName(char const* kernel, unsigned int index)
{
    return "argument " + std::to_string(index) + " of " + kernel;
}

//! Address space without memory, in parts that stand for a host pointer each. The oldest is another's when all are
//! used.
class Closed
{
public:
    Closed() noexcept
    {
        void* const memory =
            mmap(nullptr, kPARTS * kPART, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        mBegin = memory == MAP_FAILED ? 0 : number(memory);
    }

    //! A pointer into the part of that text, aligned as `pointer`; `pointer` itself where there is no address space.
    void const* close(std::string const& text, void const* pointer)
    {
        std::lock_guard<std::mutex> const lock{mMutex};
        if (mBegin == 0)
        {
            return pointer;
        }
        size_t part = 0;
        while (part < kPARTS && mTexts[part] != text)
        {
            ++part;
        }
        if (part == kPARTS)
        {
            part = mNext++ % kPARTS;
            mTexts[part] = text;
        }
        // In the middle, so that what is read before it is in the part, too.
        return reinterpret_cast<void const*>(mBegin + part * kPART + kPART / 2 + number(pointer) % kALIGNMENT);
    }

    std::string find(uintptr_t address)
    {
        std::lock_guard<std::mutex> const lock{mMutex};
        bool const inside = mBegin != 0 && address - mBegin < kPARTS * kPART;
        return inside ? mTexts[(address - mBegin) / kPART] : std::string{};
    }

private:
    static constexpr size_t kPARTS = 64;
    static constexpr size_t kPART = size_t{1} << 30;
    static constexpr size_t kALIGNMENT = 4096;

    std::mutex mMutex;
    uintptr_t mBegin{0};
    size_t mNext{0};
    std::array<std::string, kPARTS> mTexts;
};

Closed& closed()
{
    static Closed all;
    return all;
}

} // namespace

void checkPointer(char const* kernel, unsigned int index, void const* pointer) noexcept
{
    if (!isHosts(pointer))
    {
        return;
    }
    std::string const argument = argumentName(kernel, index);
    if (isNews(argument))
    {
        report(
            {"host-pointer", argument + " points to " + describe(pointer), {nullptr, 0}, __builtin_return_address(0)});
    }
}

void const* closePointer(char const* kernel, unsigned int index, size_t offset, void const* pointer) noexcept
{
    if (!isHosts(pointer))
    {
        return pointer;
    }
    return closed().close("the pointer at byte " + std::to_string(offset) + " of " + argumentName(kernel, index) +
                              ", which was " + describe(pointer),
                          pointer);
}

std::string describeClosed(uintptr_t address)
{
    return closed().find(address);
}

} // namespace v2

} // namespace pluginkit_cpu
