//! What CUDA answers about kernels and takes for them: attributes, and how many blocks fit on a multiprocessor.

#include "device.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <map>
#include <mutex>

using pluginkit_cpu::answer;
using pluginkit_cpu::limitOf;

namespace
{

constexpr int kUSUAL_SHARED = 48 << 10;
constexpr int kWARPS_AT_ONCE = 4; // registers are given to this many warps together

//! The kernels for which attributes were set, and the attributes.
class Kernels
{
public:
    void allow(void const* kernel, int bytes)
    {
        std::lock_guard<std::mutex> const lock{mMutex};
        mShared[kernel] = bytes;
        mMost = std::max(mMost.load(), bytes);
    }

    int allowed(void const* kernel) const
    {
        std::lock_guard<std::mutex> const lock{mMutex};
        auto const found = mShared.find(kernel);
        return found == mShared.end() ? kUSUAL_SHARED : found->second;
    }

    int most() const noexcept
    {
        return mMost;
    }

private:
    mutable std::mutex mMutex;
    std::map<void const*, int> mShared;
    std::atomic<int> mMost{kUSUAL_SHARED}; // changed with the lock
};

__attribute__((init_priority(101))) Kernels gKernels;

int fitting(int threads, size_t shared)
{
    int const warps = (threads + warpSize - 1) / warpSize;
    int const given = (warps + kWARPS_AT_ONCE - 1) / kWARPS_AT_ONCE * kWARPS_AT_ONCE;
    int const byWarps = limitOf(cudaDevAttrMaxThreadsPerMultiProcessor) / warpSize / warps;
    int const byRegisters =
        limitOf(cudaDevAttrMaxRegistersPerMultiprocessor) / (given * warpSize * pluginkit_cpu::kREGISTERS);
    size_t const each = shared + static_cast<size_t>(limitOf(cudaDevAttrReservedSharedMemoryPerBlock));
    auto const byShared =
        static_cast<int>(static_cast<size_t>(limitOf(cudaDevAttrMaxSharedMemoryPerMultiprocessor)) / each);
    return std::min({limitOf(cudaDevAttrMaxBlocksPerMultiprocessor), byWarps, byRegisters, byShared});
}

} // namespace

uint64_t pluginkit_cpu::blocksAtOnce(unsigned int threads, size_t shared) noexcept
{
    return static_cast<uint64_t>(fitting(static_cast<int>(threads), shared)) *
           static_cast<uint64_t>(limitOf(cudaDevAttrMultiProcessorCount));
}

size_t pluginkit_cpu::dynamicSharedLimit() noexcept
{
    return static_cast<size_t>(gKernels.most());
}

extern "C"
{

    PLUGINKIT_CPU_HIDDEN cudaError_t pluginkit_cpu_v2_cudaFuncSetAttribute(void const* kernel,
                                                                           cudaFuncAttribute attribute, int value)
    {
        return answer(
            [&]
            {
                if (kernel == nullptr)
                {
                    return cudaErrorInvalidDeviceFunction;
                }
                switch (attribute)
                {
                case cudaFuncAttributeMaxDynamicSharedMemorySize:
                    if (value < 0 || value > limitOf(cudaDevAttrMaxSharedMemoryPerBlockOptin))
                    {
                        return cudaErrorInvalidValue;
                    }
                    gKernels.allow(kernel, value);
                    return cudaSuccess;
                case cudaFuncAttributePreferredSharedMemoryCarveout:
                    return value >= -1 && value <= 100 ? cudaSuccess : cudaErrorInvalidValue;
                default:
                    return cudaErrorInvalidValue; // clusters, which compute capability 8.0 does not have
                }
            });
    }

    PLUGINKIT_CPU_HIDDEN cudaError_t pluginkit_cpu_v2_cudaFuncGetAttributes(cudaFuncAttributes* attributes,
                                                                            void const* kernel)
    {
        return answer(
            [&]
            {
                if (attributes == nullptr || kernel == nullptr)
                {
                    return kernel == nullptr ? cudaErrorInvalidDeviceFunction : cudaErrorInvalidValue;
                }
                std::memset(attributes, 0, sizeof(*attributes));
                int const capability =
                    10 * limitOf(cudaDevAttrComputeCapabilityMajor) + limitOf(cudaDevAttrComputeCapabilityMinor);
                attributes->maxThreadsPerBlock = limitOf(cudaDevAttrMaxThreadsPerBlock);
                attributes->numRegs = pluginkit_cpu::kREGISTERS;
                attributes->ptxVersion = capability;
                attributes->binaryVersion = capability;
                attributes->maxDynamicSharedSizeBytes = gKernels.allowed(kernel);
                attributes->preferredShmemCarveout = -1;
                return cudaSuccess;
            });
    }

    PLUGINKIT_CPU_HIDDEN cudaError_t pluginkit_cpu_v2_cudaFuncSetCacheConfig(void const* kernel, cudaFuncCache config)
    {
        return answer(
            [&]
            {
                bool const known = config >= cudaFuncCachePreferNone && config <= cudaFuncCachePreferEqual;
                cudaError_t const error = known ? cudaSuccess : cudaErrorInvalidValue;
                return kernel == nullptr ? cudaErrorInvalidDeviceFunction : error;
            });
    }

    PLUGINKIT_CPU_HIDDEN cudaError_t pluginkit_cpu_v2_cudaFuncSetSharedMemConfig(void const* kernel, int)
    {
        return answer([&] { return kernel == nullptr ? cudaErrorInvalidDeviceFunction : cudaSuccess; });
    }

    PLUGINKIT_CPU_HIDDEN cudaError_t pluginkit_cpu_v2_cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
        int* blocks, void const* kernel, int threads, size_t dynamicShared, unsigned int flags)
    {
        return answer(
            [&]
            {
                if (blocks == nullptr || kernel == nullptr || threads <= 0 || flags > 1)
                {
                    return kernel == nullptr ? cudaErrorInvalidDeviceFunction : cudaErrorInvalidValue;
                }
                bool const possible = threads <= limitOf(cudaDevAttrMaxThreadsPerBlock) &&
                                      dynamicShared <= static_cast<size_t>(gKernels.allowed(kernel));
                *blocks = possible ? fitting(threads, dynamicShared) : 0;
                return cudaSuccess;
            });
    }

    PLUGINKIT_CPU_HIDDEN cudaError_t pluginkit_cpu_v2_cudaOccupancyMaxActiveBlocksPerMultiprocessor(
        int* blocks, void const* kernel, int threads, size_t dynamicShared)
    {
        return pluginkit_cpu_v2_cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, kernel, threads,
                                                                                       dynamicShared, 0);
    }

    PLUGINKIT_CPU_HIDDEN cudaError_t pluginkit_cpu_v2_cudaOccupancyAvailableDynamicSMemPerBlock(size_t* bytes,
                                                                                                void const* kernel,
                                                                                                int blocks, int threads)
    {
        return answer(
            [&]
            {
                if (bytes == nullptr || kernel == nullptr || blocks <= 0 || threads <= 0)
                {
                    return kernel == nullptr ? cudaErrorInvalidDeviceFunction : cudaErrorInvalidValue;
                }
                int const share = limitOf(cudaDevAttrMaxSharedMemoryPerMultiprocessor) / blocks -
                                  limitOf(cudaDevAttrReservedSharedMemoryPerBlock);
                int const most = limitOf(cudaDevAttrMaxSharedMemoryPerBlockOptin);
                *bytes = fitting(threads, 0) < blocks ? 0 : static_cast<size_t>(std::clamp(share, 0, most));
                return cudaSuccess;
            });
    }

} // extern "C"
