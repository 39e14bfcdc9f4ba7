#include "launch.h"

#include "accesses.h"
#include "findings.h"
#include "settings.h"
#include "state.h"
#include "worker.h"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace pluginkit_cpu
{

inline namespace v2
{

namespace
{

std::atomic<uint64_t> gLaunches{0};

std::string text(dim3 const& size)
{
    return "(" + std::to_string(size.x) + ", " + std::to_string(size.y) + ", " + std::to_string(size.z) + ")";
}

//! A message for what no device takes; empty if one does. The limits are those of compute capability 7.5 and later
//! (CUDA C++ Programming Guide, technical specifications).
std::string refusal(Configuration const& configuration)
{
    dim3 const& grid = configuration.grid;
    dim3 const& block = configuration.block;
    if (grid.x == 0 || grid.y == 0 || grid.z == 0)
    {
        return "a grid of " + text(grid) + " blocks is empty";
    }
    if (block.x == 0 || block.y == 0 || block.z == 0)
    {
        return "a block of " + text(block) + " threads is empty";
    }
    if (grid.x > 0x7FFFFFFFU || grid.y > 65535U || grid.z > 65535U)
    {
        return "a grid of " + text(grid) + " blocks; at most (2147483647, 65535, 65535) are possible";
    }
    if (block.x > 1024U || block.y > 1024U || block.z > 64U || uint64_t{block.x} * block.y * block.z > 1024U)
    {
        return "a block of " + text(block) + " threads; at most (1024, 1024, 64), and 1024 in all, are possible";
    }
    if (configuration.sharedBytes > dynamicSharedLimit())
    {
        return std::to_string(configuration.sharedBytes) + " bytes of dynamic shared memory; without " +
               "cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, ...) 49152 are possible, " +
               "with it at most 166912";
    }
    return "";
}

//! Of a launch on very large tensors the blocks that come to their first and last elements; nothing where all are run.
//!
//! PLUGINKIT_CPU_ENDS has the tensors' numbers of elements, by commas. The first and the last blocks, and, as in a loop
//! with the grid's size as its step, those whose turn the last element is, where each thread takes 1, 2, 4 or 8 at
//! once.
std::vector<uint64_t> ends(char const* text, uint64_t blocks, dim3 const& block)
{
    constexpr uint64_t kAT_EACH_END = 2;
    if (text == nullptr || *text == '\0')
    {
        return {};
    }
    std::set<uint64_t> chosen;
    for (uint64_t i = 0; i < std::min(kAT_EACH_END, blocks); ++i)
    {
        chosen.insert(i);
        chosen.insert(blocks - 1 - i);
    }
    uint64_t const threads = uint64_t{block.x} * block.y * block.z;
    for (char const* at = text; *at != '\0';)
    {
        char* behind = nullptr;
        uint64_t const elements = std::strtoull(at, &behind, 10);
        for (uint64_t const width : {1U, 2U, 4U, 8U})
        {
            if (elements > 0)
            {
                chosen.insert((elements - 1) / width / threads % blocks);
            }
        }
        at = behind == at ? at + 1 : behind;
    }
    return {chosen.begin(), chosen.end()};
}

void execute(char const* name, Configuration const& configuration, Work const& work)
{
    dim3 const& grid = configuration.grid;
    uint64_t const blocks = uint64_t{grid.x} * grid.y * grid.z;
    Settings const settings = Settings::fromEnvironment();
    Schedule const schedule = Schedule::fromText(settings.schedule, gLaunches++);
#ifdef PLUGINKIT_CPU_CHECKED
    bool const alone = true;
#else
    bool const alone = !schedule.inOrder() || configuration.cooperative;
#endif
    std::vector<uint64_t> chosen =
        configuration.cooperative ? std::vector<uint64_t>{} : ends(settings.ends, blocks, configuration.block);
    uint64_t const run = chosen.empty() ? blocks : chosen.size();
    int64_t const limit = wholeNumber(settings.timeLimit, 60) * 1'000'000'000;
    LaunchState state{name, configuration, work, run, schedule, alone, limit, std::move(chosen)};
    accesses::launchBegins(state.name, grid, configuration.block);
    Worker::runOne(state, true);
    if (state.error != cudaSuccess)
    {
        stick(state.error);
    }
    checkGaps();
}

} // namespace

void reachThreadLocals() noexcept
{
    asm volatile("" : : "r"(&threadIdx) : "memory");
}

void restartOrders() noexcept
{
    gLaunches = 0;
}

cudaError_t launch(char const* kernelName, Configuration const& configuration, std::shared_ptr<Work const> work)
{
    if (inKernel())
    {
        report({"launch-config", std::string{"a kernel launches "} + kernelName +
                                     "; target cpu has no launches from kernels (dynamic " +
                                     "parallelism). Launch it from the host."});
        Worker::current()->abandon(cudaErrorNotSupported);
    }
    if (stuck() != cudaSuccess)
    {
        return failed(stuck());
    }
    if (std::string const why = refusal(configuration); !why.empty())
    {
        report({"launch-config", std::string{"launch of "} + kernelName + " with " + why + "."});
        return failed(cudaErrorInvalidConfiguration);
    }
    dim3 const& grid = configuration.grid;
    dim3 const& block = configuration.block;
    uint64_t const most =
        configuration.cooperative ? blocksAtOnce(block.x * block.y * block.z, configuration.sharedBytes) : 0;
    if (configuration.cooperative && uint64_t{grid.x} * grid.y * grid.z > most)
    {
        report({"launch-config", std::string{"cooperative launch of "} + kernelName + " with a grid of " + text(grid) +
                                     " blocks, of which only " + std::to_string(most) +
                                     " can run at once. Ask cudaOccupancyMaxActiveBlocksPerMultiprocessor."});
        return failed(cudaErrorCooperativeLaunchTooLarge);
    }
    Caller const caller{kernelName, __builtin_return_address(0)};
    auto const run = [kernelName, configuration, work] { execute(kernelName, configuration, *work); };
    return failed(enqueueWork(configuration.stream, run, caller));
}

} // namespace v2

} // namespace pluginkit_cpu
