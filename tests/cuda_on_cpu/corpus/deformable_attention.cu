// Multi-scale deformable attention: each query samples several levels bilinearly at offsets, weighted; a macro'd index
// loop.
#include "corpus.h"

#define DEFORMABLE_LOOP(i, n)                                                                                          \
    for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < (n);                                      \
         i += (long long)blockDim.x * gridDim.x)

template <typename scalar_t>
__device__ scalar_t deformableBilinear(scalar_t const* const value, int const height, int const width, int const heads,
                                       int const channels, scalar_t const h, scalar_t const w, int const m, int const c)
{
    int const hLow = static_cast<int>(floor(h)), wLow = static_cast<int>(floor(w));
    int const hHigh = hLow + 1, wHigh = wLow + 1;
    scalar_t const lh = h - hLow, lw = w - wLow;
    scalar_t const hh = 1 - lh, hw = 1 - lw;
    int const wStride = heads * channels, hStride = width * wStride, base = m * channels + c;
    scalar_t v1 = 0, v2 = 0, v3 = 0, v4 = 0;
    if (hLow >= 0 && wLow >= 0)
        v1 = value[hLow * hStride + wLow * wStride + base];
    if (hLow >= 0 && wHigh <= width - 1)
        v2 = value[hLow * hStride + wHigh * wStride + base];
    if (hHigh <= height - 1 && wLow >= 0)
        v3 = value[hHigh * hStride + wLow * wStride + base];
    if (hHigh <= height - 1 && wHigh <= width - 1)
        v4 = value[hHigh * hStride + wHigh * wStride + base];
    return hh * hw * v1 + hh * lw * v2 + lh * hw * v3 + lh * lw * v4;
}

template <typename scalar_t>
__global__ void deformableAttentionKernel(long long const n, scalar_t const* values, int const* shapes,
                                          int const* starts, scalar_t const* locations, scalar_t const* weights,
                                          int const length, int const heads, int const channels, int const levels,
                                          int const queries, int const points, scalar_t* output)
{
    DEFORMABLE_LOOP(index, n)
    {
        long long rest = index;
        int const c = rest % channels;
        rest /= channels;
        int const samplingIndex = static_cast<int>(rest);
        int const m = rest % heads;
        rest /= heads;
        int const batch = rest / queries;
        scalar_t const* weight = weights + static_cast<size_t>(samplingIndex) * levels * points;
        scalar_t const* location = locations + static_cast<size_t>(samplingIndex) * levels * points * 2;
        scalar_t const* all = values + static_cast<size_t>(batch) * length * heads * channels;
        scalar_t sum = 0;
        for (int level = 0; level < levels; ++level)
        {
            int const height = shapes[2 * level], width = shapes[2 * level + 1];
            scalar_t const* value = all + static_cast<size_t>(starts[level]) * heads * channels;
            for (int p = 0; p < points; ++p)
            {
                scalar_t const w = location[0] * width - static_cast<scalar_t>(0.5);
                scalar_t const h = location[1] * height - static_cast<scalar_t>(0.5);
                if (h > -1 && w > -1 && h < height && w < width)
                {
                    sum += deformableBilinear(value, height, width, heads, channels, h, w, m, c) * *weight;
                }
                ++weight;
                location += 2;
            }
        }
        output[index] = sum;
    }
}

CORPUS_EXPORT int run_deformable_attention(float const* values, int const* shapes, int const* starts,
                                           float const* locations, float const* weights, float* output, int batch,
                                           int length, int heads, int channels, int levels, int queries, int points)
{
    size_t const samples = static_cast<size_t>(batch) * queries * heads * levels * points;
    size_t const count = static_cast<size_t>(batch) * queries * heads * channels;
    corpus::Device<float> const dValues(values, static_cast<size_t>(batch) * length * heads * channels);
    corpus::Device<int> const dShapes(shapes, 2 * levels), dStarts(starts, levels);
    corpus::Device<float> const dLocations(locations, 2 * samples), dWeights(weights, samples), dOutput(count);
    int const threads = 192;
    deformableAttentionKernel<float><<<static_cast<unsigned>((count + threads - 1) / threads), threads>>>(
        static_cast<long long>(count), dValues.get(), dShapes.get(), dStarts.get(), dLocations.get(), dWeights.get(),
        length, heads, channels, levels, queries, points, dOutput.get());
    return dOutput.copyTo(output);
}
