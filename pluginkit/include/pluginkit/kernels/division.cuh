//! Division by a number that only the host knows before a launch, without the GPU's division, which is some twenty
//! instructions.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace pluginkit::kernels
{

//! Of numbers below 2^31, by one from 1 to 2^31: a product with a fraction a little above 1 / divisor (Granlund and
//! Montgomery, "Division by invariant integers using multiplication", 1994).
struct Divisor
{
    uint32_t divisor;
    uint32_t multiplier;
    uint32_t shift;

    __device__ int32_t quotient(int32_t number) const
    {
        auto const n = static_cast<uint32_t>(number);
        return static_cast<int32_t>((__umulhi(n, multiplier) + n) >> shift);
    }
};

inline Divisor divisorOf(int64_t divisor) noexcept
{
    auto const d = static_cast<uint64_t>(divisor > 0 ? divisor : 1);
    uint32_t shift = 0;
    while ((uint64_t{1} << shift) < d)
    {
        ++shift;
    }
    uint64_t const multiplier = ((uint64_t{1} << 32U) * ((uint64_t{1} << shift) - d)) / d + 1;
    return {static_cast<uint32_t>(d), static_cast<uint32_t>(multiplier), shift};
}

} // namespace pluginkit::kernels
