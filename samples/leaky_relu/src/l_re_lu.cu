#include "l_re_lu_signature.h"

#include <cuda_fp16.h>

#include <algorithm>
#include <cstdint>

namespace l_re_lu
{
namespace
{

constexpr uint32_t kThreads = 256;
constexpr int64_t kMaxBlocks = 4096; // enough for every GPU; the kernel loops over the rest

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
cudaError_t start(Run const& run) noexcept
{
    if (run.count == 0)
    {
        return cudaSuccess; // a launch of no blocks is an error
    }
    int64_t const wanted = (run.count + kThreads - 1) / kThreads;
    auto const blocks = static_cast<uint32_t>(std::min(wanted, kMaxBlocks));
    lReLUKernel<<<blocks, kThreads, 0, run.stream>>>(static_cast<T const*>(run.in.x.data),
                                                     static_cast<T*>(run.out.y.data), run.count, run.fields.neg_slope);
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
    }
    return cudaErrorInvalidValue;
}

} // namespace l_re_lu
