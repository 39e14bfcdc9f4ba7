// GEMM with 4x4 results a thread in registers, float4 tiles of A transposed in shared memory, double buffered.
#include "corpus.h"

namespace gemm_registers
{
constexpr int kTILE = 32; // rows and columns of C a block
constexpr int kDEPTH = 8; // of K at a time
constexpr int kEACH = 4;  // rows and columns of C a thread
constexpr int kSIDE = kTILE / kEACH;
constexpr int kTHREADS = kSIDE * kSIDE;

struct Tiles
{
    float a[kDEPTH][kTILE];
    float b[kDEPTH][kTILE];
};

__device__ void loadTiles(Tiles& tiles, float const* a, float const* b, int m, int n, int k, int row0, int column0,
                          int depth0)
{
    for (int i = threadIdx.x; i < kTILE * kDEPTH; i += kTHREADS)
    {
        int const row = row0 + i / kDEPTH, depth = depth0 + i % kDEPTH;
        tiles.a[i % kDEPTH][i / kDEPTH] = row < m && depth < k ? a[row * k + depth] : 0.f;
        int const depthB = depth0 + i / kTILE, column = column0 + i % kTILE;
        tiles.b[i / kTILE][i % kTILE] = depthB < k && column < n ? b[depthB * n + column] : 0.f;
    }
}

__global__ void __launch_bounds__(kTHREADS)
    gemm(float const* __restrict__ a, float const* __restrict__ b, float const* __restrict__ bias,
         float* __restrict__ c, int m, int n, int k)
{
    __shared__ __align__(16) Tiles tiles[2];
    int const row0 = blockIdx.y * kTILE, column0 = blockIdx.x * kTILE;
    int const y = threadIdx.x / kSIDE * kEACH, x = threadIdx.x % kSIDE * kEACH;
    float sums[kEACH][kEACH] = {};
    loadTiles(tiles[0], a, b, m, n, k, row0, column0, 0);
    __syncthreads();
    for (int depth = 0, now = 0; depth < k; depth += kDEPTH, now ^= 1)
    {
        if (depth + kDEPTH < k)
        {
            loadTiles(tiles[now ^ 1], a, b, m, n, k, row0, column0, depth + kDEPTH);
        }
#pragma unroll
        for (int d = 0; d < kDEPTH; ++d)
        {
            float4 const left = *reinterpret_cast<float4 const*>(&tiles[now].a[d][y]);
            float4 const right = *reinterpret_cast<float4 const*>(&tiles[now].b[d][x]);
            float const l[kEACH] = {left.x, left.y, left.z, left.w};
            float const r[kEACH] = {right.x, right.y, right.z, right.w};
#pragma unroll
            for (int i = 0; i < kEACH; ++i)
            {
#pragma unroll
                for (int j = 0; j < kEACH; ++j)
                {
                    sums[i][j] = __fmaf_rn(l[i], r[j], sums[i][j]);
                }
            }
        }
        __syncthreads();
    }
    for (int i = 0; i < kEACH; ++i)
    {
        for (int j = 0; j < kEACH; ++j)
        {
            if (row0 + y + i < m && column0 + x + j < n)
            {
                c[(row0 + y + i) * n + column0 + x + j] = sums[i][j] + (bias ? bias[column0 + x + j] : 0.f);
            }
        }
    }
}
} // namespace gemm_registers

CORPUS_EXPORT int run_gemm_registers(float const* a, float const* b, float const* bias, float* c, int m, int n, int k,
                                     int biased)
{
    using namespace gemm_registers;
    corpus::Device<float> const da(a, m * k), db(b, k * n), dBias(bias, n), dc(m * n);
    dim3 const grid(corpus::ceilDiv(n, kTILE), corpus::ceilDiv(m, kTILE));
    gemm<<<grid, kTHREADS>>>(da.get(), db.get(), biased ? dBias.get() : nullptr, dc.get(), m, n, k);
    return dc.copyTo(c);
}
