// Defects that the checks of memory accesses find: races, memory that nobody wrote.
#include "broken.h"

template <bool kRepaired>
__global__ void missingBarrierKernel(int* out)
{
    __shared__ int tile[64];
    int const t = static_cast<int>(threadIdx.x);
    tile[t] = t; // BUG missingBarrier
    if (kRepaired)
    {
        __syncthreads();
    }
    out[t] = t > 0 ? tile[t - 1] : 0; // BUG missingBarrier
}

EXPORT int missingBarrier(bool repaired)
{
    Memory<int> out(64);
    LAUNCH(missingBarrierKernel, 1, 64, 0, out.get());
    return finish();
}

template <bool kRepaired>
__global__ void tileReusedKernel(float const* x, float* out, int steps)
{
    __shared__ float tile[64];
    unsigned int const t = threadIdx.x;
    float sum = 0.0F;
    for (int step = 0; step < steps; ++step)
    {
        tile[t] = x[static_cast<unsigned int>(step) * 64 + t]; // BUG tileReused
        __syncthreads();
        sum += tile[63 - t]; // BUG tileReused
        if (kRepaired)
        {
            __syncthreads();
        }
    }
    out[t] = sum;
}

EXPORT int tileReused(bool repaired)
{
    Memory<float> x(192);
    Memory<float> out(64);
    LAUNCH(tileReusedKernel, 1, 64, 0, x.get(), out.get(), 3);
    return finish();
}

//! A reduction's last steps as they were written before Volta: within a warp, without any synchronisation.
template <bool kRepaired>
__global__ void missingWarpSyncKernel(float* out)
{
    __shared__ float volatile sums[64];
    unsigned int const t = threadIdx.x;
    sums[t] = 1.0F;
    __syncthreads();
    if (t < 32)
    {
        for (unsigned int half = 32; half > 0; half /= 2)
        {
            float const other = t < half ? sums[t + half] : 0.0F; // BUG missingWarpSync
            if (kRepaired)
            {
                __syncwarp();
            }
            sums[t] = sums[t] + other; // BUG missingWarpSync
            if (kRepaired)
            {
                __syncwarp();
            }
        }
    }
    if (t == 0)
    {
        out[0] = sums[0];
    }
}

EXPORT int missingWarpSync(bool repaired)
{
    Memory<float> out(1);
    LAUNCH(missingWarpSyncKernel, 1, 64, 0, out.get());
    return finish();
}

template <bool kRepaired>
__global__ void blocksCollideKernel(float* out, int width)
{
    // Each block has a row; the broken one also writes the first element of the next block's.
    int const i = static_cast<int>(blockIdx.x) * width + static_cast<int>(threadIdx.x);
    if (kRepaired ? static_cast<int>(threadIdx.x) < width : static_cast<int>(threadIdx.x) <= width)
    {
        out[i] = static_cast<float>(threadIdx.x); // BUG blocksCollide
    }
}

EXPORT int blocksCollide(bool repaired)
{
    Memory<float> out(64);
    LAUNCH(blocksCollideKernel, 2, 32, 0, out.get(), 20);
    return finish();
}

template <bool kRepaired>
__global__ void plainIncrementKernel(int const* labels, int* histogram)
{
    int const bin = labels[blockIdx.x * blockDim.x + threadIdx.x];
    if (kRepaired)
    {
        atomicAdd(&histogram[bin], 1);
    }
    else
    {
        ++histogram[bin]; // BUG plainIncrement
    }
}

EXPORT int plainIncrement(bool repaired)
{
    Memory<int> labels(64);
    Memory<int> histogram(4);
    LAUNCH(plainIncrementKernel, 2, 32, 0, labels.get(), histogram.get());
    return finish();
}

template <bool kRepaired>
__global__ void sumReadTooEarlyKernel(float const* x, float* sum, float* y)
{
    atomicAdd(sum, x[threadIdx.x] + 1.0F); // BUG sumReadTooEarly
    if (kRepaired)
    {
        __syncthreads();
    }
    y[threadIdx.x] = x[threadIdx.x] / *sum; // BUG sumReadTooEarly
}

EXPORT int sumReadTooEarly(bool repaired)
{
    Memory<float> x(64);
    Memory<float> sum(1);
    Memory<float> y(64);
    LAUNCH(sumReadTooEarlyKernel, 1, 64, 0, x.get(), sum.get(), y.get());
    return finish();
}

template <bool kRepaired>
__global__ void sameFlagKernel(float const* x, int* found)
{
    if (x[threadIdx.x] == 0.0F)
    {
        if (kRepaired)
        {
            atomicExch(found, 1);
        }
        else
        {
            *found = 1; // BUG sameFlag
        }
    }
}

EXPORT int sameFlag(bool repaired)
{
    Memory<float> x(32);
    Memory<int> found(1);
    LAUNCH(sameFlagKernel, 1, 32, 0, x.get(), found.get());
    return finish();
}

//! The block that finishes last adds up what all have stored.
template <bool kRepaired>
__global__ void missingFenceKernel(float* partial, unsigned int* done, float* out)
{
    if (threadIdx.x == 0)
    {
        partial[blockIdx.x] = 1.0F; // BUG missingFence
        if (kRepaired)
        {
            __threadfence();
        }
        if (atomicAdd(done, 1U) == gridDim.x - 1)
        {
            float sum = 0.0F;
            for (unsigned int i = 0; i < gridDim.x; ++i)
            {
                sum += partial[i]; // BUG missingFence
            }
            *out = sum;
        }
    }
}

