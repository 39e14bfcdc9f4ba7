// Layer norm in half with float sums: a block sum with barriers inside a called device function, int4 loads of 8
// halves.
#include "corpus.h"

#include <cuda_fp16.h>

#include <type_traits>

namespace
{
template <typename T>
__device__ __forceinline__ T warpReduceSum(T value)
{
#pragma unroll
    for (int mask = 16; mask > 0; mask >>= 1)
    {
        value += __shfl_xor_sync(0xffffffff, value, mask, 32);
    }
    return value;
}

/// The sum over the block, the same in every thread.
template <typename T>
__device__ __forceinline__ T blockReduceSum(T value)
{
    static __shared__ T shared[32];
    int lane = threadIdx.x & 0x1f;
    int wid = threadIdx.x >> 5;
    value = warpReduceSum<T>(value);
    if (lane == 0)
        shared[wid] = value;
    __syncthreads();
    value = (lane < (blockDim.x + 31) / 32) ? shared[lane] : (T)0.0f;
    value = warpReduceSum<T>(value);
    __syncthreads();
    return value;
}

constexpr int kVECTOR = sizeof(int4) / sizeof(half);

union Pack
{
    int4 bits;
    half2 pairs[kVECTOR / 2];
};

__global__ void layerNormHalfKernel(half const* __restrict__ input, half const* __restrict__ gamma,
                                    half const* __restrict__ beta, half* __restrict__ output, int const n,
                                    float const epsilon)
{
    int const packs = n / kVECTOR;
    int4 const* in = reinterpret_cast<int4 const*>(input + static_cast<size_t>(blockIdx.x) * n);
    int4* out = reinterpret_cast<int4*>(output + static_cast<size_t>(blockIdx.x) * n);

    float localSum = 0.0f;
    for (int i = threadIdx.x; i < packs; i += blockDim.x)
    {
        Pack pack;
        pack.bits = __ldg(in + i);
#pragma unroll
        for (int j = 0; j < kVECTOR / 2; ++j)
        {
            float2 const pair = __half22float2(pack.pairs[j]);
            localSum += pair.x + pair.y;
        }
    }
    float const mean = blockReduceSum<float>(localSum) / n;

    float localSquares = 0.0f;
    for (int i = threadIdx.x; i < packs; i += blockDim.x)
    {
        Pack pack;
        pack.bits = __ldg(in + i);
#pragma unroll
        for (int j = 0; j < kVECTOR / 2; ++j)
        {
            float2 const pair = __half22float2(pack.pairs[j]);
            localSquares += (pair.x - mean) * (pair.x - mean) + (pair.y - mean) * (pair.y - mean);
        }
    }
    float const inverse = rsqrtf(blockReduceSum<float>(localSquares) / n + epsilon);

    for (int i = threadIdx.x; i < packs; i += blockDim.x)
    {
        Pack pack, scale, shift;
        pack.bits = __ldg(in + i);
        scale.bits = __ldg(reinterpret_cast<int4 const*>(gamma) + i);
        shift.bits = __ldg(reinterpret_cast<int4 const*>(beta) + i);
#pragma unroll
        for (int j = 0; j < kVECTOR / 2; ++j)
        {
            float2 pair = __half22float2(pack.pairs[j]);
            float2 const g = __half22float2(scale.pairs[j]);
            float2 const b = __half22float2(shift.pairs[j]);
            pair.x = (pair.x - mean) * inverse * g.x + b.x;
            pair.y = (pair.y - mean) * inverse * g.y + b.y;
            pack.pairs[j] = __float22half2_rn(pair);
        }
        out[i] = pack.bits;
    }
}
} // namespace

CORPUS_EXPORT int run_layer_norm_half(half const* x, half const* gamma, half const* beta, half* y, int rows, int width,
                                      float epsilon)
{
    size_t const count = static_cast<size_t>(rows) * width;
    corpus::Device<half> const dx(x, count), dGamma(gamma, width), dBeta(beta, width);
    corpus::Device<half> const dy(count);
    int const threads = width / kVECTOR > 64 ? 96 : 32;
    layerNormHalfKernel<<<dim3(rows), dim3(threads), 0, cudaStreamLegacy>>>(dx.get(), dGamma.get(), dBeta.get(),
                                                                            dy.get(), width, epsilon);
    return dy.copyTo(y);
}
