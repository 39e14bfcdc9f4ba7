#include "accesses.h"

#include "accesses_checks.h"
#include "worker.h"

#include <algorithm>

#include <link.h>

#ifdef PLUGINKIT_CPU_CHECKED

namespace pluginkit_cpu
{

inline namespace v2
{

namespace accesses
{

// After the memory that it observes, and before the user's objects.
__attribute__((init_priority(102))) Checks gChecks;

namespace
{

void onMade(void* memory, size_t size, bool initialized)
{
    gChecks.allocated(memory, size, initialized);
}

void onGone(void* memory, size_t size)
{
    gChecks.released(memory, size);
}

void onCopied(void* to, void const* from, size_t size, bool toHost, Caller const& caller)
{
    gChecks.copied(to, from, size, toHost, caller);
}

void onFilled(void* memory, size_t size)
{
    gChecks.filled(memory, size);
}

//! The library's thread-local variables, of which threadIdx is one.
struct Variables
{
    size_t before; //!< Of them, before threadIdx.
    size_t size;
};

int onLibrary(dl_phdr_info* info, size_t /*size*/, void* found)
{
    auto const here = reinterpret_cast<uintptr_t>(&threadIdx);
    auto const block = reinterpret_cast<uintptr_t>(info->dlpi_tls_data);
    for (int i = 0; i < info->dlpi_phnum; ++i)
    {
        auto const& part = info->dlpi_phdr[i];
        if (part.p_type == PT_TLS && here - block < part.p_memsz)
        {
            *static_cast<Variables*>(found) = {here - block, part.p_memsz};
            return 1;
        }
    }
    return 0;
}

Variables findVariables()
{
    Variables found{0, sizeof(threadIdx)};
    dl_iterate_phdr(onLibrary, &found);
    return found;
}

} // namespace

Checks::Checks()
{
    observeMemory({onMade, onGone, onCopied, onFilled});
}

Checks::~Checks()
{
    observeMemory({});
}

void Checks::launchBegins(dim3 const& grid, dim3 const& block)
{
    mRacesOn = isAsked("thread");
    mWrittenOn = isAsked("memory");
    mDeviceKnown = gMemory.deviceMemoryIsKnown();
    std::fill(std::begin(mDevice), std::end(mDevice), std::make_pair(uintptr_t{0}, size_t{0}));
    mOrder.launchBegins(grid, block);
    mRaces.clear();
    mReported.clear();
    static Variables const variables = findVariables();
    mVariables = number(&threadIdx) - variables.before;
    mVariablesSize = variables.size;
}

void Checks::launchEnds()
{
    settle();
    reportGuesses();
    mOrder.launchEnds();
    mRaces.clear();
    mShared.clear();
}

void Checks::blockBegins(uint64_t block)
{
    mOrder.blockBegins(block);
}

void Checks::blockEnds(uint64_t block)
{
    settle();
    mOrder.blockEnds(block);
}

void Checks::barrierPassed()
{
    settle();
    mOrder.barrier();
}

void Checks::warpSynced(uint32_t lanes)
{
    settle();
    mOrder.warpSync(lanes);
}

void Checks::fenced()
{
    if (inKernel())
    {
        Worker& worker = *Worker::current();
        Inside const guard{worker};
        settle();
        mOrder.fence();
    }
}

void Checks::sharedStarts(uintptr_t memory, size_t size, char const* name)
{
    mShared.erase(mShared.lower_bound(memory), mShared.lower_bound(memory + size));
    mShared[memory] = Shared{size, name};
    mRaces.forget(memory, size);
    mOrder.forget(memory, size);
    std::lock_guard<std::mutex> const lock{mMutex};
    mUnwritten.begin(memory, size);
}

void launchBegins(char const* /*kernel*/, dim3 const& grid, dim3 const& block)
{
    gChecks.launchBegins(grid, block);
}

void launchEnds()
{
    gChecks.launchEnds();
}

void blockBegins(uint64_t block)
{
    gChecks.blockBegins(block);
}

void blockEnds(uint64_t block)
{
    gChecks.blockEnds(block);
}

void barrierPassed()
{
    gChecks.barrierPassed();
}

void warpSynced(uint32_t lanes)
{
    gChecks.warpSynced(lanes);
}

void fenced()
{
    gChecks.fenced();
}

void sharedStarts(void* memory, size_t size, char const* name)
{
    gChecks.sharedStarts(number(memory), size, name);
}

} // namespace accesses

} // namespace v2

} // namespace pluginkit_cpu

#endif
