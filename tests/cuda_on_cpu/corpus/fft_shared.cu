// FFT of a row a block, radix 2 in place in shared memory: bit reversal, twiddles by sincospif, a barrier a stage.
#include "corpus.h"

template <int LOG>
__global__ void __launch_bounds__(1 << (LOG - 1)) fftKernel(float2 const* in, float2* out, float direction)
{
    constexpr int N = 1 << LOG;
    __shared__ float2 data[N];
    size_t const row = static_cast<size_t>(blockIdx.x) * N;
    for (int i = threadIdx.x; i < N; i += N / 2)
    {
        data[__brev(i) >> (32 - LOG)] = in[row + i];
    }
    __syncthreads();
    for (int stage = 1; stage <= LOG; ++stage)
    {
        int const half = 1 << (stage - 1);
        int const position = threadIdx.x & (half - 1);
        int const low = ((threadIdx.x >> (stage - 1)) << stage) + position;
        int const high = low + half;
        float2 w;
        sincospif(direction * position / half, &w.y, &w.x);
        float2 const a = data[low], b = data[high];
        float2 const t = make_float2(b.x * w.x - b.y * w.y, b.x * w.y + b.y * w.x);
        data[low] = make_float2(a.x + t.x, a.y + t.y);
        data[high] = make_float2(a.x - t.x, a.y - t.y);
        __syncthreads();
    }
    for (int i = threadIdx.x; i < N; i += N / 2)
    {
        out[row + i] = data[i];
    }
}

CORPUS_EXPORT int run_fft_shared(float2 const* x, float2* y, int rows, int inverse)
{
    constexpr int kLOG = 7;
    size_t const count = static_cast<size_t>(rows) << kLOG;
    corpus::Device<float2> const in(x, count), out(count);
    fftKernel<kLOG><<<rows, 1 << (kLOG - 1)>>>(in.get(), out.get(), inverse ? 1.f : -1.f);
    return out.copyTo(y);
}
