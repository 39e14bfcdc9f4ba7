#include "accumulate_kernel.h"

#include <cuda_fp16.h>

#include <algorithm>
#include <cmath>
#include <type_traits>

namespace accumulate_plugin
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

// The element that stands for a number, or for the nearest one that the type has.

__device__ void toElement(float& element, float number, float /*scale*/)
{
    element = number;
}

__device__ void toElement(__half& element, float number, float /*scale*/)
{
    element = __float2half(number);
}

template <typename T>
__device__ float load(AccumulateArguments::Input const& input, int64_t i)
{
    return toNumber(static_cast<T const*>(input.data)[i], input.scale);
}

template <typename T>
__device__ void store(AccumulateArguments::Output const& output, int64_t i, float number)
{
    if (i < output.count)
    {
        toElement(static_cast<T*>(output.data)[i], number, output.scale);
    }
}

//! The layer: an item, times the weight, added to what there is. T is the type that the layer computes in.
template <typename T>
__global__ void accumulateKernel(AccumulateArguments const args)
{
    int64_t const step = static_cast<int64_t>(gridDim.x) * blockDim.x;
    for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < args.count; i += step)
    {
        float const soFar = load<T>(args.inputs.so_far, i);
        float const item = load<T>(args.inputs.item, i);
        store<T>(args.outputs.accumulated, i, soFar + args.parameters.weight * item);
    }
}

} // namespace

cudaError_t launchAccumulate(AccumulateArguments const& args, AccumulatePrecision precision,
                             cudaStream_t stream) noexcept
{
    if (args.count == 0)
    {
        return cudaSuccess; // a launch of no blocks would be an error
    }
    int64_t const wanted = (args.count + kThreads - 1) / kThreads;
    auto const blocks = static_cast<uint32_t>(std::min(wanted, kMaxBlocks));
    switch (precision)
    {
    case AccumulatePrecision::kFLOAT:
        accumulateKernel<float><<<blocks, kThreads, 0, stream>>>(args);
        break;
    case AccumulatePrecision::kHALF:
        accumulateKernel<__half><<<blocks, kThreads, 0, stream>>>(args);
        break;
    }
    return cudaGetLastError();
}

} // namespace accumulate_plugin
