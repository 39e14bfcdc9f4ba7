// int8 GEMM by __dp4a (four products at a time), B transposed, scales a column, rounded and saturated back to int8.
#include "corpus.h"

#include <cstdint>

namespace
{
constexpr int kTILE8 = 16;

__global__ void gemmInt8(int const* __restrict__ a, int const* __restrict__ b, float const* __restrict__ scales,
                         int* __restrict__ sums, int8_t* __restrict__ c, int m, int n, int words)
{
    __shared__ int tileA[kTILE8][kTILE8 + 1];
    __shared__ int tileB[kTILE8][kTILE8 + 1];
    int const row = blockIdx.y * kTILE8 + threadIdx.y;
    int const column = blockIdx.x * kTILE8 + threadIdx.x;
    int const columnOfLoad = blockIdx.x * kTILE8 + threadIdx.y;
    int sum = 0;
    for (int first = 0; first < words; first += kTILE8)
    {
        int const word = first + threadIdx.x;
        tileA[threadIdx.y][threadIdx.x] = row < m && word < words ? a[row * words + word] : 0;
        tileB[threadIdx.y][threadIdx.x] = columnOfLoad < n && word < words ? b[columnOfLoad * words + word] : 0;
        __syncthreads();
        for (int w = 0; w < kTILE8; ++w)
        {
            sum = __dp4a(tileA[threadIdx.y][w], tileB[threadIdx.x][w], sum);
        }
        __syncthreads();
    }
    if (row < m && column < n)
    {
        sums[row * n + column] = sum;
        int const scaled = __float2int_rn(static_cast<float>(sum) * scales[column]);
        c[row * n + column] = static_cast<int8_t>(scaled > 127 ? 127 : scaled < -128 ? -128 : scaled);
    }
}
} // namespace

CORPUS_EXPORT int run_gemm_int8(int8_t const* a, int8_t const* b, float const* scales, int* sums, int8_t* c, int m,
                                int n, int k)
{
    if (k % 4 != 0)
    {
        return -1;
    }
    corpus::Device<int8_t> const da(a, m * k), db(b, n * k), dc(m * n);
    corpus::Device<float> const dScales(scales, n);
    corpus::Device<int> const dSums(m * n);
    dim3 const threads(kTILE8, kTILE8);
    dim3 const grid(corpus::ceilDiv(n, kTILE8), corpus::ceilDiv(m, kTILE8));
    gemmInt8<<<grid, threads>>>(reinterpret_cast<int const*>(da.get()), reinterpret_cast<int const*>(db.get()),
                                dScales.get(), dSums.get(), dc.get(), m, n, k / 4);
    int const error = dSums.copyTo(sums);
    return error ? error : dc.copyTo(c);
}
