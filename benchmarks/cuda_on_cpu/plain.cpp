//! What kernels.cu does, as loops in one thread.

#include <cmath>

#define EXPORT extern "C" __attribute__((visibility("default")))

EXPORT int runMultiplyAdd(float const* x, float* y, int n)
{
    for (int i = 0; i < n; ++i)
    {
        y[i] = 2.0F * x[i] + 1.0F;
    }
    return 0;
}

EXPORT int runSilu(float const* x, float* y, int n)
{
    for (int i = 0; i < n; ++i)
    {
        y[i] = x[i] / (1.0F + std::exp(-x[i]));
    }
    return 0;
}

EXPORT int runExchange(float const* x, float* y, int n)
{
    for (int i = 0; i < n; ++i)
    {
        y[i] = x[i ^ 1];
    }
    return 0;
}

EXPORT int runBlockSum(float const* x, float* y, int n)
{
    for (int block = 0; block < n / 256; ++block)
    {
        float sum = 0;
        for (int t = 0; t < 256; ++t)
        {
            sum += x[256 * block + t];
        }
        y[block] = sum;
    }
    return 0;
}

EXPORT int runWarpSum(float const* x, float* y, int n)
{
    return runBlockSum(x, y, n);
}