EXPORT int missingFence(bool repaired)
{
    Memory<float> partial(8);
    Memory<unsigned int> done(1);
    Memory<float> out(1);
    LAUNCH(missingFenceKernel, 8, 32, 0, partial.get(), done.get(), out.get());
    return finish();
}

template <bool kRepaired>
__global__ void lockWithoutFenceKernel(int* lock, int* count)
{
    bool done = false;
    while (!done)
    {
        if (atomicCAS(lock, 0, 1) == 0)
        {
            if (kRepaired)
            {
                __threadfence();
            }
            *count = *count + 1; // BUG lockWithoutFence
            if (kRepaired)
            {
                __threadfence();
            }
            atomicExch(lock, 0);
            done = true;
        }
    }
}

EXPORT int lockWithoutFence(bool repaired)
{
    Memory<int> lock(1);
    Memory<int> count(1);
    LAUNCH(lockWithoutFenceKernel, 2, 8, 0, lock.get(), count.get());
    return finish();
}

template <bool kRepaired>
__global__ void unwrittenSharedKernel(float const* x, float* out, unsigned int n)
{
    __shared__ float tile[64];
    unsigned int const t = threadIdx.x;
    if (t < n)
    {
        tile[t] = x[t];
    }
    else if (kRepaired)
    {
        tile[t] = 0.0F;
    }
    __syncthreads();
    out[t] = tile[63 - t]; // BUG unwrittenShared
}

EXPORT int unwrittenShared(bool repaired)
{
    Memory<float> x(64);
    Memory<float> out(64);
    LAUNCH(unwrittenSharedKernel, 1, 64, 0, x.get(), out.get(), 50U);
    return finish();
}

template <bool kRepaired>
__global__ void unwrittenGlobalKernel(float* sums)
{
    sums[threadIdx.x] += 1.0F; // BUG unwrittenGlobal
}

EXPORT int unwrittenGlobal(bool repaired)
{
    Memory<float> sums(32, repaired);
    LAUNCH(unwrittenGlobalKernel, 1, 32, 0, sums.get());
    return finish();
}

template <bool kRepaired>
__global__ void unwrittenResultKernel(float* y, int n)
{
    int const i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
    if (i < n)
    {
        y[i] = 1.0F;
    }
}

EXPORT int unwrittenResult(bool repaired)
{
    Memory<float> y(100, false);
    float host[100];
    // 100 elements take 4 blocks of 32; rounded down there are 3.
    LAUNCH(unwrittenResultKernel, repaired ? 4 : 100 / 32, 32, 0, y.get(), 100);
    return static_cast<int>(cudaMemcpy(host, y.get(), sizeof(host), cudaMemcpyDeviceToHost)); // BUG unwrittenResult
}

template <bool kRepaired>
__global__ void inactiveLaneKernel(int* out, int n)
{
    int const t = static_cast<int>(threadIdx.x);
    int value = t < n ? t : 0;
    if (kRepaired)
    {
        value += __shfl_down_sync(0xFFFFFFFFU, value, 8);
    }
    else if (t < n)
    {
        value += __shfl_down_sync(0xFFFFFU, value, 8); // BUG inactiveLane
    }
    out[t] = value;
}

EXPORT int inactiveLane(bool repaired)
{
    Memory<int> out(32);
    LAUNCH(inactiveLaneKernel, 1, 32, 0, out.get(), 20);
    return finish();
}

//! Halves by two threads of one word: no race; bytes that overlap: one.
template <bool kRepaired>
__global__ void overlappingBytesKernel(signed char* x)
{
    unsigned int const t = threadIdx.x;
    auto* const pair = reinterpret_cast<short*>(x);
    if (t == 0)
    {
        pair[1] = 1; // BUG overlappingBytes
    }
    else
    {
        x[kRepaired ? t % 2 : 2 + t % 2] = 2; // BUG overlappingBytes
    }
}

EXPORT int overlappingBytes(bool repaired)
{
    Memory<signed char> x(4);
    LAUNCH(overlappingBytesKernel, 1, 3, 0, x.get());
    return finish();
}

//! Its pointer is hidden from the look at a launch's arguments.
class Table
{
public:
    explicit Table(float const* values) : mValues(values) {}

    __device__ float operator[](unsigned int i) const
    {
        return mValues[i]; // BUG hostPointer
    }

private:
    float const* mValues;
};

template <bool kRepaired>
__global__ void hostPointerKernel(Table table, float* out)
{
    float const mine = table[threadIdx.x];
    // What lanes bring to one another lies in the engine's memory, which is the host's too.
    float const others = __shfl_xor_sync(0xFFFFFFFFU, mine, 1);
    out[threadIdx.x] = __ballot_sync(0xFFFFFFFFU, others > 0.0F) != 0 ? others : mine;
}

//! As a harness calls it, that has told of all the device memory there is.
EXPORT int hostPointer(bool repaired)
{
    static float const table[32] = {};
    float* const onHost = new float[32]();
    Memory<float> onDevice(32);
    Memory<float> out(32);
    cudaMemcpy(onDevice.get(), table, sizeof(table), cudaMemcpyHostToDevice);
    LAUNCH(hostPointerKernel, 1, 32, 0, Table{repaired ? onDevice.get() : onHost}, out.get());
    int const error = finish();
    delete[] onHost;
    return error;
}
