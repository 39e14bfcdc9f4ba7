//! Kernels that are given host memory. It can be told only where the test harness has named all device memory.

#include "accesses_checks.h"
#include "closed_pointers.h"
#include "worker.h"

#include <algorithm>

// The linker's names for the library's own memory, where __device__ and __constant__ variables are.
extern "C" PLUGINKIT_CPU_HIDDEN char const __ehdr_start;
extern "C" PLUGINKIT_CPU_HIDDEN char const _end;

#ifdef PLUGINKIT_CPU_CHECKED

namespace pluginkit_cpu
{

inline namespace v2
{

namespace accesses
{

namespace
{

// What a kernel's arguments take at most, and some more: the engine keeps them in host memory, with the launch.
constexpr size_t kARGUMENTS = 4096 + 256;

// Whether the address is in what lanes of the thread's warp have brought to a meeting: functions of CUDA read it
// there, inlined into the kernel.
bool isOfMeeting(Fiber const& fiber, uintptr_t address)
{
    if (fiber.record == nullptr)
    {
        return false;
    }
    auto const& meetings = fiber.block->warps[fiber.record->linear / warpSize].meetings;
    return std::any_of(meetings.begin(), meetings.end(), [address](auto const& meeting)
                       { return address - reinterpret_cast<uintptr_t>(meeting.get()) < sizeof(Meeting); });
}

} // namespace

bool Checks::isDevice(uintptr_t address)
{
    if (std::any_of(std::begin(mDevice), std::end(mDevice),
                    [address](auto const& range) { return address - range.first < range.second; }))
    {
        return true;
    }
    Worker& worker = *Worker::current();
    auto const image = reinterpret_cast<uintptr_t>(&__ehdr_start);
    auto const arguments = reinterpret_cast<uintptr_t>(&worker.launch().work);
    if (worker.fiber().block->shared.holds(reinterpret_cast<void const*>(address)) ||
        address - image < reinterpret_cast<uintptr_t>(&_end) - image || address - arguments < kARGUMENTS ||
        isOfMeeting(worker.fiber(), address))
    {
        return true;
    }
    auto const known = gMemory.find(address);
    if (known)
    {
        mDevice[mNextDevice++ % std::size(mDevice)] = {known->begin, known->size};
    }
    return known.has_value();
}

void Checks::checkDevice(Access const& access)
{
    // An address that was freed, is none, or is closed, is the engine's to report.
    if (access.address < 65536 || gMemory.findFreed(access.address) || !describeClosed(access.address).empty() ||
        !isNew("invalid-address", access.code, nullptr))
    {
        return;
    }
    report({"invalid-address",
            std::string{"the thread "} + (access.writes ? "writes " : "reads ") +
                describe(access.address, access.size) +
                ", which is memory of the host: neither the plugin has allocated it as device memory, nor was it "
                "given it.",
            {nullptr, 0},
            access.code});
}

} // namespace accesses

} // namespace v2

} // namespace pluginkit_cpu

#endif
