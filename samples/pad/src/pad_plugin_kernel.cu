#include "pad_plugin_kernel.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <algorithm>
#include <cmath>

namespace pad_plugin
{
namespace
{

constexpr uint32_t kColumns = 64;    // threads along a row
constexpr uint32_t kRows = 4;        // rows of a block at a time
constexpr int64_t kMaxBlocks = 4096; // enough for every GPU; the kernel's loop does what is left

// An element as the number it stands for. All is computed in float, whatever the tensor's type is.

__device__ float toNumber(float element, float /*scale*/)
{
    return element;
}

__device__ float toNumber(__half element, float /*scale*/)
{
    return __half2float(element);
}

__device__ float toNumber(__nv_bfloat16 element, float /*scale*/)
{
    return __bfloat162float(element);
}

__device__ float toNumber(int8_t element, float scale)
{
    return static_cast<float>(element) * scale;
}

// The element that stands for a number, or for the nearest one that the type has.

__device__ void toElement(float& element, float number, float /*scale*/)
{
    element = number;
}

__device__ void toElement(__half& element, float number, float /*scale*/)
{
    element = __float2half(number);
}

__device__ void toElement(__nv_bfloat16& element, float number, float /*scale*/)
{
    element = __float2bfloat16(number);
}

__device__ void toElement(int8_t& element, float number, float scale)
{
    // Half to even, as TensorRT quantizes; what is too large becomes the largest.
    element = static_cast<int8_t>(fminf(fmaxf(rintf(number / scale), -128.0F), 127.0F));
}

//! The place in an image's row or column of `size` elements that `place`, which may lie beyond it, has its element
//! from; -1 where it has none. However far beyond: an image is mirrored, or repeated, as often as it takes.
__device__ int64_t source(int64_t place, int64_t size, PadMode mode)
{
    if (place >= 0 && place < size)
    {
        return place;
    }
    switch (mode)
    {
    case PadMode::kConstant:
        return -1;
    case PadMode::kEdge:
        return place < 0 ? 0 : size - 1;
    case PadMode::kReflect:
    {
        int64_t const period = size > 1 ? 2 * (size - 1) : 1;
        int64_t const rest = place % period;
        int64_t const within = rest < 0 ? rest + period : rest;
        return within < size ? within : period - within;
    }
    case PadMode::kWrap:
    {
        int64_t const rest = place % size;
        return rest < 0 ? rest + size : rest;
    }
    }
    return -1;
}

//! A block has some rows of the output at a time, and a row's threads take its columns. T is the tensors' type.
template <typename T>
__global__ void padPluginKernel(PadPluginArguments const args)
{
    auto const& in = args.inputs.x;
    auto const& out = args.outputs.y;
    int32_t const rank = in.shape.rank;
    int64_t const height = in.shape.dims[rank - 2];
    int64_t const width = in.shape.dims[rank - 1];
    int64_t const outHeight = out.shape.dims[rank - 2];
    int64_t const outWidth = out.shape.dims[rank - 1];
    int64_t const rows = out.count / outWidth;
    for (int64_t row = static_cast<int64_t>(blockIdx.x) * blockDim.y + threadIdx.y; row < rows;
         row += static_cast<int64_t>(gridDim.x) * blockDim.y)
    {
        int64_t const plane = row / outHeight;
        int64_t const fromRow = source(row - plane * outHeight - args.parameters.top, height, args.parameters.mode);
        T const* const from = static_cast<T const*>(in.data) + (plane * height + (fromRow < 0 ? 0 : fromRow)) * width;
        T* const to = static_cast<T*>(out.data) + row * outWidth;
        for (int64_t column = threadIdx.x; column < outWidth; column += blockDim.x)
        {
            int64_t const fromColumn = source(column - args.parameters.left, width, args.parameters.mode);
            bool const inside = fromRow >= 0 && fromColumn >= 0;
            toElement(to[column], inside ? toNumber(from[fromColumn], in.scale) : args.parameters.value, out.scale);
        }
    }
}

} // namespace

cudaError_t launchPadPlugin(PadPluginArguments const& args, PadPluginPrecision precision, cudaStream_t stream) noexcept
{
    if (args.count == 0)
    {
        return cudaSuccess; // a launch of no blocks would be an error
    }
    int64_t const rows = args.count / args.outputs.y.shape.dims[args.outputs.y.shape.rank - 1];
    int64_t const wanted = (rows + kRows - 1) / kRows;
    auto const blocks = static_cast<uint32_t>(std::min(wanted, kMaxBlocks));
    dim3 const threads{kColumns, kRows};
    switch (precision)
    {
    case PadPluginPrecision::kFLOAT:
        padPluginKernel<float><<<blocks, threads, 0, stream>>>(args);
        break;
    case PadPluginPrecision::kHALF:
        padPluginKernel<__half><<<blocks, threads, 0, stream>>>(args);
        break;
    case PadPluginPrecision::kBF16:
        padPluginKernel<__nv_bfloat16><<<blocks, threads, 0, stream>>>(args);
        break;
    case PadPluginPrecision::kINT8:
        padPluginKernel<int8_t><<<blocks, threads, 0, stream>>>(args);
        break;
    }
    return cudaGetLastError();
}

} // namespace pad_plugin
