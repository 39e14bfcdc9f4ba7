#include "pad_plugin_signature.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string_view>

namespace pad_plugin
{
namespace
{

constexpr uint32_t kColumns = 64;    // threads along a row
constexpr uint32_t kRows = 4;        // rows of a block at a time
constexpr int64_t kMaxBlocks = 4096; // enough for every GPU; the kernel loops over the rest

//! What stands beyond the image.
enum class Mode : int32_t
{
    kConstant, //!< the field `value`
    kEdge,     //!< the image's nearest element
    kReflect,  //!< the image mirrored at its first and last element, which aren't repeated
    kWrap,     //!< the image again
};

//! The texts of the field `mode`, which are ONNX's, in the order of Mode; pluginkit.toml allows no other.
constexpr std::string_view kModes[] = {"constant", "edge", "reflect", "wrap"};

//! What the kernel gets: no text, for a kernel's arguments are copied byte by byte.
struct Arguments
{
    int64_t top;  //!< rows above the image
    int64_t left; //!< columns to the left of it
    Mode mode;
    float value; //!< what the mode kConstant puts there: a number, also of an INT8 tensor
    pluginkit::Input in;
    pluginkit::Output out;
};

// The real value of an element, as float.

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

// The element nearest to a real value.

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
__device__ int64_t source(int64_t place, int64_t size, Mode mode)
{
    if (place >= 0 && place < size)
    {
        return place;
    }
    switch (mode)
    {
    case Mode::kConstant:
        return -1;
    case Mode::kEdge:
        return place < 0 ? 0 : size - 1;
    case Mode::kReflect:
    {
        int64_t const period = size > 1 ? 2 * (size - 1) : 1;
        int64_t const rest = place % period;
        int64_t const within = rest < 0 ? rest + period : rest;
        return within < size ? within : period - within;
    }
    case Mode::kWrap:
    {
        int64_t const rest = place % size;
        return rest < 0 ? rest + size : rest;
    }
    }
    return -1;
}

//! A block has some rows of the output at a time, and a row's threads take its columns. T is the tensors' type.
template <typename T>
__global__ void padPluginKernel(Arguments const args)
{
    auto const& in = args.in;
    auto const& out = args.out;
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
        int64_t const fromRow = source(row - plane * outHeight - args.top, height, args.mode);
        T const* const from = static_cast<T const*>(in.data) + (plane * height + (fromRow < 0 ? 0 : fromRow)) * width;
        T* const to = static_cast<T*>(out.data) + row * outWidth;
        for (int64_t column = threadIdx.x; column < outWidth; column += blockDim.x)
        {
            int64_t const fromColumn = source(column - args.left, width, args.mode);
            bool const inside = fromRow >= 0 && fromColumn >= 0;
            toElement(to[column], inside ? toNumber(from[fromColumn], in.scale) : args.value, out.scale);
        }
    }
}

Arguments argumentsOf(Run const& run) noexcept
{
    Fields const& f = run.fields;
    auto const* const mode = std::find(std::begin(kModes), std::end(kModes), f.mode);
    return {f.pads[0], f.pads[1], static_cast<Mode>(mode - kModes), f.value, run.in.x, run.out.y};
}

template <typename T>
cudaError_t start(Run const& run) noexcept
{
    if (run.count == 0)
    {
        return cudaSuccess; // a launch of no blocks is an error
    }
    auto const& shape = run.out.y.shape;
    int64_t const rows = run.count / shape.dims[shape.rank - 1];
    int64_t const wanted = (rows + kRows - 1) / kRows;
    auto const blocks = static_cast<uint32_t>(std::min(wanted, kMaxBlocks));
    dim3 const threads{kColumns, kRows};
    padPluginKernel<T><<<blocks, threads, 0, run.stream>>>(argumentsOf(run));
    return cudaGetLastError();
}

} // namespace

cudaError_t launch(Run const& run) noexcept
{
    switch (run.precision)
    {
    case Precision::kFLOAT:
        return start<float>(run);
    case Precision::kHALF:
        return start<__half>(run);
    case Precision::kBF16:
        return start<__nv_bfloat16>(run);
    case Precision::kINT8:
        return start<int8_t>(run);
    }
    return cudaErrorInvalidValue;
}

} // namespace pad_plugin
