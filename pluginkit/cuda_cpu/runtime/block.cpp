#include "block.h"

#include "launch.h"

namespace pluginkit_cpu
{

inline namespace v2
{

Meeting& Warp::meeting(uint32_t mask)
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

void Block::begin(LaunchState& itsLaunch, uint64_t itsNumber)
{
    launch = &itsLaunch;
    number = itsLaunch.schedule.block(itsNumber, itsLaunch.blocks);
    dim3 const& grid = itsLaunch.configuration.grid;
    dim3 const& block = itsLaunch.configuration.block;
    index = uint3{static_cast<unsigned int>(number % grid.x), static_cast<unsigned int>(number / grid.x % grid.y),
                  static_cast<unsigned int>(number / grid.x / grid.y)};
    count = block.x * block.y * block.z;
    engaged = false;
    started = 0;
    ended = 0;
    row = 0;
    rows = block.y * block.z;
    mX = 0;
    mEnd = 0;
    shared.begin(itsLaunch.configuration.sharedBytes);
    if (!itsLaunch.schedule.inOrder())
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
    ended = none ? 0 : running;
    started = none ? 0 : running + 1;
    mX = 0;
    mEnd = 0;
    records.resize(count);
    warps.resize((count + warpSize - 1) / warpSize);
    for (auto& warp : warps)
    {
        warp.alive = 0;
        for (auto& meeting : warp.meetings)
        {
            meeting->in().arrived = 0;
            meeting->in().predicates = 0;
            meeting->readers = 0;
        }
    }
    for (auto& barrier : barriers)
    {
        barrier.arrived = 0;
        barrier.predicates = 0;
        barrier.waiting.clear();
    }
    uint3 at{0, 0, 0};
    for (unsigned int i = 0; i < count; ++i)
    {
        bool const gone = !none && i < running;
        State const state = gone ? State::kENDED : (!none && i == running ? State::kRUNNING : State::kNEW);
        records[i] = Record{this, at, i, state, nullptr, "", Place{nullptr, 0}, 0};
        warps[i / warpSize].alive |= gone ? 0U : 1U << i % warpSize;
        if (++at.x == block.x)
        {
            at.x = 0;
            if (++at.y == block.y)
            {
                at.y = 0;
                ++at.z;
            }
        }
    }
}

void Block::start(Fiber& fiber)
{
    unsigned int const which = order.empty() || launch->schedule.inOrder() ? started : order[started];
    ++started;
    Record& record = records[which];
    record.state = State::kRUNNING;
    record.fiber = &fiber;
    fiber.record = &record;
    threadIdx = record.index;
    blockIdx = index;
}

bool Block::nextRow()
{
    if (row == rows)
    {
        return false;
    }
    dim3 const& block = launch->configuration.block;
    threadIdx = uint3{0, row % block.y, row / block.y};
    blockIdx = index;
    ++row;
    mX = 1;
    mEnd = block.x;
    return true;
}

unsigned int Block::linear(uint3 const& thread) const noexcept
{
    dim3 const& block = launch->configuration.block;
    return thread.x + block.x * (thread.y + block.y * thread.z);
}

} // namespace v2

} // namespace pluginkit_cpu
