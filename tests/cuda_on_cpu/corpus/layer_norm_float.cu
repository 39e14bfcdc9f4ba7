// Layer norm in float: Welford's mean and variance merged over a warp and a block, float4 loads and stores with a
// scalar way.
#include "corpus.h"

namespace layer_norm_float
{
struct Moments
{
    float mean;
    float m2;
    float count;
};

__device__ __forceinline__ void add(Moments& m, float x)
{
    m.count += 1.f;
    float const delta = x - m.mean;
    m.mean += delta / m.count;
    m.m2 += delta * (x - m.mean);
}

__device__ __forceinline__ void merge(Moments& a, Moments const& b)
{
    if (b.count == 0.f)
    {
        return;
    }
    float const count = a.count + b.count;
    float const part = b.count / count;
    float const delta = b.mean - a.mean;
    a.mean += delta * part;
    a.m2 += b.m2 + delta * delta * a.count * part;
    a.count = count;
}

__device__ void warpMerge(Moments& m)
{
    for (int mask = 16; mask >= 1; mask >>= 1)
    {
        Moments const other{__shfl_xor_sync(0xffffffff, m.mean, mask), __shfl_xor_sync(0xffffffff, m.m2, mask),
                            __shfl_xor_sync(0xffffffff, m.count, mask)};
        // Both lanes must merge in the same order, or their means differ in the last bit.
        Moments left = (threadIdx.x & mask) ? other : m;
        Moments const right = (threadIdx.x & mask) ? m : other;
        if (left.count == 0.f)
        {
            left = right;
        }
        else
        {
            merge(left, right);
        }
        m = left;
    }
}

template <int BLOCK, bool VECTOR>
__global__ void kernel(float const* __restrict__ x, float const* __restrict__ gamma, float const* __restrict__ beta,
                       float* __restrict__ y, int width, float epsilon)
{
    __shared__ Moments warps[BLOCK / 32];
    __shared__ float sMean, sInverse;
    x += static_cast<size_t>(blockIdx.x) * width;
    y += static_cast<size_t>(blockIdx.x) * width;

    Moments mine{0.f, 0.f, 0.f};
    if (VECTOR)
    {
        float4 const* x4 = reinterpret_cast<float4 const*>(x);
        for (int i = threadIdx.x; i < width / 4; i += BLOCK)
        {
            float4 const value = x4[i];
            add(mine, value.x);
            add(mine, value.y);
            add(mine, value.z);
            add(mine, value.w);
        }
    }
    else
    {
        for (int i = threadIdx.x; i < width; i += BLOCK)
        {
            add(mine, x[i]);
        }
    }
    warpMerge(mine);
    if (!(threadIdx.x % 32))
    {
        warps[threadIdx.x / 32] = mine;
    }
    __syncthreads();
    if (!threadIdx.x)
    {
        for (int w = 1; w < BLOCK / 32; w++)
        {
            merge(mine, warps[w]);
        }
        sMean = mine.mean;
        sInverse = rsqrtf(mine.m2 / mine.count + epsilon);
    }
    __syncthreads();

    float const mean = sMean, inverse = sInverse;
    if (VECTOR)
    {
        for (int i = threadIdx.x; i < width / 4; i += BLOCK)
        {
            float4 value = reinterpret_cast<float4 const*>(x)[i];
            float4 const g = __ldg(reinterpret_cast<float4 const*>(gamma) + i);
            float4 const b = __ldg(reinterpret_cast<float4 const*>(beta) + i);
            value.x = (value.x - mean) * inverse * g.x + b.x;
            value.y = (value.y - mean) * inverse * g.y + b.y;
            value.z = (value.z - mean) * inverse * g.z + b.z;
            value.w = (value.w - mean) * inverse * g.w + b.w;
            reinterpret_cast<float4*>(y)[i] = value;
        }
    }
    else
    {
        for (int i = threadIdx.x; i < width; i += BLOCK)
        {
            y[i] = (x[i] - mean) * inverse * __ldg(gamma + i) + __ldg(beta + i);
        }
    }
}
} // namespace layer_norm_float

CORPUS_EXPORT int run_layer_norm_float(float const* x, float const* gamma, float const* beta, float* y, int rows,
                                       int width, float epsilon)
{
    size_t const count = static_cast<size_t>(rows) * width;
    corpus::Device<float> const dx(x, count), dGamma(gamma, width), dBeta(beta, width);
    corpus::Device<float> const dy(count);
    auto launch = [&](auto kernel)
    { kernel<<<rows, 128>>>(dx.get(), dGamma.get(), dBeta.get(), dy.get(), width, epsilon); };
    width % 4 == 0 ? launch(&layer_norm_float::kernel<128, true>) : launch(&layer_norm_float::kernel<128, false>);
    return dy.copyTo(y);
}
