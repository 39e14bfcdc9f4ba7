// Defects that AddressSanitizer or UndefinedBehaviorSanitizer finds in compiled kernels.
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
__global__ void signedOverflowKernel(int* x)
{
    int const i = static_cast<int>(threadIdx.x);
    int const size = 50000;
    x[i] = kRepaired ? static_cast<int>(static_cast<long long>(size) * (size + i) / 4)
                     : size * (size + i) / 4; // BUG signedOverflow
}

EXPORT int signedOverflow(bool repaired)
{
    Memory<int> x(4);
    LAUNCH(signedOverflowKernel, 1, 4, 0, x.get());
    return finish();
}

template <bool kRepaired>
__global__ void wideShiftKernel(unsigned int* x)
{
    unsigned int const lane = threadIdx.x;
    x[lane] = kRepaired && lane >= 32 ? 0U : 1U << lane; // BUG wideShift
}

EXPORT int wideShift(bool repaired)
{
    Memory<unsigned int> x(33);
    LAUNCH(wideShiftKernel, 1, 33, 0, x.get());
    return finish();
}

template <bool kRepaired>
__global__ void narrowCastKernel(float const* x, signed char* q)
{
    unsigned int const i = threadIdx.x;
    float const scaled = x[i] + 100.0F * static_cast<float>(i);
    float const limited = kRepaired ? fminf(fmaxf(scaled, -128.0F), 127.0F) : scaled;
    q[i] = static_cast<signed char>(limited); // BUG narrowCast
}

EXPORT int narrowCast(bool repaired)
{
    Memory<float> x(4);
    Memory<signed char> q(4);
    LAUNCH(narrowCastKernel, 1, 4, 0, x.get(), q.get());
    return finish();
}

template <bool kRepaired>
__global__ void misalignedVectorKernel(float const* x, float4* y, int offset)
{
    y[threadIdx.x] = reinterpret_cast<float4 const*>(x + offset)[threadIdx.x]; // BUG misalignedVector
}

EXPORT int misalignedVector(bool repaired)
{
    Memory<float> x(32);
    Memory<float4> y(4);
    LAUNCH(misalignedVectorKernel, 1, 4, 0, x.get(), y.get(), repaired ? 4 : 3);
    return finish();
}

template <bool kRepaired>
__global__ void divisionByZeroKernel(int* x, int channels)
{
    x[threadIdx.x] = static_cast<int>(threadIdx.x) / (kRepaired && channels == 0 ? 1 : channels); // BUG divisionByZero
}

EXPORT int divisionByZero(bool repaired)
{
    Memory<int> x(4);
    LAUNCH(divisionByZeroKernel, 1, 4, 0, x.get(), 0);
    return finish();
}
