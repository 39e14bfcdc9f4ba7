#include "shared_memory.h"

#include "accesses.h"
#include "findings.h"

#include <algorithm>
#include <cstring>
#include <new>

#include <sys/mman.h>

// There where AddressSanitizer is in the process.
extern "C"
{
    __attribute__((weak)) void __asan_poison_memory_region(void const volatile* address, size_t size);
    __attribute__((weak)) void __asan_unpoison_memory_region(void const volatile* address, size_t size);
}

namespace pluginkit_cpu
{

inline namespace v2
{

namespace
{

constexpr size_t kGAP = 128;
constexpr size_t kMAPPED = 512 * 1024; // more than the limit and the gaps: an overrun of a page stays inside
constexpr unsigned char kCLOSED = 0xFD;
// PTX's addresses of shared memory begin here: 0 is none, and no real pointer is so small.
constexpr uint32_t kWINDOW = 1024;

} // namespace

SharedMemory::~SharedMemory()
{
    if (mMemory != nullptr)
    {
        if (__asan_unpoison_memory_region != nullptr)
        {
            __asan_unpoison_memory_region(mMemory, kMAPPED);
        }
        munmap(mMemory, kMAPPED);
    }
}

void SharedMemory::begin(size_t dynamicBytes)
{
    mParts.clear();
    mUsed = 0;
    mStatic = 0;
    mDynamic = dynamicBytes;
    if (dynamicBytes > 0)
    {
        part(nullptr, dynamicBytes, 1024);
    }
}

char* SharedMemory::part(SharedArray const* array, size_t size, size_t alignment)
{
    if (mMemory == nullptr)
    {
        void* const memory =
            mmap(nullptr, kMAPPED, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (memory == MAP_FAILED)
        {
            throw std::bad_alloc{};
        }
        mMemory = static_cast<char*>(memory);
    }
    size_t const step = std::max<size_t>(alignment, 16);
    size_t const begin = (mUsed + step - 1) / step * step;
    if (begin + size + kGAP > kMAPPED)
    {
        throw std::bad_alloc{};
    }
    if (__asan_unpoison_memory_region != nullptr)
    {
        __asan_unpoison_memory_region(mMemory + mUsed, begin - mUsed + size + kGAP);
    }
    std::memset(mMemory + begin, kPOISON, size);
    std::memset(mMemory + begin + size, kCLOSED, kGAP);
    if (__asan_poison_memory_region != nullptr)
    {
        __asan_poison_memory_region(mMemory + begin + size, kGAP);
    }
    mUsed = begin + size + kGAP;
    mParts.push_back(Part{array, begin, size});
    accesses::sharedStarts(mMemory + begin, size, array == nullptr ? "dynamic shared memory" : array->name);
    return mMemory + begin;
}

char* SharedMemory::known(SharedArray const& array) const noexcept
{
    for (Part const& each : mParts)
    {
        if (each.array == &array)
        {
            return mMemory + each.begin;
        }
    }
    return nullptr;
}

void* SharedMemory::find(SharedArray const& array)
{
    if (char* const memory = known(array); memory != nullptr)
    {
        return memory;
    }
    mStatic += array.size;
    if (mStatic > kSTATIC_LIMIT && mStatic - array.size <= kSTATIC_LIMIT)
    {
        report({"launch-config",
                "the kernel has " + std::to_string(mStatic) + " bytes of static __shared__ arrays, of which " +
                    array.name + " is one; at most 49152 are possible (nvcc refuses it). Use dynamic shared memory.",
                array.place, nullptr, nullptr, true});
    }
    return part(&array, array.size, array.alignment);
}

void* SharedMemory::dynamic(SharedArray const& array)
{
    if (mDynamic == 0)
    {
        // Launched with no bytes of it: any access is an overrun.
        return known(array) != nullptr ? known(array) : part(&array, 0, array.alignment);
    }
    mParts.front().array = mParts.front().array == nullptr ? &array : mParts.front().array;
    return mMemory;
}

void SharedMemory::end()
{
    for (Part const& each : mParts)
    {
        auto const* const gap = reinterpret_cast<unsigned char const*>(mMemory + each.begin + each.size);
        if (__asan_poison_memory_region != nullptr)
        {
            continue; // AddressSanitizer has reported it already, and reading the gap is forbidden
        }
        auto const* const bad = std::find_if(gap, gap + kGAP, [](unsigned char byte) { return byte != kCLOSED; });
        if (bad != gap + kGAP)
        {
            std::string const name = each.array == nullptr ? "dynamic shared memory" : each.array->name;
            report({"shared-overrun",
                    "the block wrote behind the " + std::to_string(each.size) + " bytes of " + name + ", at byte " +
                        std::to_string(each.size + static_cast<size_t>(bad - gap)) +
                        ". Run with --sanitize address to see which line writes it.",
                    each.array == nullptr ? Place{nullptr, 0} : each.array->place, nullptr, nullptr, true});
        }
    }
}

uint32_t SharedMemory::offset(void const* pointer) const noexcept
{
    return holds(pointer) ? kWINDOW + static_cast<uint32_t>(static_cast<char const*>(pointer) - mMemory) : 0;
}

void* SharedMemory::pointer(uint64_t address) const noexcept
{
    bool const inside = address >= kWINDOW && address < kWINDOW + kMAPPED;
    return inside ? mMemory + (address - kWINDOW) : reinterpret_cast<void*>(address);
}

bool SharedMemory::holds(void const* pointer) const noexcept
{
    return mMemory != nullptr && pointer >= mMemory && pointer < mMemory + kMAPPED;
}

} // namespace v2

} // namespace pluginkit_cpu
