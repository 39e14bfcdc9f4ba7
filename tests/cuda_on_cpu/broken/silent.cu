// Kernels that are right, in ways that a simple check of accesses would not see. Each gives 0 if its result is right.
#include "broken.h"

#include <cstring>

namespace
{

int resultOf(int const* result, int expected)
{
    int host = -1;
    cudaError_t const error = cudaMemcpy(&host, result, sizeof(host), cudaMemcpyDeviceToHost);
    return error != cudaSuccess ? static_cast<int>(error) : (host == expected ? 0 : 1000000 + host);
}

__device__ int gTotal;

} // namespace

//! Every thread has written and fenced before its block's first thread counts the block as done.
__global__ void lastBlockKernel(int* partial, unsigned int* done, int* out)
{
    __shared__ bool last;
    __shared__ int sums[32];
    unsigned int const t = threadIdx.x;
    partial[blockIdx.x * 32 + t] = 1;
    __threadfence();
    __syncthreads();
    if (t == 0)
    {
        last = atomicInc(done, gridDim.x - 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (last)
    {
        sums[t] = 0;
        for (unsigned int block = 0; block < gridDim.x; ++block)
        {
            sums[t] += partial[block * 32 + t];
        }
        __syncthreads();
        for (unsigned int half = 16; half > 0; half /= 2)
        {
            if (t < half)
            {
                sums[t] += sums[t + half];
            }
            __syncthreads();
        }
        if (t == 0)
        {
            *out = sums[0];
        }
    }
}

EXPORT int lastBlock(bool /*repaired*/)
{
    Memory<int> partial(32 * 8, false);
    Memory<unsigned int> done(1);
    Memory<int> out(1);
    lastBlockKernel<<<8, 32>>>(partial.get(), done.get(), out.get());
    return resultOf(out.get(), 32 * 8);
}

//! Each block hands on to the next one what it has from the one before, by flags of their own.
__global__ void chainKernel(int* values, int volatile* flags)
{
    if (threadIdx.x == 0)
    {
        int before = 0;
        if (blockIdx.x > 0)
        {
            while (flags[blockIdx.x - 1] == 0)
            {
            }
            __threadfence();
            for (unsigned int i = 0; i < blockIdx.x; ++i)
            {
                before += values[i];
            }
        }
        values[blockIdx.x] = before + 1;
        __threadfence();
        flags[blockIdx.x] = 1;
    }
}

EXPORT int chain(bool /*repaired*/)
{
    Memory<int> values(6);
    Memory<int> flags(6);
    chainKernel<<<6, 32>>>(values.get(), flags.get());
    return resultOf(values.get() + 5, 32);
}

//! All blocks wait for all, several times.
__global__ void gridBarrierKernel(int* values, int* counter, int* out, int rounds)
{
    int const blocks = static_cast<int>(gridDim.x);
    int const block = static_cast<int>(blockIdx.x);
    int const t = static_cast<int>(threadIdx.x);
    for (int round = 0; round < rounds; ++round)
    {
        values[(round % 2) * blocks * 8 + block * 8 + t] = round;
        __syncthreads();
        if (t == 0)
        {
            __threadfence();
            atomicAdd(counter, 1);
            while (*static_cast<int volatile*>(counter) < blocks * (round + 1))
            {
            }
            __threadfence();
        }
        __syncthreads();
        int const right = (block + 1) % blocks;
        atomicAdd(out, values[(round % 2) * blocks * 8 + right * 8 + (7 - t)]);
    }
}

EXPORT int gridBarrier(bool /*repaired*/)
{
    Memory<int> values(2 * 3 * 8, false);
    Memory<int> counter(1);
    Memory<int> out(1);
    gridBarrierKernel<<<3, 8>>>(values.get(), counter.get(), out.get(), 4);
    return resultOf(out.get(), (0 + 1 + 2 + 3) * 24);
}

//! Lanes write, meet, and their first lane publishes for all of them.
__global__ void warpPublishesKernel(int* values, int* flag, int* out)
{
    unsigned int const t = threadIdx.x;
    if (blockIdx.x == 0)
    {
        values[t] = 1;
        __syncwarp();
        if (t == 0)
        {
            __threadfence();
            atomicExch(flag, 1);
        }
    }
    else if (t == 0)
    {
        while (atomicAdd(flag, 0) == 0)
        {
        }
        __threadfence();
        int sum = 0;
        for (int i = 0; i < 32; ++i)
        {
            sum += values[i];
        }
        *out = sum;
    }
}

EXPORT int warpPublishes(bool /*repaired*/)
{
    Memory<int> values(32);
    Memory<int> flag(1);
    Memory<int> out(1);
    warpPublishesKernel<<<2, 32>>>(values.get(), flag.get(), out.get());
    return resultOf(out.get(), 32);
}

//! Halves of a warp meet without the other half.
__global__ void halfWarpsKernel(int* out)
{
    __shared__ int values[32];
    unsigned int const t = threadIdx.x;
    unsigned int const mask = t < 16 ? 0x0000FFFFU : 0xFFFF0000U;
    values[t] = 1;
    __syncwarp(mask);
    int const other = values[t ^ 5U];
    __syncwarp(mask);
    values[t] = other + 1;
    __syncthreads();
    atomicAdd(out, values[31 - t]);
}

EXPORT int halfWarps(bool /*repaired*/)
{
    Memory<int> out(1);
    halfWarpsKernel<<<1, 32>>>(out.get());
    return resultOf(out.get(), 64);
}

//! Threads write bytes and halves that lie beside one another, and copy structures by memcpy.
struct Packet
{
    int values[12];
};

__global__ void besideKernel(signed char* bytes, short* halves, Packet const* from, Packet* to, int size, int* out)
{
    unsigned int const t = threadIdx.x;
    bytes[t] = static_cast<signed char>(t);
    halves[t] = static_cast<short>(t);
    memcpy(to + t, from + t, static_cast<size_t>(size));
    Packet packet = to[t];
    __syncthreads();
    atomicAdd(out, bytes[t ^ 1U] - halves[t ^ 1U] + packet.values[3] + to[t ^ 1U].values[5]);
}

EXPORT int beside(bool /*repaired*/)
{
    Memory<signed char> bytes(32, false);
    Memory<short> halves(32, false);
    Memory<Packet> from(32);
    Memory<Packet> to(32, false);
    Memory<int> out(1);
    besideKernel<<<1, 32>>>(bytes.get(), halves.get(), from.get(), to.get(), sizeof(Packet), out.get());
    return resultOf(out.get(), 0);
}

//! Shared memory is another one for each block; a variable of the device's is there for all of them.
__global__ void manyBlocksKernel(int* out)
{
    __shared__ int tile[32];
    extern __shared__ int rest[];
    unsigned int const t = threadIdx.x;
    tile[t] = 1;
    rest[t] = 1;
    __syncthreads();
    if (t == 0)
    {
        int sum = 0;
        for (int i = 0; i < 32; ++i)
        {
            sum += tile[i] * rest[31 - i];
        }
        atomicAdd(&gTotal, sum);
        out[blockIdx.x] = sum;
    }
}

__global__ void totalKernel(int* out)
{
    out[threadIdx.x] = gTotal;
}

EXPORT int manyBlocks(bool /*repaired*/)
{
    Memory<int> out(20);
    int const zero = 0;
    cudaMemcpyToSymbol(gTotal, &zero, sizeof(zero));
    manyBlocksKernel<<<20, 32, 32 * sizeof(int)>>>(out.get());
    totalKernel<<<1, 20>>>(out.get()); // after the first launch, and so of no conflict with it
    return resultOf(out.get(), 640);
}

//! A spin lock for threads of one warp and of several blocks.
__global__ void lockKernel(int* lock, int* count)
{
    bool done = false;
    while (!done)
    {
        if (atomicCAS(lock, 0, 1) == 0)
        {
            __threadfence();
            *count += 1;
            __threadfence();
            atomicExch(lock, 0);
            done = true;
        }
    }
}

EXPORT int lock(bool /*repaired*/)
{
    Memory<int> lock(1);
    Memory<int> count(1);
    lockKernel<<<3, 40>>>(lock.get(), count.get());
    return resultOf(count.get(), 120);
}

//! The host writes pinned and managed memory, and nobody tells the checks.
__global__ void sumKernel(int const* pinned, int const* managed, int* out)
{
    atomicAdd(out, pinned[threadIdx.x] + managed[threadIdx.x]);
}

EXPORT int hostWrites(bool /*repaired*/)
{
    int* pinned = nullptr;
    int* managed = nullptr;
    cudaMallocHost(reinterpret_cast<void**>(&pinned), 32 * sizeof(int));
    cudaMallocManaged(reinterpret_cast<void**>(&managed), 32 * sizeof(int));
    for (int i = 0; i < 32; ++i)
    {
        pinned[i] = 1;
        managed[i] = 2;
    }
    Memory<int> out(1);
    sumKernel<<<1, 32>>>(pinned, managed, out.get());
    int const result = resultOf(out.get(), 96);
    cudaFreeHost(pinned);
    cudaFree(managed);
    return result;
}

//! A loop around atomicCAS begins with a plain read, whose value it holds against what is there, or gives up at.
__global__ void largestKernel(int* largest)
{
    int const value = static_cast<int>((blockIdx.x * 37 + threadIdx.x * 11) % 101);
    int old = *largest;
    while (old < value)
    {
        int const assumed = old;
        old = atomicCAS(largest, assumed, value);
        if (old == assumed)
        {
            return;
        }
    }
}

EXPORT int largest(bool /*repaired*/)
{
    Memory<int> out(1);
    largestKernel<<<3, 64>>>(out.get());
    return resultOf(out.get(), 100);
}

//! As above; in order, only the first thread has something to change.
__global__ void largestIsFirstKernel(int* largest)
{
    int const value = 200 - static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
    int old = *largest;
    while (old < value)
    {
        int const assumed = old;
        old = atomicCAS(largest, assumed, value);
        if (old == assumed)
        {
            return;
        }
    }
}

EXPORT int largestIsFirst(bool /*repaired*/)
{
    Memory<int> out(1);
    largestIsFirstKernel<<<3, 64>>>(out.get());
    return resultOf(out.get(), 200);
}

//! Threads leave a loop with a barrier after a different number of trips, and end: no barrier waits for threads that
//! have ended (compute capability 7.0 and newer).
__global__ void leftLoopKernel(int* out)
{
    for (unsigned int trip = 0; trip <= threadIdx.x; ++trip)
    {
        __syncthreads();
        atomicAdd(out, 1);
    }
}

EXPORT int leftLoop(bool /*repaired*/)
{
    Memory<int> out(1);
    leftLoopKernel<<<1, 64>>>(out.get());
    return resultOf(out.get(), 64 * 65 / 2);
}

//! Half of a warp exchanges by a mask of its own and ends; the other half's mask names all lanes, and nobody's value is
//! read who has ended.
__global__ void endedLanesKernel(int* out)
{
    int const lane = static_cast<int>(threadIdx.x);
    if (lane >= 16)
    {
        atomicAdd(out, __shfl_xor_sync(0xFFFF0000U, lane, 1));
        return;
    }
    atomicAdd(out, __shfl_xor_sync(0xFFFFFFFFU, lane, 1));
}

EXPORT int endedLanes(bool /*repaired*/)
{
    Memory<int> out(1);
    endedLanesKernel<<<1, 32>>>(out.get());
    return resultOf(out.get(), 31 * 32 / 2);
}
