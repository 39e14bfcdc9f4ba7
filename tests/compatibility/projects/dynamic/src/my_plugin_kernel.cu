#include "my_plugin_kernel.h"

#include <cuda_fp16.h>

#include <algorithm>
#include <cmath>
#include <type_traits>

namespace my_plugin
{
namespace
{

constexpr uint32_t kThreads = 256;
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

__device__ void toElement(int8_t& element, float number, float scale)
{
    // Half to even, as TensorRT quantizes; what is too large becomes the largest.
    element = static_cast<int8_t>(fminf(fmaxf(rintf(number / scale), -128.0F), 127.0F));
}

template <typename T>
__device__ float load(MyPluginArguments::Input const& input, int64_t i)
{
    return toNumber(static_cast<T const*>(input.data)[i], input.scale);
}

template <typename T>
__device__ void store(MyPluginArguments::Output const& output, int64_t i, float number)
{
    if (i < output.count)
    {
        toElement(static_cast<T*>(output.data)[i], number, output.scale);
    }
}

//! The layer: the sum of the inputs, with its negative values flattened. T is the type that the layer computes in.
template <typename T>
__global__ void myPluginKernel(MyPluginArguments const args)
{
    int64_t const step = static_cast<int64_t>(gridDim.x) * blockDim.x;
    for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < args.count; i += step)
    {
        float sum = 0.0F;
        sum += load<T>(args.inputs.x, i);
        float const result = sum >= 0.0F ? sum : args.parameters.alpha * sum;
        store<T>(args.outputs.y, i, result);
    }
}

} // namespace

cudaError_t launchMyPlugin(MyPluginArguments const& args, MyPluginPrecision precision, cudaStream_t stream) noexcept
{
    if (args.count == 0)
    {
        return cudaSuccess; // a launch of no blocks would be an error
    }
    int64_t const wanted = (args.count + kThreads - 1) / kThreads;
    auto const blocks = static_cast<uint32_t>(std::min(wanted, kMaxBlocks));
    switch (precision)
    {
    case MyPluginPrecision::kFLOAT:
        myPluginKernel<float><<<blocks, kThreads, 0, stream>>>(args);
        break;
    case MyPluginPrecision::kHALF:
        myPluginKernel<__half><<<blocks, kThreads, 0, stream>>>(args);
        break;
    case MyPluginPrecision::kINT8:
        myPluginKernel<int8_t><<<blocks, kThreads, 0, stream>>>(args);
        break;
    }
    return cudaGetLastError();
}

} // namespace my_plugin
