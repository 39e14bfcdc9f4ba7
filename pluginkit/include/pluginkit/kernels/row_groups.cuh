//! Who has a row of a matrix: a part of a warp, a block, or several blocks; for normalize.cuh.
#pragma once

#include <pluginkit/kernels/rows.cuh>

#include <cstdint>

// Blocks that exchange numbers: CUDA 11.8, compute capability 9.0.
#if !defined(PLUGINKIT_TARGET_CPU) && defined(CUDART_VERSION) && CUDART_VERSION >= 11080
#define PLUGINKIT_KERNELS_CLUSTERS 1
#endif

namespace pluginkit::kernels::detail
{

//! What the threads of a block exchange their numbers by: in turns, so that one barrier is enough for each reduction.
//! Who is late still reads the numbers of the last turn, while others already write those of the next.
struct Exchange
{
    float* scratch; //!< shared memory, two turns of `kWarps` floats
    uint32_t* turn;

    __device__ float* next() const
    {
        *turn ^= 1U;
        return scratch + *turn * kWarps;
    }
};

//! Over a block of at most 32 * Warps threads, all of which must call it; each gets the result.
template <uint32_t Warps, typename Operation>
__device__ float reduceBlock(float value, Operation operation, Exchange const& exchange)
{
    float* const numbers = exchange.next();
    uint32_t const warps = blockDim.x / kLanes;
    value = warpReduce(value, operation);
    if (threadIdx.x % kLanes == 0)
    {
        numbers[threadIdx.x / kLanes] = value;
    }
    if (threadIdx.x >= warps && threadIdx.x < Warps)
    {
        numbers[threadIdx.x] = Operation::kIdentity;
    }
    __syncthreads();
    return warpReduce<Warps>(numbers[threadIdx.x % Warps], operation); // every warp does the same
}

//! Lanes threads of a warp.
template <uint32_t Lanes>
struct LanesOfWarp
{
    Exchange exchange; // not needed

    __device__ uint32_t thread() const
    {
        return threadIdx.x % Lanes;
    }

    __device__ uint32_t threads() const
    {
        return Lanes;
    }

    __device__ int64_t row() const
    {
        return static_cast<int64_t>(blockIdx.x) * (blockDim.x / Lanes) + threadIdx.x / Lanes;
    }

    template <typename Operation>
    __device__ float reduce(float value, Operation operation) const
    {
        return warpReduce<Lanes>(value, operation);
    }
};

//! All threads of a block of at most 32 * Warps.
template <uint32_t Warps>
struct WholeBlock
{
    Exchange exchange;

    __device__ uint32_t thread() const
    {
        return threadIdx.x;
    }

    __device__ uint32_t threads() const
    {
        return blockDim.x;
    }

    __device__ int64_t row() const
    {
        return blockIdx.x;
    }

    template <typename Operation>
    __device__ float reduce(float value, Operation operation) const
    {
        return reduceBlock<Warps>(value, operation, exchange);
    }
};

#ifdef PLUGINKIT_KERNELS_CLUSTERS
//! All threads of a cluster of Blocks blocks of at most 32 * Warps threads each (PTX ISA, "Cluster of Cooperative
//! Thread Arrays"). A block writes its number into the memory of each; code for GPUs before 9.0 has none of that, and
//! is not launched (`canCluster`).
template <uint32_t Warps, uint32_t Blocks>
struct WholeCluster
{
    Exchange exchange;

    __device__ uint32_t thread() const
    {
        return blockIdx.x % Blocks * blockDim.x + threadIdx.x;
    }

    __device__ uint32_t threads() const
    {
        return Blocks * blockDim.x;
    }

    __device__ int64_t row() const
    {
        return blockIdx.x / Blocks;
    }

    template <typename Operation>
    __device__ float reduce(float value, Operation operation) const
    {
        value = reduceBlock<Warps>(value, operation, exchange);
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
        float* const numbers = exchange.next();
        if (threadIdx.x < Blocks)
        {
            auto const mine = static_cast<uint32_t>(__cvta_generic_to_shared(numbers + blockIdx.x % Blocks));
            uint32_t there = 0;
            asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(mine), "r"(threadIdx.x));
            asm volatile("st.shared::cluster.f32 [%0], %1;" ::"r"(there), "f"(value) : "memory");
        }
        asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
        asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
        value = warpReduce<Blocks>(numbers[threadIdx.x % Blocks], operation);
#endif
        return value;
    }
};

//! Whether a kernel's code for this GPU is that of one with clusters.
template <typename Kernel>
bool canCluster(Kernel kernel) noexcept
{
    cudaFuncAttributes attributes{};
    bool const known = cudaFuncGetAttributes(&attributes, reinterpret_cast<void const*>(kernel)) == cudaSuccess;
    return known && attributes.ptxVersion >= 90;
}
#endif

} // namespace pluginkit::kernels::detail
