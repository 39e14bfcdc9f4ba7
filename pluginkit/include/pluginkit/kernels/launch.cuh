//! Launches that begin while the kernel before them on the stream still ends: of a small tensor's time most is the way
//! from one kernel's last block to the next one's first. On GPUs of compute capability 9.0 and above blocks are then
//! there already, and wait for the end of that kernel (CUDA Programming Guide, "Programmatic Dependent Launch").
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

// Graphs have such launches since CUDA 12.3.
#if !defined(PLUGINKIT_TARGET_CPU) && defined(CUDART_VERSION) && CUDART_VERSION >= 12030
#define PLUGINKIT_KERNELS_EARLY 1
#endif

namespace pluginkit::kernels
{

//! Division, without the GPU's, which is some twenty instructions, by a number that only the host knows before a
//! launch: of numbers below 2^31, by one from 1 to 2^31: a product with a fraction a little above 1 / divisor (Granlund
//! and Montgomery, "Division by invariant integers using multiplication", 1994).
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

namespace detail
{

//! Threads that a multiprocessor holds at once (CUDA Programming Guide, "Technical Specifications per Compute
//! Capability").
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ == 800 || (__CUDA_ARCH__ >= 900 && __CUDA_ARCH__ < 1100) ||               \
    __CUDA_ARCH__ < 750
constexpr int32_t kHeldThreads = 2048;
#elif __CUDA_ARCH__ == 750
constexpr int32_t kHeldThreads = 1024;
#else
constexpr int32_t kHeldThreads = 1536;
#endif

//! The second of a kernel's launch bounds: so many blocks, or as many as there can be.
constexpr int32_t heldBlocks(int32_t threads, int32_t blocks) noexcept
{
    return threads * blocks <= kHeldThreads ? blocks : kHeldThreads / threads;
}

//! Called by every thread of each kernel that `launchEarly` starts, on every way, before it reads or writes global
//! memory: lets the next kernel's blocks come, and waits until all kernels before this one have ended and what they
//! wrote is visible (PTX ISA, griddepcontrol). The next kernel is not ahead of those either, since it waits for this
//! one. Without effect in a kernel that is started in another way, and where `early` is false.
inline __device__ void waitForStream([[maybe_unused]] bool early = true)
{
#if defined(PLUGINKIT_KERNELS_EARLY) && defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    if (early)
    {
        asm volatile("griddepcontrol.launch_dependents;");
        asm volatile("griddepcontrol.wait;" ::: "memory");
    }
#endif
}

#ifdef PLUGINKIT_KERNELS_EARLY
//! Whether a kernel's code for this GPU has the instructions of `waitForStream`: a library may have only code for older
//! GPUs that runs here, too. Asked at each launch: an answer that a template keeps in a static would hold the library
//! in memory.
inline bool canLaunchEarly(void const* kernel) noexcept
{
    cudaFuncAttributes attributes{};
    int driver = 0;
    if (cudaDriverGetVersion(&driver) != cudaSuccess || cudaFuncGetAttributes(&attributes, kernel) != cudaSuccess)
    {
        static_cast<void>(cudaGetLastError()); // the launch says what is wrong
        return false;
    }
    return attributes.ptxVersion >= 90 && driver >= 12030;
}
#endif

//! A block's threads, and its bytes of shared memory that the kernel doesn't name.
struct BlockSize
{
    uint32_t threads;
    size_t shared;

    // NOLINTNEXTLINE(google-explicit-constructor): most blocks have threads alone
    BlockSize(uint32_t threads_, size_t shared_ = 0) noexcept : threads(threads_), shared(shared_) {}
};

//! Starts a kernel that calls `waitForStream`; an error is what cudaGetLastError then gives.
template <typename... Parameters, typename... Arguments>
void launchEarly(void (*kernel)(Parameters...), dim3 blocks, BlockSize block, cudaStream_t stream,
                 Arguments const&... arguments) noexcept
{
#ifdef PLUGINKIT_KERNELS_EARLY
    if (canLaunchEarly(reinterpret_cast<void const*>(kernel)))
    {
        cudaLaunchAttribute attribute{};
        attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
        attribute.val.programmaticStreamSerializationAllowed = 1;
        cudaLaunchConfig_t config{};
        config.gridDim = blocks;
        config.blockDim = dim3{block.threads};
        config.dynamicSmemBytes = block.shared;
        config.stream = stream;
        config.attrs = &attribute;
        config.numAttrs = 1;
        static_cast<void>(cudaLaunchKernelEx(&config, kernel, arguments...));
        return;
    }
#endif
    kernel<<<blocks, block.threads, block.shared, stream>>>(arguments...);
}

//! More blocks take far longer than the way from one kernel to the next, and waiting costs each of them: an H100 starts
//! some 0.9 a nanosecond of those that wait, half of what scans of a small row a block need for the memory's rate.
constexpr int64_t kMostEarlyBlocks = 16384;

//! Starts a kernel whose first parameter says whether it waits: `waitForStream(early)`. Of too many blocks none does.
template <typename... Parameters, typename... Arguments>
void launchEarlyIfFew(void (*kernel)(bool, Parameters...), dim3 blocks, BlockSize block, cudaStream_t stream,
                      Arguments const&... arguments) noexcept
{
    if (int64_t{blocks.x} * blocks.y * blocks.z > kMostEarlyBlocks)
    {
        kernel<<<blocks, block.threads, block.shared, stream>>>(false, arguments...);
        return;
    }
    launchEarly(kernel, blocks, block, stream, true, arguments...);
}

} // namespace detail

} // namespace pluginkit::kernels
