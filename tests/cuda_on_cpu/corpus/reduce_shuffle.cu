// Sum, minimum and maximum: grid-stride loop, warp shuffles, one atomicAdd a warp; the type as a template,
// __reduce_max_sync.
#include "corpus.h"

namespace
{
template <class T>
__inline__ __device__ T warpReduceSum(T val)
{
    for (int offset = warpSize / 2; offset > 0; offset /= 2)
        val += __shfl_down_sync(0xffffffff, val, offset);
    return val;
}

template <class T>
__global__ void deviceReduceWarpAtomicKernel(T const* in, T* out, int N)
{
    T sum = T(0);
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < N; i += blockDim.x * gridDim.x)
    {
        sum += in[i];
    }
    sum = warpReduceSum(sum);
    if ((threadIdx.x & (warpSize - 1)) == 0)
    {
        atomicAdd(out, sum);
    }
}

__global__ void extremes(int const* in, int* lowestAndHighest, int n)
{
    int low = 2147483647, high = -2147483647 - 1;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x)
    {
        low = min(low, in[i]);
        high = max(high, in[i]);
    }
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    low = __reduce_min_sync(0xffffffff, low);
    high = __reduce_max_sync(0xffffffff, high);
#else
    for (int mask = 1; mask < 32; mask *= 2)
    {
        low = min(low, __shfl_xor_sync(0xffffffff, low, mask));
        high = max(high, __shfl_xor_sync(0xffffffff, high, mask));
    }
#endif
    if (threadIdx.x % 32 == 0)
    {
        atomicMin(lowestAndHighest, low);
        atomicMax(lowestAndHighest + 1, high);
    }
}
} // namespace

CORPUS_EXPORT int run_reduce_shuffle(float const* x, double const* wide, int const* integers, float* sum,
                                     double* wideSum, int* lowestAndHighest, int n)
{
    corpus::Device<float> const dx(x, n);
    corpus::Device<double> const dWide(wide, n);
    corpus::Device<int> const dIntegers(integers, n), extreme(lowestAndHighest, 2);
    corpus::Device<float> total(1);
    corpus::Device<double> wideTotal(1);
    total.zero();
    wideTotal.zero();
    deviceReduceWarpAtomicKernel<<<3, 96>>>(dx.get(), total.get(), n);
    deviceReduceWarpAtomicKernel<double><<<2, 64>>>(dWide.get(), wideTotal.get(), n);
    extremes<<<2, 128>>>(dIntegers.get(), extreme.get(), n);
    int error = total.copyTo(sum);
    error = error ? error : wideTotal.copyTo(wideSum);
    return error ? error : extreme.copyTo(lowestAndHighest);
}
