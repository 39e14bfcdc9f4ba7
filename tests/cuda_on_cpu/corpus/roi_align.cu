// ROI align as ONNX has it (average or maximum, half-pixel or not, adaptive sampling): a 3D block, device functions,
// float.
#include "corpus.h"

namespace roi_align
{
struct Corner
{
    int low, high;
    float weight; // of the higher one
};

__device__ __forceinline__ Corner corner(float at, int extent)
{
    at = fmaxf(at, 0.f);
    Corner result;
    result.low = static_cast<int>(at);
    if (result.low >= extent - 1)
    {
        result.low = result.high = extent - 1;
        result.weight = 0.f;
    }
    else
    {
        result.high = result.low + 1;
        result.weight = at - result.low;
    }
    return result;
}

template <bool AVERAGE>
__device__ float sample(float const* plane, int height, int width, float y, float x, float& largest)
{
    if (y < -1.f || y > height || x < -1.f || x > width)
    {
        return 0.f;
    }
    Corner const v = corner(y, height), h = corner(x, width);
    float const w1 = (1.f - v.weight) * (1.f - h.weight) * plane[v.low * width + h.low];
    float const w2 = (1.f - v.weight) * h.weight * plane[v.low * width + h.high];
    float const w3 = v.weight * (1.f - h.weight) * plane[v.high * width + h.low];
    float const w4 = v.weight * h.weight * plane[v.high * width + h.high];
    if (!AVERAGE)
    {
        largest = fmaxf(largest, fmaxf(fmaxf(w1, w2), fmaxf(w3, w4))); // as ONNX: of the weighted corners
    }
    return w1 + w2 + w3 + w4;
}

template <bool AVERAGE>
__global__ void kernel(float const* __restrict__ x, float4 const* __restrict__ rois, int const* __restrict__ batches,
                       float* __restrict__ y, int channels, int height, int width, int out, float scale, int ratio,
                       float offset)
{
    int const ox = threadIdx.x, oy = threadIdx.y;
    int const roi = blockIdx.x;
    float4 const box = rois[roi];
    float const x1 = box.x * scale - offset, y1 = box.y * scale - offset;
    float boxWidth = box.z * scale - offset - x1, boxHeight = box.w * scale - offset - y1;
    if (offset == 0.f)
    {
        boxWidth = max(boxWidth, 1.f);
        boxHeight = max(boxHeight, 1.f);
    }
    float const binWidth = boxWidth / out, binHeight = boxHeight / out;
    int const gridY = ratio > 0 ? ratio : static_cast<int>(ceilf(boxHeight / out));
    int const gridX = ratio > 0 ? ratio : static_cast<int>(ceilf(boxWidth / out));
    for (int c = blockIdx.y * blockDim.z + threadIdx.z; c < channels; c += gridDim.y * blockDim.z)
    {
        float const* plane = x + static_cast<size_t>(batches[roi] * channels + c) * height * width;
        float sum = 0.f, largest = -INFINITY;
        for (int iy = 0; iy < gridY; ++iy)
        {
            float const py = y1 + oy * binHeight + (iy + .5f) * binHeight / gridY;
            for (int ix = 0; ix < gridX; ++ix)
            {
                float const px = x1 + ox * binWidth + (ix + .5f) * binWidth / gridX;
                sum += sample<AVERAGE>(plane, height, width, py, px, largest);
            }
        }
        y[((static_cast<size_t>(roi) * channels + c) * out + oy) * out + ox] =
            AVERAGE ? sum / max(gridX * gridY, 1) : largest;
    }
}
} // namespace roi_align

CORPUS_EXPORT int run_roi_align(float const* x, float4 const* rois, int const* batches, float* y, int batch,
                                int channels, int height, int width, int count, int out, float scale, int ratio,
                                int halfPixel, int average)
{
    corpus::Device<float> const dx(x, static_cast<size_t>(batch) * channels * height * width);
    corpus::Device<float4> const dRois(rois, count);
    corpus::Device<int> const dBatches(batches, count);
    corpus::Device<float> const dy(static_cast<size_t>(count) * channels * out * out);
    dim3 const block(out, out, 2), grid(count, 2);
    (average ? roi_align::kernel<true>
             : roi_align::kernel<false>)<<<grid, block>>>(dx.get(), dRois.get(), dBatches.get(), dy.get(), channels,
                                                          height, width, out, scale, ratio, halfPixel ? 0.5f : 0.f);
    return dy.copyTo(y);
}
