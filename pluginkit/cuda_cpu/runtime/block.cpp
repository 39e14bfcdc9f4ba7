#include "block.h"

#include "launch.h"

#include <algorithm>

namespace pluginkit_cpu
{

inline namespace v2
{

Meeting& Warp::find(uint32_t mask)
{
    Meeting* free = nullptr;
    for (auto& each : meetings)
    {
        if (each->mask == mask)
        {
            return *each;
        }
        if (each->in().arrived == 0 && each->readers == 0)
        {
            free = each.get();
        }
    }
    if (free == nullptr)
    {
        meetings.push_back(std::make_unique<Meeting>());
        free = meetings.back().get();
    }
    free->mask = mask;
    return *free;
}

Waiting const* Record::waiting() const noexcept
{
    if (fiber == nullptr || fiber->record != this)
    {
        return nullptr;
    }
    if (fiber->waiting != nullptr)
    {
        return fiber->waiting;
    }
    for (Barrier const& each : block->barriers)
    {
        auto const end = each.waiting.begin() + each.arrived;
        if (std::find(each.waiting.begin(), end, fiber) != end)
        {
            return &each.here;
        }
    }
    return nullptr;
}

void Block::begin(Worker& itsWorker, LaunchState& itsLaunch, uint64_t itsNumber)
{
    worker = &itsWorker;
    launch = &itsLaunch;
    number =
        itsLaunch.chosen.empty() ? itsLaunch.schedule.block(itsNumber, itsLaunch.blocks) : itsLaunch.chosen[itsNumber];
    dim3 const& grid = itsLaunch.configuration.grid;
    dim3 const& block = itsLaunch.configuration.block;
    index = uint3{static_cast<unsigned int>(number % grid.x), static_cast<unsigned int>(number / grid.x % grid.y),
                  static_cast<unsigned int>(number / grid.x / grid.y)};
    count = block.x * block.y * block.z;
    engaged = false;
    started = 0;
    row = 0;
    rows = block.y * block.z;
    mEnd = 0;
    elsewhere.clear();
    shared.begin(itsLaunch.configuration.sharedBytes);
    inOrder = itsLaunch.schedule.inOrder();
    if (!inOrder)
    {
        itsLaunch.schedule.threads(number, count, order);
        engage(count);
    }
}

void Block::engage(unsigned int running)
{
    dim3 const& block = launch->configuration.block;
    bool const none = running == count;
    engaged = true;
    left = none ? count : count - running;
    started = none ? 0 : running + 1;
    mEnd = 0;
    if (mRecorded.x != block.x || mRecorded.y != block.y || mRecorded.z != block.z)
    {
        record();
    }
    // What else is in records, meetings and barriers is as the end of all threads of a block leaves it.
    unsigned int const gone = none ? 0 : running;
    for (unsigned int i = 0; i < warps.size(); ++i)
    {
        unsigned int const first = i * warpSize;
        uint32_t const all = count - first >= warpSize ? ~0U : (1U << (count - first)) - 1;
        unsigned int const ofThem = gone <= first ? 0 : gone - first;
        warps[i].alive = ofThem >= warpSize ? 0 : all & ~0U << ofThem;
    }
}

void Block::record()
{
    dim3 const& block = launch->configuration.block;
    records.assign(count, Record{});
    warps.clear();
    warps.resize((count + warpSize - 1) / warpSize);
    for (unsigned int i = 0; i < count; ++i)
    {
        uint3 const at{i % block.x, i / block.x % block.y, i / block.x / block.y};
        records[i] = Record{this, nullptr, at, i, 0, false};
    }
    for (auto& barrier : barriers)
    {
        barrier = Barrier{};
        barrier.waiting.resize(count);
    }
    gathering = 0;
    mRecorded = block;
}

void Block::forget() noexcept
{
    mRecorded = dim3{0, 0, 0};
}

uint3 Block::nextRow()
{
    dim3 const& block = launch->configuration.block;
    uint3 const first{0, row % block.y, row / block.y};
    ++row;
    mEnd = block.x;
    return first;
}

unsigned int Block::linear(uint3 const& thread) const noexcept
{
    dim3 const& block = launch->configuration.block;
    return thread.x + block.x * (thread.y + block.y * thread.z);
}

} // namespace v2

} // namespace pluginkit_cpu
