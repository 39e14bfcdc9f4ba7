#include "l_re_lu_kernel.h"

#include <cuda_fp16.h>

#include <algorithm>

namespace l_re_lu
{
namespace
{

constexpr uint32_t kThreads = 256;
constexpr int64_t kMaxBlocks = 4096; // enough for every GPU; the kernel's loop does what is left

// All is computed in float, whatever the tensor's type is.

__device__ float toNumber(float element)
{
    return element;
}

__device__ float toNumber(__half element)
{
    return __half2float(element);
}

__device__ void toElement(float& element, float number)
{
    element = number;
}

__device__ void toElement(__half& element, float number)
{
    element = __float2half(number);
}

//! The layer. T is the type of both tensors.
template <typename T>
__global__ void lReLUKernel(T const* x, T* y, int64_t count, float negSlope)
{
    int64_t const step = static_cast<int64_t>(gridDim.x) * blockDim.x;
    for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += step)
    {
        float const number = toNumber(x[i]);
        toElement(y[i], number >= 0.0F ? number : negSlope * number);
    }
}

template <typename T>
void launch(LReLUArguments const& args, uint32_t blocks, cudaStream_t stream) noexcept
{
    lReLUKernel<<<blocks, kThreads, 0, stream>>>(static_cast<T const*>(args.inputs.x.data),
                                                 static_cast<T*>(args.outputs.y.data), args.count,
                                                 args.parameters.neg_slope);
}

} // namespace

cudaError_t launchLReLU(LReLUArguments const& args, LReLUPrecision precision, cudaStream_t stream) noexcept
{
    if (args.count == 0)
    {
        return cudaSuccess; // a launch of no blocks would be an error
    }
    int64_t const wanted = (args.count + kThreads - 1) / kThreads;
    auto const blocks = static_cast<uint32_t>(std::min(wanted, kMaxBlocks));
    switch (precision)
    {
    case LReLUPrecision::kFLOAT:
        launch<float>(args, blocks, stream);
        break;
    case LReLUPrecision::kHALF:
        launch<__half>(args, blocks, stream);
        break;
    }
    return cudaGetLastError();
}

} // namespace l_re_lu
