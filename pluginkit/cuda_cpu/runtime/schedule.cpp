#include "schedule.h"

#include <cstdlib>
#include <numeric>
#include <string_view>

namespace pluginkit_cpu
{

inline namespace v2
{

Schedule Schedule::fromText(char const* text, uint64_t launchNumber)
{
    Schedule schedule;
    std::string_view const name = text == nullptr ? "forward" : text;
    if (name == "reverse")
    {
        schedule.mKind = Kind::kREVERSE;
    }
    else if (name == "lowest" || name == "highest")
    {
        schedule.mKind = name == "lowest" ? Kind::kLOWEST : Kind::kHIGHEST;
    }
    else if (!name.empty() && name != "forward")
    {
        schedule.mKind = Kind::kSHUFFLED;
        schedule.mSeed = Random{std::strtoull(text, nullptr, 10) ^ launchNumber << 32}.next();
    }
    return schedule;
}

uint64_t Schedule::block(uint64_t n, uint64_t blocks) const noexcept
{
    if (mKind == Kind::kFORWARD || mKind == Kind::kLOWEST)
    {
        return n;
    }
    if (mKind == Kind::kREVERSE || mKind == Kind::kHIGHEST)
    {
        return blocks - 1 - n;
    }
    // n -> (n * step + first) mod blocks meets each block once, since step and blocks have no common divisor.
    Random random{mSeed};
    uint64_t const first = random.below(blocks);
    uint64_t step = random.below(blocks) | 1U;
    while (std::gcd(step, blocks) != 1)
    {
        step += 2;
    }
    auto const wide = static_cast<unsigned __int128>(n) * step + first;
    return static_cast<uint64_t>(wide % blocks);
}

void Schedule::threads(uint64_t block, unsigned int count, std::vector<unsigned int>& order) const
{
    order.resize(count);
    std::iota(order.begin(), order.end(), 0U);
    if (mKind == Kind::kREVERSE || mKind == Kind::kHIGHEST)
    {
        for (unsigned int i = 0; i < count; ++i)
        {
            order[i] = count - 1 - i;
        }
    }
    Random random{mSeed ^ block};
    for (unsigned int i = count; mKind == Kind::kSHUFFLED && i > 1; --i)
    {
        std::swap(order[i - 1], order[random.below(i)]);
    }
}

} // namespace v2

} // namespace pluginkit_cpu
