//! What every file of the corpus uses on the host: arrays on the device, and the status a run ends with.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>

#define CORPUS_EXPORT extern "C" __attribute__((visibility("default")))

namespace corpus
{
/// The first error of the launches so far, as the int that a run gives back.
inline int status()
{
    cudaError_t const launch = cudaGetLastError();
    return static_cast<int>(launch != cudaSuccess ? launch : cudaDeviceSynchronize());
}

template <typename Int>
constexpr Int ceilDiv(Int count, Int each)
{
    return (count + each - 1) / each;
}

/// An array on the device, for as long as it lives.
template <typename T>
class Device
{
public:
    explicit Device(std::size_t count) : mBytes(count * sizeof(T))
    {
        cudaMalloc(reinterpret_cast<void**>(&mData), mBytes);
#ifdef CORPUS_FILL
        // Freed memory comes back with the right answer of the last run in it; this makes a forgotten store show.
        cudaMemset(mData, CORPUS_FILL, mBytes);
#endif
    }

    Device(T const* host, std::size_t count) : Device(count)
    {
        cudaMemcpy(mData, host, mBytes, cudaMemcpyHostToDevice);
    }

    Device(Device const&) = delete;
    Device& operator=(Device const&) = delete;

    ~Device()
    {
        cudaFree(mData);
    }

    T* get() const
    {
        return mData;
    }

    void zero()
    {
        cudaMemset(mData, 0, mBytes);
    }

    /// Waits for the kernels, copies to the host, and gives the status of it all.
    int copyTo(T* host) const
    {
        int const before = status();
        return before != 0 ? before : static_cast<int>(cudaMemcpy(host, mData, mBytes, cudaMemcpyDeviceToHost));
    }

private:
    T* mData{nullptr};
    std::size_t mBytes;
};
} // namespace corpus
