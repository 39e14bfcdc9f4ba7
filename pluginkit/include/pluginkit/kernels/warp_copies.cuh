//! A warp's copies between global and shared memory, by packs: those of the next elements are under way while it
//! computes; for tile_rows.cuh.
#pragma once

#include <pluginkit/kernels/pack.cuh>
#include <pluginkit/kernels/rows.cuh>

#include <cstdint>

namespace pluginkit::kernels::detail
{

//! 16 bytes from global into shared memory, without registers on the way; `waitForCopies` must follow.
inline __device__ void startCopy(uint4* to, uint4 const* from)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    auto const address = static_cast<uint32_t>(__cvta_generic_to_shared(to));
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(address), "l"(from) : "memory");
#else
    *to = *from;
#endif
}

//! The copies since the last call are one group.
inline __device__ void endCopies()
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}

//! Waits until all of the warp's groups of copies but the last one are there, for all of the warp.
inline __device__ void waitForCopies()
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_group 1;" ::: "memory");
#endif
    __syncwarp();
}

//! Bytes begin to end - 1 of a tensor of `count` that begins at a multiple of 16; at least one. By a warp.
struct WarpPart
{
    int64_t begin;
    int64_t end;
    int64_t count;

    //! Where byte `begin` is in shared memory that `load` fills.
    __device__ int32_t offset() const
    {
        return static_cast<int32_t>(begin % kPackBytes);
    }

    __device__ uint32_t packs() const
    {
        return static_cast<uint32_t>((end - 1) / kPackBytes + 1 - begin / kPackBytes);
    }

    __device__ void load(char const* tensor, char* memory) const
    {
        int64_t const first = begin / kPackBytes;
        for (uint32_t p = threadIdx.x % kLanes; p < packs(); p += kLanes)
        {
            int64_t const at = (first + p) * kPackBytes;
            if (at + kPackBytes <= count)
            {
                startCopy(reinterpret_cast<uint4*>(memory) + p, reinterpret_cast<uint4 const*>(tensor) + first + p);
                continue;
            }
            for (uint32_t i = 0; i < kPackBytes; ++i) // behind the tensor's last whole pack
            {
                memory[p * kPackBytes + i] = at + i < count ? tensor[at + i] : 0;
            }
        }
    }

    //! Copies the bytes back, no others.
    __device__ void store(char* tensor, char const* memory) const
    {
        int64_t const first = begin / kPackBytes;
        uint32_t const last = packs() - 1;
        uint32_t const wholeFrom = offset() == 0 ? 0 : 1;
        uint32_t const wholeTo = end % kPackBytes == 0 ? last + 1 : last;
        for (uint32_t p = wholeFrom + threadIdx.x % kLanes; p < wholeTo; p += kLanes)
        {
            reinterpret_cast<uint4*>(tensor)[first + p] = reinterpret_cast<uint4 const*>(memory)[p];
        }
        // A thread a byte of the two packs that are other parts', too.
        uint32_t const half = threadIdx.x % kLanes / kPackBytes;
        uint32_t const p = half == 0 ? 0 : last;
        int64_t const at = (first + p) * kPackBytes + threadIdx.x % kPackBytes;
        bool const whole = p >= wholeFrom && p < wholeTo;
        if (!whole && (half == 0 || last > 0) && at >= begin && at < end)
        {
            tensor[at] = memory[at - first * kPackBytes];
        }
    }
};

} // namespace pluginkit::kernels::detail
