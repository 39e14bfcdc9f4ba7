//! Values of a launch that change its speed, and no result but for the order in which sums are added up, for each GPU
//! architecture as `pluginkit tune` found them.
//! `kernels::tuned(run)` in place of a stream has all launches of these headers take them:
//!
//!     kernels::launchElementwise(kernels::tuned(run), run.count, Layer{}, ...);
//!
//! A kernel of your own names its values in `[tuning.parameters]` of pluginkit.toml, `unroll` for `kUnroll`:
//!
//!     kernels::launchWith(kernels::tuned(run), [&](cudaStream_t on, auto values) {
//!         constexpr int32_t kUnroll = decltype(values)::kUnroll;
//!         myKernel<kUnroll><<<blocks, kThreads, 0, on>>>(...);
//!         return cudaGetLastError();
//!     });
#pragma once

#include <cuda_runtime.h>
#include <pluginkit/layer/tensor.h>

#include <cstdint>
#include <cstdlib>

namespace pluginkit::kernels
{

//! What a launch takes where nothing is tuned. 0: what its header has by itself.
struct UsualValues
{
    static constexpr int32_t kThreads = 0; //!< of a block
    static constexpr int32_t kPacks = 0;   //!< of 16 bytes, of a thread
};

//! A stream, and which of some sets of values launches on it take.
template <typename... Sets>
struct Tuned
{
    static_assert(((Sets::kThreads % 32 == 0 && Sets::kThreads <= 1024) && ...), "blocks are of 32 to 1024 threads");

    static constexpr int32_t kCount = static_cast<int32_t>(sizeof...(Sets));

    cudaStream_t stream;
    int32_t set;
};

//! Calls `launch(stream, values)` with the usual values, or with the chosen set's, and returns what it returns.
template <typename Launch>
cudaError_t launchWith(cudaStream_t stream, Launch const& launch) noexcept
{
    return launch(stream, UsualValues{});
}

template <typename... Sets, typename Launch>
cudaError_t launchWith(Tuned<Sets...> const& on, Launch const& launch) noexcept
{
    cudaError_t error = cudaErrorInvalidValue;
    int32_t set = 0;
    ((set++ == on.set ? static_cast<void>(error = launch(on.stream, Sets{})) : static_cast<void>(0)), ...);
    return error;
}

namespace detail
{

//! The largest power of two that is not above a number, for kernels that share something out by it: any multiple of 32
//! may be asked for.
constexpr int32_t powerOfTwo(int32_t number) noexcept
{
    int32_t power = 1;
    while (power <= number / 2)
    {
        power *= 2;
    }
    return power;
}

} // namespace detail

} // namespace pluginkit::kernels

// The build writes this header from [tuning] of the pluginkit.toml that the source belongs to. Its names, and those
// below, belong to one source: two plugins of a library have different values.
#ifdef PLUGINKIT_TUNING_HEADER
#include PLUGINKIT_TUNING_HEADER
#else
namespace pluginkit::kernels
{
namespace
{

using TuningSets = Tuned<UsualValues>;

//! The set for GPUs of a compute capability, as 90 for 9.0; 0: the usual one.
[[maybe_unused]] constexpr int32_t setFor(int32_t /*capability*/) noexcept
{
    return 0;
}

} // namespace
} // namespace pluginkit::kernels
#endif

namespace pluginkit::kernels
{
namespace
{

//! How many sets there are to choose from, for IPluginV3's getNbTactics: the usual values are tactic 1. 0: there is
//! nothing to choose.
[[maybe_unused]] constexpr int32_t tactics() noexcept
{
    return TuningSets::kCount > 1 ? TuningSets::kCount : 0;
}

//! The set for the GPU here.
[[maybe_unused]] int32_t setHere() noexcept
{
    if constexpr (TuningSets::kCount == 1)
    {
        return 0;
    }
#if defined(PLUGINKIT_TUNING_MEASURED)
    // Only in the library that `pluginkit tune` measures with: it has all candidates, and says which one is next.
    char const* const asked = std::getenv("PLUGINKIT_TUNING_SET");
    return asked == nullptr ? 0 : static_cast<int32_t>(std::strtol(asked, nullptr, 10));
#elif defined(PLUGINKIT_TARGET_CPU)
    return 1; // tuned values, whichever GPU's: what is tested is what runs there
#else
    int device = 0;
    int major = 0;
    int minor = 0;
    bool const known = cudaGetDevice(&device) == cudaSuccess &&
                       cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device) == cudaSuccess &&
                       cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device) == cudaSuccess;
    return known ? setFor(10 * major + minor) : 0;
#endif
}

//! A stream to launch on with tuned values: those of an IPluginV3's tactic, or, where it is 0 or none that this library
//! has, those for the GPU here.
[[maybe_unused]] TuningSets tuned(cudaStream_t stream, int32_t tactic = 0) noexcept
{
    bool const known = tactic > 0 && tactic <= TuningSets::kCount;
    return {stream, known ? tactic - 1 : setHere()};
}

//! The stream of a layer's run.
[[maybe_unused]] TuningSets tuned(Launch const& run) noexcept
{
    return tuned(run.stream, run.tactic);
}

} // namespace
} // namespace pluginkit::kernels
