// Defects that AddressSanitizer finds.
#include "broken.h"

template <bool kRepaired>
__global__ void overrunWriteKernel(float* x, int n)
{
    int const i = static_cast<int>(threadIdx.x);
    if (kRepaired ? i < n : i <= n)
    {
        x[i] = 1.0F; // BUG overrunWrite
    }
}

EXPORT int overrunWrite(bool repaired)
{
    Memory<float> x(20);
    LAUNCH(overrunWriteKernel, 1, 32, 0, x.get(), 20);
    return finish();
}

template <bool kRepaired>
__global__ void overrunReadKernel(float const* x, float* y, int n)
{
    int const i = static_cast<int>(threadIdx.x);
    if (i < n)
    {
        int const right = kRepaired && i + 1 == n ? i : i + 1;
        y[i] = x[i] + x[right]; // BUG overrunRead
    }
}

EXPORT int overrunRead(bool repaired)
{
    Memory<float> x(20);
    Memory<float> y(20);
    LAUNCH(overrunReadKernel, 1, 32, 0, x.get(), y.get(), 20);
    return finish();
}

template <bool kRepaired>
__global__ void overrunLocalKernel(float const* x, float* y, int n)
{
    float best[4] = {};
    for (int i = 0; i < n; ++i)
    {
        best[i] = x[i]; // BUG overrunLocal
    }
    y[threadIdx.x] = best[n % 4] + best[0];
}

EXPORT int overrunLocal(bool repaired)
{
    Memory<float> x(8);
    Memory<float> y(8);
    LAUNCH(overrunLocalKernel, 1, 2, 0, x.get(), y.get(), repaired ? 4 : 5);
    return finish();
}

template <bool kRepaired>
__global__ void overrunSharedKernel(float* y)
{
    __shared__ float row[32];
    unsigned int const t = threadIdx.x;
    row[kRepaired ? t : t + 1] = 1.0F; // BUG overrunShared
    __syncthreads();
    y[t] = row[31 - t];
}

EXPORT int overrunShared(bool repaired)
{
    Memory<float> y(32);
    LAUNCH(overrunSharedKernel, 1, 32, 0, y.get());
    return finish();
}

template <bool kRepaired>
__global__ void overrunDynamicKernel(float* y)
{
    extern __shared__ float rows[];
    unsigned int const t = threadIdx.x;
    rows[t] = 1.0F;
    __syncthreads();
    y[t] = rows[t + (kRepaired ? 0 : 1)]; // BUG overrunDynamic
}

EXPORT int overrunDynamic(bool repaired)
{
    Memory<float> y(16);
    LAUNCH(overrunDynamicKernel, 1, 16, 64, y.get());
    return finish();
}

template <bool kRepaired>
__global__ void freedKernel(float* x)
{
    x[threadIdx.x] += 1.0F; // BUG freed
}

EXPORT int freed(bool repaired)
{
    float* x = nullptr;
    cudaMalloc(&x, 32 * sizeof(float));
    cudaMemset(x, 0, 32 * sizeof(float));
    if (!repaired)
    {
        cudaFree(x);
    }
    LAUNCH(freedKernel, 1, 32, 0, x);
    int const error = finish();
    if (repaired)
    {
        cudaFree(x);
    }
    return error;
}
