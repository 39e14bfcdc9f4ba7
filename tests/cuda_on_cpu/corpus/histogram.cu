// Histogram of bytes and of floats: counts in shared memory by atomics, several copies a block, then added to global
// memory.
#include "corpus.h"

namespace
{
constexpr int kBINS = 256;
constexpr int kCOPIES = 3;

__global__ void histogramBytes(unsigned char const* data, unsigned int* bins, int n)
{
    __shared__ unsigned int local[kCOPIES][kBINS];
    for (int i = threadIdx.x; i < kCOPIES * kBINS; i += blockDim.x)
    {
        (&local[0][0])[i] = 0;
    }
    __syncthreads();
    int const copy = (threadIdx.x / warpSize) % kCOPIES;
    int const words = n / 4;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < words; i += gridDim.x * blockDim.x)
    {
        uchar4 const four = reinterpret_cast<uchar4 const*>(data)[i];
        atomicAdd(&local[copy][four.x], 1u);
        atomicAdd(&local[copy][four.y], 1u);
        atomicAdd(&local[copy][four.z], 1u);
        atomicAdd(&local[copy][four.w], 1u);
    }
    if (blockIdx.x == 0 && static_cast<int>(threadIdx.x) < n % 4)
    {
        atomicAdd(&local[copy][data[words * 4 + threadIdx.x]], 1u);
    }
    __syncthreads();
    for (int i = threadIdx.x; i < kBINS; i += blockDim.x)
    {
        unsigned int sum = 0;
        for (int c = 0; c < kCOPIES; ++c)
        {
            sum += local[c][i];
        }
        if (sum)
        {
            atomicAdd(bins + i, sum);
        }
    }
}

__global__ void histogramFloats(float const* x, int* bins, int binCount, float low, float high, int n)
{
    extern __shared__ int histogramBins[];
    for (int i = threadIdx.x; i < binCount; i += blockDim.x)
    {
        histogramBins[i] = 0;
    }
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    {
        if (x[i] >= low && x[i] <= high)
        {
            int const bin = static_cast<int>((x[i] - low) / (high - low) * binCount);
            atomicAdd_block(histogramBins + min(bin, binCount - 1), 1);
        }
    }
    __syncthreads();
    for (int i = threadIdx.x; i < binCount; i += blockDim.x)
    {
        atomicAdd(bins + i, histogramBins[i]);
    }
}
} // namespace

CORPUS_EXPORT int run_histogram(unsigned char const* bytes, float const* x, unsigned int* byteBins, int* floatBins,
                                int binCount, float low, float high, int n)
{
    corpus::Device<unsigned char> const dBytes(bytes, n);
    corpus::Device<float> const dx(x, n);
    corpus::Device<unsigned int> dByteBins(kBINS);
    corpus::Device<int> dFloatBins(binCount);
    dByteBins.zero();
    dFloatBins.zero();
    histogramBytes<<<4, 160>>>(dBytes.get(), dByteBins.get(), n);
    histogramFloats<<<3, 64, binCount * sizeof(int)>>>(dx.get(), dFloatBins.get(), binCount, low, high, n);
    int const error = dByteBins.copyTo(byteBins);
    return error ? error : dFloatBins.copyTo(floatBins);
}
