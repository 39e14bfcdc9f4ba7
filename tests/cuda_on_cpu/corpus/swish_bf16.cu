// Swish in bfloat16, gated (SwiGLU): bfloat162 loads, float arithmetic, bf16 multiplication; a beta in __constant__
// memory.
#include "corpus.h"

#include <cuda_bf16.h>

__constant__ float swishBeta;

namespace
{
__device__ inline float swish(float x)
{
    return x / (1.0f + __expf(-swishBeta * x));
}

__global__ void swishGateKernel(__nv_bfloat16 const* gateAndUp, __nv_bfloat16* out, int width)
{
    int const pair = blockIdx.x * blockDim.x + threadIdx.x;
    int const row = blockIdx.y;
    if (pair >= width / 2)
    {
        return;
    }
    auto const* gate = reinterpret_cast<__nv_bfloat162 const*>(gateAndUp + static_cast<size_t>(row) * 2 * width);
    auto const* up = gate + width / 2;
    float2 const g = __bfloat1622float2(gate[pair]);
    __nv_bfloat162 const activated = __floats2bfloat162_rn(swish(g.x), swish(g.y));
    reinterpret_cast<__nv_bfloat162*>(out + static_cast<size_t>(row) * width)[pair] = __hmul2(activated, up[pair]);
}
} // namespace

CORPUS_EXPORT int run_swish_bf16(__nv_bfloat16 const* gateAndUp, __nv_bfloat16* y, float beta, int rows, int width)
{
    corpus::Device<__nv_bfloat16> const input(gateAndUp, static_cast<size_t>(rows) * 2 * width);
    corpus::Device<__nv_bfloat16> const output(static_cast<size_t>(rows) * width);
    if (cudaError_t const error = cudaMemcpyToSymbol(swishBeta, &beta, sizeof(beta)))
    {
        return static_cast<int>(error);
    }
    dim3 const block(64), grid(corpus::ceilDiv(width / 2, 64), rows);
    swishGateKernel<<<grid, block>>>(input.get(), output.get(), width);
    return output.copyTo(y);
}
