//! What kernels.cu does, as loops in one thread.

#include <cmath>

#define EXPORT extern "C" __attribute__((visibility("default")))

EXPORT int runAxpy(float const* x, float* y, int n)
{
    for (int i = 0; i < n; ++i)
    {
        y[i] = 2.0F * x[i] + y[i];
    }
    return 0;
}

EXPORT int runGelu(float const* x, float* y, int n)
{
    for (int i = 0; i < n; ++i)
    {
        y[i] = 0.5F * x[i] * (1.0F + std::tanh(0.7978845608F * (x[i] + 0.044715F * x[i] * x[i] * x[i])));
    }
    return 0;
}

EXPORT int runBlockSum(float const* x, float* sums, int n)
{
    for (int block = 0; block < n / 64; ++block)
    {
        float sum = 0;
        for (int t = 0; t < 64; ++t)
        {
            sum += x[64 * block + t];
        }
        sums[block] = sum;
    }
    return 0;
}
