// Grid sample: bilinear or nearest, padding by zeros, border or reflection, corners aligned or not; enums as template
// values.
#include "corpus.h"

namespace grid_sample
{
enum Interpolation
{
    BILINEAR,
    NEAREST
};
enum Padding
{
    ZEROS,
    BORDER,
    REFLECTION
};

__device__ __forceinline__ float unnormalize(float coordinate, int size, bool alignCorners)
{
    return alignCorners ? (coordinate + 1.f) / 2 * (size - 1) : ((coordinate + 1.f) * size - 1) / 2;
}

__device__ float reflect(float x, float low, float high)
{
    float const span = high - low;
    if (span <= 0.f)
    {
        return 0.f;
    }
    x = fabsf(x - low);
    float const extra = fmodf(x, span);
    int const flips = static_cast<int>(floorf(x / span));
    return flips % 2 == 0 ? extra + low : span - extra + low;
}

template <Padding PADDING>
__device__ __forceinline__ float source(float coordinate, int size, bool alignCorners)
{
    float x = unnormalize(coordinate, size, alignCorners);
    if (PADDING == REFLECTION)
    {
        x = alignCorners ? reflect(x, 0.f, size - 1.f) : reflect(x, -0.5f, size - 0.5f);
    }
    if (PADDING != ZEROS)
    {
        x = fminf(fmaxf(x, 0.f), size - 1.f);
    }
    return x;
}

__device__ __forceinline__ float at(float const* plane, int y, int x, int height, int width)
{
    return y >= 0 && y < height && x >= 0 && x < width ? plane[y * width + x] : 0.f;
}

template <Interpolation MODE, Padding PADDING>
__global__ void kernel(float const* input, float2 const* grid, float* output, int channels, int height, int width,
                       int outPixels, bool alignCorners)
{
    int const pixel = blockIdx.x * blockDim.x + threadIdx.x;
    int const batch = blockIdx.y;
    if (pixel >= outPixels)
    {
        return;
    }
    float2 const where = grid[batch * outPixels + pixel];
    float const x = source<PADDING>(where.x, width, alignCorners), y = source<PADDING>(where.y, height, alignCorners);
    for (int c = 0; c < channels; ++c)
    {
        float const* plane = input + static_cast<size_t>(batch * channels + c) * height * width;
        float value;
        if (MODE == NEAREST)
        {
            value = at(plane, __float2int_rn(y), static_cast<int>(nearbyintf(x)), height, width);
        }
        else
        {
            int const x0 = __float2int_rd(x), y0 = static_cast<int>(::floorf(y));
            float const wx = x - x0, wy = y - y0;
            value =
                (at(plane, y0, x0, height, width) * (1 - wx) + at(plane, y0, x0 + 1, height, width) * wx) * (1 - wy) +
                (at(plane, y0 + 1, x0, height, width) * (1 - wx) + at(plane, y0 + 1, x0 + 1, height, width) * wx) * wy;
        }
        output[static_cast<size_t>(batch * channels + c) * outPixels + pixel] = value;
    }
}

using Kernel = void (*)(float const*, float2 const*, float*, int, int, int, int, bool);
constexpr Kernel kKERNELS[2][3] = {{kernel<BILINEAR, ZEROS>, kernel<BILINEAR, BORDER>, kernel<BILINEAR, REFLECTION>},
                                   {kernel<NEAREST, ZEROS>, kernel<NEAREST, BORDER>, kernel<NEAREST, REFLECTION>}};
} // namespace grid_sample

CORPUS_EXPORT int run_grid_sample(float const* input, float2 const* grid, float* output, int batch, int channels,
                                  int height, int width, int outPixels, int mode, int padding, int alignCorners)
{
    corpus::Device<float> const dInput(input, static_cast<size_t>(batch) * channels * height * width);
    corpus::Device<float2> const dGrid(grid, static_cast<size_t>(batch) * outPixels);
    corpus::Device<float> const dOutput(static_cast<size_t>(batch) * channels * outPixels);
    dim3 const blocks(corpus::ceilDiv(outPixels, 64), batch);
    grid_sample::kKERNELS[mode][padding]<<<blocks, 64>>>(dInput.get(), dGrid.get(), dOutput.get(), channels, height,
                                                         width, outPixels, alignCorners != 0);
    return dOutput.copyTo(output);
}
