// C = alpha * A * B + beta * C with tiles in shared memory; edges filled with zeros; the tile a template parameter.
#include "corpus.h"

template <int TILE, typename T>
__global__ void gemmTiled(T const* A, T const* B, T* C, int M, int N, int K, T alpha, T beta)
{
    __shared__ T As[TILE][TILE];
    __shared__ T Bs[TILE][TILE + 1];
    int const tx = threadIdx.x, ty = threadIdx.y;
    int const row = blockIdx.y * TILE + ty;
    int const col = blockIdx.x * TILE + tx;
    T sum = 0;
    for (int k0 = 0; k0 < K; k0 += TILE)
    {
        As[ty][tx] = row < M && k0 + tx < K ? A[row * K + k0 + tx] : T(0);
        Bs[ty][tx] = k0 + ty < K && col < N ? B[(k0 + ty) * N + col] : T(0);
        __syncthreads();
#pragma unroll
        for (int k = 0; k < TILE; ++k)
        {
            sum += As[ty][k] * Bs[k][tx];
        }
        __syncthreads();
    }
    if (row < M && col < N)
    {
        C[row * N + col] = alpha * sum + (beta != T(0) ? beta * C[row * N + col] : T(0));
    }
}

CORPUS_EXPORT int run_gemm_tiled(float const* a, float const* b, float* c, int m, int n, int k, float alpha, float beta)
{
    corpus::Device<float> const da(a, m * k), db(b, k * n), dc(c, m * n);
    constexpr int TILE = 16;
    dim3 threads(TILE, TILE);
    dim3 grid((n + TILE - 1) / TILE, (m + TILE - 1) / TILE);
    gemmTiled<TILE><<<grid, threads>>>(da.get(), db.get(), dc.get(), m, n, k, alpha, beta);
    return dc.copyTo(c);
}
