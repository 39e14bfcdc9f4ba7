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

constexpr uint32_t kTurns = 4;

//! What the threads of a block exchange their numbers by: in turns, so that one barrier is enough for each exchange.
//! Who is late still reads the numbers of the last turn, while others already write those of the next. A reduction over
//! a cluster takes two turns, the block's and the cluster's: with four each has two of its own, by turns.
struct Exchange
{
    float* scratch; //!< shared memory, kTurns * kWarps floats
    uint32_t* turn;

    __device__ float* next() const
    {
        *turn = (*turn + 1) % kTurns;
        return scratch + *turn * kWarps;
    }
};

//! Says that this thread runs, to the others of its cluster of blocks: once, before `waitForCluster`.
inline __device__ void arriveInCluster()
{
#if defined(PLUGINKIT_KERNELS_CLUSTERS) && defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
#endif
}

//! Waits until all threads of the cluster have arrived.
inline __device__ void waitForCluster()
{
#if defined(PLUGINKIT_KERNELS_CLUSTERS) && defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
#endif
}

//! The operation over four numbers in shared memory.
template <typename Operation>
__device__ float ofFour(float const* numbers, Operation operation)
{
    auto const four = *reinterpret_cast<float4 const*>(numbers);
    return operation(operation(four.x, four.y), operation(four.z, four.w));
}

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
    if constexpr (Warps % 4 == 0 && Warps <= 16)
    {
        // Loads of four take less time than exchanges of lanes.
        float result = ofFour(numbers, operation);
#pragma unroll
        for (uint32_t w = 4; w < Warps; w += 4)
        {
            result = operation(result, ofFour(numbers + w, operation));
        }
        return result;
    }
    else
    {
        return warpReduce<Warps>(numbers[threadIdx.x % Warps], operation); // every warp does the same
    }
}

//! Lanes threads of a warp.
template <uint32_t Lanes>
struct LanesOfWarp
{
    static constexpr uint32_t kBlocks = 1;

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
    static constexpr uint32_t kBlocks = 1;

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
//! is not launched (`canCluster`). A block's memory is there once the block runs (CUDA Programming Guide, "Distributed
//! Shared Memory"): all threads call `arriveInCluster` when they start, `waitForCluster` before the first reduction.
template <uint32_t Warps, uint32_t Blocks>
struct WholeCluster
{
    static constexpr uint32_t kBlocks = Blocks;

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
        waitForCluster();
        value = warpReduce<Blocks>(numbers[threadIdx.x % Blocks], operation);
#endif
        return value;
    }
};

//! Whether a kernel's code for this GPU is that of one with clusters, and the GPU can start such a one: a part of a GPU
//! may have fewer multiprocessors together than a cluster has blocks. Asked at each launch: an answer that a template
//! keeps in a static would hold the library in memory.
inline bool canCluster(void const* kernel, cudaLaunchConfig_t const& config) noexcept
{
    cudaFuncAttributes attributes{};
    int clusters = 0;
    if (cudaFuncGetAttributes(&attributes, kernel) != cudaSuccess ||
        (attributes.ptxVersion >= 90 && cudaOccupancyMaxActiveClusters(&clusters, kernel, &config) != cudaSuccess))
    {
        static_cast<void>(cudaGetLastError()); // the next launch's error isn't this one
        return false;
    }
    return clusters > 0;
}
#endif

} // namespace pluginkit::kernels::detail
