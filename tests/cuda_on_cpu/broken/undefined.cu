// Defects that UndefinedBehaviorSanitizer finds.
#include "broken.h"

template <bool kRepaired>
__global__ void signedOverflowKernel(int* x, int rows, int columns)
{
    int const i = static_cast<int>(threadIdx.x);
    if (kRepaired)
    {
        x[i] = static_cast<int>(static_cast<long long>(rows) * columns / 4);
    }
    else
    {
        x[i] = rows * columns / 4; // BUG signedOverflow
    }
}

EXPORT int signedOverflow(bool repaired)
{
    Memory<int> x(4);
    LAUNCH(signedOverflowKernel, 1, 4, 0, x.get(), 50000, 60000);
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
