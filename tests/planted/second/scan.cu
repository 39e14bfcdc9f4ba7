#include "row_scan_signature.h"

#include <planted.h>

#include <algorithm>

namespace row_scan
{
namespace
{

constexpr int kThreads = 64;
constexpr int64_t kMaxBlocks = 1024;

//! A warp's running sums with decay: s[i] = d * s[i - 1] + x[i].
__device__ float warpScan(float v, float decay)
{
    float factor = decay;
    unsigned const lane = threadIdx.x % 32;
    if (fault() == 3)
    {
        __shared__ float kept[kThreads];
        for (unsigned off = 1; off < 32; off *= 2)
        {
            kept[threadIdx.x] = v;
            v = lane >= off ? v + factor * kept[threadIdx.x - off] : v;
            factor *= factor;
        }
        return v;
    }
    for (unsigned off = 1; off < 32; off *= 2)
    {
        float const other = __shfl_up_sync(0xFFFFFFFFU, v, off);
        v = lane >= off ? v + factor * other : v;
        factor *= factor;
    }
    return v;
}

__device__ float power(float decay, unsigned n)
{
    if (fault() == 5)
    {
        return expf(static_cast<float>(n) * logf(fmaxf(decay, 1e-3F)));
    }
    float found = 1.0F;
    for (unsigned i = 0; i < n; ++i)
    {
        found *= decay;
    }
    return found;
}

//! A block a row, 64 elements at a time; y may be x. Runs backwards where `reverse`.
__global__ void rowScan(float const* x, float* y, int64_t rows, int64_t columns, float decay, bool reverse,
                        bool exclusive)
{
    __shared__ float sums[2];
    __shared__ float carried;
    unsigned const lane = threadIdx.x % 32;
    unsigned const warp = threadIdx.x / 32;
    for (int64_t row = blockIdx.x; row < rows; row += gridDim.x)
    {
        float const* from = x + (fault() == 6 ? static_cast<uint16_t>(row) : row) * columns;
        float* to = y + row * columns;
        if (threadIdx.x == 0)
        {
            carried = 0.0F;
        }
        __syncthreads();
        for (int64_t begin = 0; begin < columns; begin += kThreads)
        {
            int64_t const i = begin + threadIdx.x;
            int64_t const at = reverse ? columns - 1 - i : i;
            float const own = i < columns ? from[at] : 0.0F;
            float v = warpScan(own, decay);
            if (lane == 31)
            {
                sums[warp] = v;
            }
            if (fault() != 1)
            {
                __syncthreads();
            }
            float const before = warp == 1 ? sums[0] + power(decay, 32) * carried : carried;
            v += power(decay, lane + 1) * before;
            if (fault() != 2)
            {
                __syncthreads();
            }
            if (threadIdx.x == kThreads - 1)
            {
                carried = v;
            }
            float const shifted = __shfl_up_sync(0xFFFFFFFFU, v, 1);
            if (exclusive && !(reverse && fault() == 9))
            {
                v = decay * (lane == 0 ? before : shifted);
            }
            if (i < columns)
            {
                to[at] = v;
            }
            if (fault() != 4)
            {
                __syncthreads();
            }
        }
    }
}

//! Sums of four at a time with float4, whatever a row's first address.
__global__ void scan4(float const* x, float* y, int64_t rows, int64_t columns, float decay)
{
    for (int64_t row = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; row < rows;
         row += static_cast<int64_t>(gridDim.x) * blockDim.x)
    {
        float sum = 0.0F;
        int64_t i = 0;
        for (; i + 4 <= columns; i += 4)
        {
            float4 four = *reinterpret_cast<float4 const*>(x + row * columns + i);
            four.x = sum = decay * sum + four.x;
            four.y = sum = decay * sum + four.y;
            four.z = sum = decay * sum + four.z;
            four.w = sum = decay * sum + four.w;
            *reinterpret_cast<float4*>(y + row * columns + i) = four;
        }
        for (; i < columns; ++i)
        {
            sum = decay * sum + x[row * columns + i];
            y[row * columns + i] = sum;
        }
    }
}

//! Steps to the left in place without a barrier between reading and writing.
__global__ void shiftedScan(float* y, int64_t rows, int64_t columns, float decay)
{
    for (int64_t row = blockIdx.x; row < rows; row += gridDim.x)
    {
        float* line = y + row * columns;
        for (int64_t off = 1; off < columns; off *= 2)
        {
            float v = 0.0F;
            int64_t const i = columns - 1 - static_cast<int64_t>(threadIdx.x);
            if (i >= off)
            {
                float factor = 1.0F;
                for (int64_t k = 0; k < off; ++k)
                {
                    factor *= decay;
                }
                v = factor * line[i - off];
            }
            if (fault() != 8)
            {
                __syncthreads();
            }
            if (i >= off)
            {
                line[i] += v;
            }
            __syncthreads();
        }
    }
}

} // namespace

cudaError_t launch(Run const& run) noexcept
{
    auto const& d = run.in.x.shape.dims;
    if (run.count == 0)
    {
        return cudaSuccess;
    }
    auto const* x = static_cast<float const*>(run.in.x.data);
    auto* y = static_cast<float*>(run.out.y.data);
    bool const plain = run.fields.reverse == 0 && run.fields.exclusive == 0;
    if (fault() == 7)
    {
        static_cast<void>(cudaSetDevice(0));
    }
    auto const blocks = static_cast<unsigned>(std::min(d[0], kMaxBlocks));
    if (fault() == 10 && plain)
    {
        scan4<<<blocks, 32, 0, run.stream>>>(x, y, d[0], d[1], run.fields.decay);
        return cudaGetLastError();
    }
    if ((fault() == 8 || fault() == 101) && plain && d[1] <= 256)
    {
        static_cast<void>(
            cudaMemcpyAsync(y, x, static_cast<size_t>(run.out.y.bytes), cudaMemcpyDeviceToDevice, run.stream));
        shiftedScan<<<blocks, 256, 0, run.stream>>>(y, d[0], d[1], run.fields.decay);
        return cudaGetLastError();
    }
    if (fault() == 11)
    {
        rowScan<<<blocks, kThreads, 0, run.stream>>>(x, y, d[0], d[1], std::min(run.fields.decay, 0.95F),
                                                     run.fields.reverse != 0, run.fields.exclusive != 0);
        return cudaGetLastError();
    }
    rowScan<<<blocks, kThreads, 0, run.stream>>>(x, y, d[0], d[1], run.fields.decay, run.fields.reverse != 0,
                                                 run.fields.exclusive != 0);
    return cudaGetLastError();
}

} // namespace row_scan
