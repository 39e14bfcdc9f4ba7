// A separable filter of bytes: rows and columns in two kernels, several results a thread, dynamic shared memory cut in
// two arrays.
#include "corpus.h"

#include <cstdint>

namespace separable_filter
{
constexpr int kMAX_RADIUS = 8;
__constant__ float taps[2 * kMAX_RADIUS + 1];

template <int RESULTS>
__global__ void rows(uint8_t const* in, float* out, int height, int width, int radius)
{
    extern __shared__ __align__(16) char filterStorage[];
    // First the taps, then the pixels of each of the block's rows.
    float* const sTaps = reinterpret_cast<float*>(filterStorage);
    uint8_t* const pixels = reinterpret_cast<uint8_t*>(sTaps + 2 * radius + 1);
    int const span = RESULTS * blockDim.x + 2 * radius;
    int const thread = threadIdx.y * blockDim.x + threadIdx.x;
    if (thread <= 2 * radius)
    {
        sTaps[thread] = taps[thread];
    }
    int const y = blockIdx.y * blockDim.y + threadIdx.y;
    int const left = blockIdx.x * RESULTS * blockDim.x - radius;
    if (y < height)
    {
        for (int i = threadIdx.x; i < span; i += blockDim.x)
        {
            pixels[threadIdx.y * span + i] = in[y * width + min(max(left + i, 0), width - 1)];
        }
    }
    __syncthreads();
#pragma unroll
    for (int r = 0; r < RESULTS; ++r)
    {
        int const local = r * blockDim.x + threadIdx.x;
        int const x = left + radius + local;
        if (x < width && y < height)
        {
            float sum = 0.f;
            for (int k = 0; k <= 2 * radius; ++k)
            {
                sum += sTaps[k] * pixels[threadIdx.y * span + local + k];
            }
            out[y * width + x] = sum;
        }
    }
}

__global__ void columns(float const* in, uint8_t* out, int height, int width, int radius)
{
    int const x = blockIdx.x * blockDim.x + threadIdx.x;
    int const y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < width && y < height)
    {
        float sum = 0.f;
        for (int k = -radius; k <= radius; ++k)
        {
            sum = __fmaf_rn(taps[k + radius], in[min(max(y + k, 0), height - 1) * width + x], sum);
        }
        out[y * width + x] = static_cast<uint8_t>(min(max(__float2int_rn(sum), 0), 255));
    }
}
} // namespace separable_filter

CORPUS_EXPORT int run_separable_filter(uint8_t const* image, float const* taps, float* between, uint8_t* result,
                                       int height, int width, int radius)
{
    size_t const count = static_cast<size_t>(height) * width;
    corpus::Device<uint8_t> const dImage(image, count), dResult(count);
    corpus::Device<float> const dBetween(count);
    void* address = nullptr;
    cudaGetSymbolAddress(&address, separable_filter::taps);
    cudaMemcpy(address, taps, (2 * radius + 1) * sizeof(float), cudaMemcpyHostToDevice);
    dim3 const block(16, 3);
    constexpr int kRESULTS = 4;
    dim3 const grid(corpus::ceilDiv(width, kRESULTS * 16), corpus::ceilDiv(height, 3));
    size_t const shared = (2 * radius + 1) * sizeof(float) + block.y * (kRESULTS * block.x + 2 * radius);
    separable_filter::rows<kRESULTS><<<grid, block, shared>>>(dImage.get(), dBetween.get(), height, width, radius);
    dim3 const all(corpus::ceilDiv(width, 16), corpus::ceilDiv(height, 3));
    separable_filter::columns<<<all, block>>>(dBetween.get(), dResult.get(), height, width, radius);
    int const error = dBetween.copyTo(between);
    return error ? error : dResult.copyTo(result);
}
