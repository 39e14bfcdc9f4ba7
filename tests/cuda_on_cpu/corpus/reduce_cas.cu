// Float maximum, minimum and product by compare-and-swap loops on their bits, one result a bin; a 64-bit loop for
// doubles.
#include "corpus.h"

namespace
{
__device__ float atomicMaxFloat(float* address, float value)
{
    int* const asInt = reinterpret_cast<int*>(address);
    int old = *asInt, assumed;
    do
    {
        assumed = old;
        if (__int_as_float(assumed) >= value)
        {
            break;
        }
        old = atomicCAS(asInt, assumed, __float_as_int(value));
    } while (assumed != old);
    return __int_as_float(old);
}

template <typename Operator>
__device__ void atomicApply(double* address, double value, Operator op)
{
    auto* bits = reinterpret_cast<unsigned long long int*>(address);
    unsigned long long int old = *bits, assumed;
    do
    {
        assumed = old;
        old = atomicCAS(bits, assumed, __double_as_longlong(op(__longlong_as_double(assumed), value)));
    } while (assumed != old);
}

__global__ void binned(float const* x, int const* bins, float* largest, double* products, int n)
{
    int const i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
    {
        atomicMaxFloat(largest + bins[i], x[i]);
        atomicApply(products + bins[i], x[i], [](double a, double b) { return a * b; });
    }
}
} // namespace

CORPUS_EXPORT int run_reduce_cas(float const* x, int const* bins, float* largest, double* products, int n, int count)
{
    corpus::Device<float> const dx(x, n), dLargest(largest, count);
    corpus::Device<int> const dBins(bins, n);
    corpus::Device<double> const dProducts(products, count);
    binned<<<corpus::ceilDiv(n, 100), 100>>>(dx.get(), dBins.get(), dLargest.get(), dProducts.get(), n);
    int const error = dLargest.copyTo(largest);
    return error ? error : dProducts.copyTo(products);
}
