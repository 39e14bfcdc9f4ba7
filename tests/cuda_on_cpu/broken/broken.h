// What the broken kernels share. Each case is a function `int name(bool repaired)`: it launches `nameKernel<repaired>`
// and gives CUDA's error. The defect's line ends with `// BUG name`; where it takes two places, both lines do.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>

#define EXPORT extern "C" __attribute__((visibility("default")))

//! Device memory; filled with zeros unless the case is about that.
template <typename T>
class Memory
{
public:
    explicit Memory(size_t count, bool filled = true) : mBytes(count * sizeof(T))
    {
        cudaMalloc(reinterpret_cast<void**>(&mData), mBytes);
        if (filled)
        {
            cudaMemset(mData, 0, mBytes);
        }
    }

    Memory(Memory const&) = delete;
    Memory& operator=(Memory const&) = delete;

    ~Memory()
    {
        cudaFree(mData);
    }

    T* get() const
    {
        return mData;
    }

private:
    T* mData{nullptr};
    size_t mBytes;
};

#define LAUNCH(kernel, grid, block, shared, ...)                                                                       \
    if (repaired)                                                                                                      \
    {                                                                                                                  \
        kernel<true><<<grid, block, shared>>>(__VA_ARGS__);                                                            \
    }                                                                                                                  \
    else                                                                                                               \
    {                                                                                                                  \
        kernel<false><<<grid, block, shared>>>(__VA_ARGS__);                                                           \
    }

inline int finish()
{
    return static_cast<int>(cudaDeviceSynchronize());
}
