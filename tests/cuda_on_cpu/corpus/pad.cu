// Pads two axes with a constant, the edge or a reflection: an enum as template parameter, chosen by a switch with
// launches.
#include "corpus.h"

enum class PadMode : int
{
    kCONSTANT = 0,
    kEDGE = 1,
    kREFLECT = 2
};

template <PadMode MODE>
__device__ __forceinline__ int padSource(int i, int extent)
{
    if constexpr (MODE == PadMode::kEDGE)
    {
        return max(0, min(i, extent - 1));
    }
    else if constexpr (MODE == PadMode::kREFLECT)
    {
        i = i < 0 ? -i : i;
        return i < extent ? i : 2 * (extent - 1) - i;
    }
    else
    {
        return i >= 0 && i < extent ? i : -1;
    }
}

template <PadMode MODE>
__global__ void padKernel(float const* x, float* y, int height, int width, int4 pads, float value)
{
    int const outWidth = pads.x + width + pads.y, outHeight = pads.z + height + pads.w;
    int const ox = blockIdx.x * blockDim.x + threadIdx.x, oy = blockIdx.y * blockDim.y + threadIdx.y;
    if (ox >= outWidth || oy >= outHeight)
    {
        return;
    }
    int const ix = padSource<MODE>(ox - pads.x, width), iy = padSource<MODE>(oy - pads.z, height);
    bool const inside = ix >= 0 && iy >= 0;
    y[(static_cast<size_t>(blockIdx.z) * outHeight + oy) * outWidth + ox] =
        inside ? x[(static_cast<size_t>(blockIdx.z) * height + iy) * width + ix] : value;
}

CORPUS_EXPORT int run_pad(float const* x, float* y, int planes, int height, int width, int left, int right, int top,
                          int bottom, int mode, float value)
{
    int const outWidth = left + width + right, outHeight = top + height + bottom;
    corpus::Device<float> const in(x, static_cast<size_t>(planes) * height * width);
    corpus::Device<float> const out(static_cast<size_t>(planes) * outHeight * outWidth);
    dim3 const block(32, 4), grid((outWidth + 31) / 32, (outHeight + 3) / 4, planes);
    int4 const pads{left, right, top, bottom};
    switch (static_cast<PadMode>(mode))
    {
    case PadMode::kCONSTANT:
        padKernel<PadMode::kCONSTANT><<<grid, block>>>(in.get(), out.get(), height, width, pads, value);
        break;
    case PadMode::kEDGE:
        padKernel<PadMode::kEDGE><<<grid, block>>>(in.get(), out.get(), height, width, pads, value);
        break;
    case PadMode::kREFLECT:
        padKernel<PadMode::kREFLECT><<<grid, block>>>(in.get(), out.get(), height, width, pads, value);
        break;
    }
    return out.copyTo(y);
}
