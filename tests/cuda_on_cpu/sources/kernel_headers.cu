// What pluginkit/kernels offers, called with addresses of device memory.
#include <pluginkit/kernels/bfloat16.cuh>
#include <pluginkit/kernels/elementwise.cuh>
#include <pluginkit/kernels/float16.cuh>
#include <pluginkit/kernels/launch.cuh>
#include <pluginkit/kernels/rows.cuh>

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace kernels = pluginkit::kernels;

struct Leaky
{
    float slope;
    __device__ float operator()(float x) const
    {
        return x >= 0.0F ? x : slope * x;
    }
};

struct Weighted
{
    __device__ float operator()(float a, float b, float c) const
    {
        return a * b - c;
    }
};

template <typename T>
int leaky(void const* x, void* y, int offset, int n, float slope, float xScale, float yScale)
{
    auto const in = kernels::input<T>(static_cast<T const*>(x) + offset, xScale);
    auto const out = kernels::output<T>(static_cast<T*>(y) + offset, yScale);
    return kernels::launchElementwise(nullptr, n, Leaky{slope}, out, in);
}

EXPORT int leakyFloat(void const* x, void* y, int offset, int n, float slope, float xScale, float yScale)
{
    return leaky<float>(x, y, offset, n, slope, xScale, yScale);
}

EXPORT int leakyHalf(void const* x, void* y, int offset, int n, float slope, float xScale, float yScale)
{
    return leaky<__half>(x, y, offset, n, slope, xScale, yScale);
}

EXPORT int leakyBfloat16(void const* x, void* y, int offset, int n, float slope, float xScale, float yScale)
{
    return leaky<__nv_bfloat16>(x, y, offset, n, slope, xScale, yScale);
}

EXPORT int leakyInt8(void const* x, void* y, int offset, int n, float slope, float xScale, float yScale)
{
    return leaky<int8_t>(x, y, offset, n, slope, xScale, yScale);
}

//! Numbers as INT8 elements of scale 1.
EXPORT int quantized(void const* x, void* y, int n)
{
    return kernels::launchElementwise(nullptr, n, Leaky{1.0F}, kernels::output<int8_t>(y), kernels::input<float>(x));
}

//! Of three inputs, the result in the place of the third.
EXPORT int weightedHalf(void const* a, void const* b, void* c, int n)
{
    return kernels::launchElementwise(nullptr, n, Weighted{}, kernels::output<__half>(c), kernels::input<__half>(a),
                                      kernels::input<__half>(b), kernels::input<__half>(c));
}

EXPORT int invertible(float scale)
{
    return kernels::canInvert(scale);
}

__global__ void earlyKernel(bool early, int* found)
{
    if (blockIdx.x + blockIdx.y + blockIdx.z == 0)
    {
        *found = early ? 1 : 0;
    }
}

//! Whether a kernel of so many blocks is told to wait for the kernel before it.
EXPORT int early(int* found, int x, int y, int z)
{
    dim3 const blocks{static_cast<unsigned>(x), static_cast<unsigned>(y), static_cast<unsigned>(z)};
    kernels::detail::launchEarlyIfFew(earlyKernel, blocks, 1, nullptr, found);
    return cudaGetLastError();
}

//! A softmax of each row, a block a row.
__global__ void softmaxKernel(float const* x, float* y, int columns)
{
    __shared__ float scratch[kernels::kWarps];
    float const* const from = x + static_cast<int64_t>(blockIdx.x) * columns;
    float* const to = y + static_cast<int64_t>(blockIdx.x) * columns;
    int const first = static_cast<int>(threadIdx.x);
    int const step = static_cast<int>(blockDim.x);
    float most = -INFINITY;
    for (int i = first; i < columns; i += step)
    {
        most = fmaxf(most, from[i]);
    }
    most = kernels::blockReduce(most, kernels::Max{}, scratch);
    float sum = 0.0F;
    for (int i = first; i < columns; i += step)
    {
        sum += expf(from[i] - most);
    }
    sum = kernels::blockReduce(sum, kernels::Sum{}, scratch);
    for (int i = first; i < columns; i += step)
    {
        to[i] = expf(from[i] - most) / sum;
    }
}

EXPORT int softmax(void const* x, void* y, int rows, int columns, int threads)
{
    softmaxKernel<<<static_cast<unsigned>(rows), static_cast<unsigned>(threads)>>>(static_cast<float const*>(x),
                                                                                   static_cast<float*>(y), columns);
    return cudaGetLastError();
}

//! Whose order shows in the result.
struct Mixed
{
    __device__ float operator()(float a, float b) const
    {
        return 0.75F * a - b;
    }
};

//! A warp's and a block's result, and the warp's again by the exchanges that a GPU makes.
__global__ void reductionsKernel(float const* x, float* warp, float* block, float* exchanged)
{
    __shared__ float scratch[kernels::kWarps];
    unsigned int const t = threadIdx.x;
    warp[t] = kernels::warpReduce(x[t], Mixed{});
    block[t] = kernels::blockReduce(x[t], Mixed{}, scratch);
    float value = x[t];
    for (int distance = 16; distance > 0; distance /= 2)
    {
        value = Mixed{}(value, __shfl_xor_sync(kernels::kWholeWarp, value, distance));
    }
    exchanged[t] = value;
}

EXPORT int reductions(void const* x, void* warp, void* block, void* exchanged, int threads)
{
    reductionsKernel<<<1, static_cast<unsigned>(threads)>>>(static_cast<float const*>(x), static_cast<float*>(warp),
                                                            static_cast<float*>(block), static_cast<float*>(exchanged));
    return cudaGetLastError();
}
