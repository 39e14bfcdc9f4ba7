#include "non_zero_plugin_signature.h"

#include <cuda_fp16.h>

#include <cstdint>

namespace non_zero_plugin
{
namespace
{

constexpr int kWarp = 32;
constexpr int kThreads = 256;
constexpr int kWarps = kThreads / kWarp;

__device__ bool isNonZero(float element)
{
    return element != 0.0F; // a NaN is one, -0 is none, as in ONNX and NumPy
}

__device__ bool isNonZero(__half element)
{
    return isNonZero(__half2float(element));
}

template <typename T>
__device__ bool isNonZeroAt(pluginkit::Input const& x, int64_t i)
{
    return i < x.count && isNonZero(static_cast<T const*>(x.data)[i]);
}

//! Of a block's threads in order, how many before this one have the flag; `total` gets how many have it in all.
__device__ int rankAmong(bool flag, int& total)
{
    __shared__ int counts[kWarps];
    int const lane = static_cast<int>(threadIdx.x) % kWarp;
    int const warp = static_cast<int>(threadIdx.x) / kWarp;
    unsigned const votes = __ballot_sync(0xFFFFFFFFU, flag);
    if (lane == 0)
    {
        counts[warp] = __popc(votes);
    }
    __syncthreads();
    int rank = __popc(votes & ((1U << lane) - 1U));
    total = 0;
    for (int i = 0; i < kWarps; ++i)
    {
        rank += i < warp ? counts[i] : 0;
        total += counts[i];
    }
    __syncthreads(); // the next call writes what others may still read
    return rank;
}

//! One block, which goes over the elements twice. The first time it counts: the second row of `indices` begins where
//! the first ends, and how long a row is only the count says. The second time it writes, in row-major order.
template <typename T>
__global__ void nonZeroKernel(pluginkit::Input const x, int64_t* rows, int32_t* count)
{
    int64_t const columns = x.shape.dims[1];
    int64_t found = 0;
    for (int64_t first = 0; first < x.count; first += kThreads)
    {
        found += __syncthreads_count(isNonZeroAt<T>(x, first + threadIdx.x) ? 1 : 0);
    }
    if (threadIdx.x == 0)
    {
        *count = static_cast<int32_t>(found);
    }
    int64_t* const places = rows + found;
    int64_t before = 0;
    for (int64_t first = 0; first < x.count; first += kThreads)
    {
        int64_t const i = first + threadIdx.x;
        bool const flag = isNonZeroAt<T>(x, i);
        int total = 0;
        int64_t const at = before + rankAmong(flag, total);
        if (flag)
        {
            rows[at] = i / columns;
            places[at] = i % columns;
        }
        before += total;
    }
}

template <typename T>
cudaError_t start(Run const& run) noexcept
{
    nonZeroKernel<T><<<1, kThreads, 0, run.stream>>>(run.in.x, static_cast<int64_t*>(run.out.indices.data),
                                                     static_cast<int32_t*>(run.out.count.data));
    return cudaGetLastError();
}

} // namespace

//! It runs without input elements too: the count is 0 then.
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

} // namespace non_zero_plugin
