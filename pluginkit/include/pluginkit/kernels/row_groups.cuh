//! Who has a row of a matrix: a part of a warp, a block, or several blocks; for normalize.cuh.
#pragma once

#include <pluginkit/kernels/rows.cuh>

#include <cstdint>

// Stores into another block's memory that are counted there: CUDA 12.1, compute capability 9.0.
#if !defined(PLUGINKIT_TARGET_CPU) && defined(CUDART_VERSION) && CUDART_VERSION >= 12010
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

//! Over a block of what each warp's threads have alike; all must call it, and each gets the result.
template <typename Operation>
__device__ float reduceWarps(float value, Operation operation, Exchange const& exchange)
{
    float* const numbers = exchange.next();
    uint32_t const warps = blockDim.x / kLanes;
    if (threadIdx.x % kLanes == 0)
    {
        numbers[threadIdx.x / kLanes] = value;
    }
    if (threadIdx.x >= warps && threadIdx.x < (warps + 3) / 4 * 4)
    {
        numbers[threadIdx.x] = Operation::kIdentity;
    }
    __syncthreads();
    // Loads of four take less time than exchanges of lanes.
    float result = ofFour(numbers, operation);
#pragma unroll 1
    for (uint32_t w = 4; w < warps; w += 4)
    {
        result = operation(result, ofFour(numbers + w, operation));
    }
    return result;
}

//! Over `lanes` neighbouring threads of a warp, a power of two; each gets the result.
template <typename Operation>
__device__ float reduceLanes(float value, uint32_t lanes, Operation operation)
{
#pragma unroll 1
    for (uint32_t distance = lanes / 2; distance > 0; distance /= 2)
    {
        value = operation(value, __shfl_xor_sync(kWholeWarp, value, static_cast<int>(distance)));
    }
    return value;
}

//! The threads that have a row: neighbours in a warp, or all of a block.
struct RowGroup
{
    Exchange exchange;
    uint32_t lanes; //!< a power of two of at most 32, or the block's threads

    __device__ uint32_t thread() const
    {
        return lanes <= kLanes ? threadIdx.x & (lanes - 1) : threadIdx.x;
    }

    __device__ uint32_t threads() const
    {
        return lanes;
    }

    //! Which of the block's groups it is.
    __device__ uint32_t number() const
    {
        return lanes <= kLanes ? threadIdx.x >> shift() : 0;
    }

    __device__ uint32_t groups() const
    {
        return lanes <= kLanes ? blockDim.x >> shift() : 1;
    }

    //! Whether it is this thread that writes what there is once a row.
    __device__ bool first() const
    {
        return thread() == 0;
    }

    //! A division by a number that the compiler doesn't know takes as long as much of a short row.
    __device__ uint32_t shift() const
    {
        return static_cast<uint32_t>(__popc(lanes - 1));
    }

    template <typename Operation>
    __device__ float reduce(float value, Operation operation) const
    {
        if (lanes < kLanes)
        {
            return reduceLanes(value, lanes, operation);
        }
        value = warpReduce(value, operation);
        return lanes > kLanes ? reduceWarps(value, operation, exchange) : value;
    }
};

#ifdef PLUGINKIT_KERNELS_CLUSTERS
//! How many clusters run at once; 0 where the kernel's code for this GPU is not that of one with clusters, or the GPU
//! can't start such a one: a part of a GPU may have fewer multiprocessors together than a cluster has blocks. Asked at
//! each launch: an answer that a template keeps in a static would hold the library in memory.
inline int64_t clustersAtOnce(void const* kernel, cudaLaunchConfig_t const& config) noexcept
{
    cudaFuncAttributes attributes{};
    int clusters = 0;
    if (cudaFuncGetAttributes(&attributes, kernel) != cudaSuccess ||
        (attributes.ptxVersion >= 90 && cudaOccupancyMaxActiveClusters(&clusters, kernel, &config) != cudaSuccess))
    {
        static_cast<void>(cudaGetLastError()); // the next launch's error isn't this one
        return 0;
    }
    return clusters;
}
#endif

} // namespace pluginkit::kernels::detail
