#include "row_norm_signature.h"

#include <planted.h>

#include <cooperative_groups.h>
#include <cub/block/block_reduce.cuh>
#include <cuda_fp16.h>

#include <algorithm>

namespace row_norm
{
namespace
{

namespace cg = cooperative_groups;

constexpr int kThreads = 64;
constexpr int64_t kMaxBlocks = 65535;

__device__ float toFloat(float v)
{
    return v;
}
__device__ float toFloat(__half v)
{
    return __half2float(v);
}
__device__ void put(float& to, float v)
{
    to = v;
}
__device__ void put(__half& to, float v)
{
    to = __float2half(v);
}

__device__ float warpSum(float v)
{
    __shared__ float lanes[kThreads];
    if (fault() == 3)
    {
        // By shared memory: each lane adds its neighbour's.
        for (unsigned off = 16; off > 0; off /= 2)
        {
            lanes[threadIdx.x] = v;
            float const other = lanes[threadIdx.x ^ off];
            v += other;
        }
        return v;
    }
    for (int off = 16; off > 0; off /= 2)
    {
        v += __shfl_xor_sync(0xFFFFFFFFU, v, off);
    }
    return v;
}

__device__ float blockSum(float v)
{
    __shared__ float partial[kThreads / 32];
    v = warpSum(v);
    if (threadIdx.x % 32 == 0)
    {
        partial[threadIdx.x / 32] = v;
    }
    if (fault() != 1)
    {
        __syncthreads();
    }
    float sum = 0.0F;
    for (float const one : partial)
    {
        sum += one;
    }
    if (fault() != 2)
    {
        __syncthreads();
    }
    return sum;
}

//! Mean and 1 / deviation of each row.
template <typename T>
__global__ void stats(T const* x, float* means, float* factors, int64_t rows, int64_t columns, float eps)
{
    __shared__ float mean;
    for (int64_t row = blockIdx.x; row < rows; row += gridDim.x)
    {
        T const* from = x + (fault() == 8 ? static_cast<uint16_t>(row) : row) * columns;
        float sum = 0.0F;
        float squares = 0.0F;
        __half narrow = __float2half(0.0F);
        for (int64_t i = threadIdx.x; i < columns; i += blockDim.x)
        {
            float const v = toFloat(from[i]);
            sum += v;
            squares += v * v;
            narrow = __hadd(narrow, __float2half(v));
        }
        sum = blockSum(fault() == 5 && sizeof(T) == 2 ? __half2float(narrow) : sum);
        if (fault() == 5 && sizeof(T) == 2)
        {
            sum = __half2float(__float2half(sum));
        }
        float average = sum / static_cast<float>(columns);
        if (fault() == 14)
        {
            if (threadIdx.x == 0)
            {
                mean = average;
            }
            average = mean;
        }
        float variance = 0.0F;
        if (fault() == 4)
        {
            variance = blockSum(squares) / static_cast<float>(columns) - average * average;
            variance = fmaxf(variance, 0.0F);
        }
        else
        {
            for (int64_t i = threadIdx.x; i < columns; i += blockDim.x)
            {
                float const off = toFloat(from[i]) - average;
                variance += off * off;
            }
            variance = blockSum(variance) / static_cast<float>(columns);
        }
        if (threadIdx.x == 0)
        {
            means[row] = average;
            factors[row] = fault() == 10 ? rsqrtf(variance) : rsqrtf(variance + eps);
        }
    }
}

template <typename T>
__global__ void statsByY(T const* x, float* means, float* factors, int64_t columns, float eps)
{
    int64_t const row = blockIdx.y;
    float sum = 0.0F;
    for (int64_t i = threadIdx.x; i < columns; i += blockDim.x)
    {
        sum += toFloat(x[row * columns + i]);
    }
    float const average = blockSum(sum) / static_cast<float>(columns);
    float squares = 0.0F;
    for (int64_t i = threadIdx.x; i < columns; i += blockDim.x)
    {
        float const off = toFloat(x[row * columns + i]) - average;
        squares += off * off;
    }
    squares = blockSum(squares);
    if (threadIdx.x == 0)
    {
        means[row] = average;
        factors[row] = rsqrtf(squares / static_cast<float>(columns) + eps);
    }
}

template <typename T>
__global__ void apply(T const* x, T const* gamma, float const* means, float const* factors, T* y, float* mean,
                      int64_t rows, int64_t columns)
{
    int64_t const step = static_cast<int64_t>(gridDim.x) * blockDim.x;
    for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < rows * columns; i += step)
    {
        int64_t const row = i / columns;
        put(y[i], (toFloat(x[i]) - means[row]) * factors[row] * toFloat(gamma[i % columns]));
        if (i % columns == 0)
        {
            mean[row] = fault() == 15 ? __half2float(__float2half(means[row])) : means[row];
        }
    }
}

//! Four elements at a time.
__global__ void apply4(float const* x, float const* gamma, float const* means, float const* factors, float* y,
                       float* mean, int64_t columns)
{
    int64_t const row = blockIdx.x;
    for (int64_t i = threadIdx.x; i < columns / 4; i += blockDim.x)
    {
        float4 four = reinterpret_cast<float4 const*>(x + row * columns)[i];
        float const m = means[row];
        float const f = factors[row];
        four.x = (four.x - m) * f * gamma[4 * i];
        four.y = (four.y - m) * f * gamma[4 * i + 1];
        four.z = (four.z - m) * f * gamma[4 * i + 2];
        four.w = (four.w - m) * f * gamma[4 * i + 3];
        reinterpret_cast<float4*>(y + row * columns)[i] = four;
    }
    for (int64_t i = columns / 4 * 4 + threadIdx.x; i < columns; i += blockDim.x)
    {
        y[row * columns + i] = (x[row * columns + i] - means[row]) * factors[row] * gamma[i];
    }
    if (threadIdx.x == 0)
    {
        mean[row] = means[row];
    }
}

// What is right, however odd: each writes the means and factors of all rows.

template <typename T>
__global__ void tiles(T const* x, float* means, float* factors, int64_t rows, int64_t columns, float eps)
{
    auto const tile = cg::tiled_partition<8>(cg::this_thread_block());
    int64_t const groups = static_cast<int64_t>(gridDim.x) * tile.meta_group_size();
    for (int64_t row = static_cast<int64_t>(blockIdx.x) * tile.meta_group_size() + tile.meta_group_rank(); row < rows;
         row += groups)
    {
        auto const total = [&](float average)
        {
            float sum = 0.0F;
            for (int64_t i = tile.thread_rank(); i < columns; i += tile.size())
            {
                float const v = toFloat(x[row * columns + i]);
                sum += average != average ? v : (v - average) * (v - average);
            }
            for (unsigned off = tile.size() / 2; off > 0; off /= 2)
            {
                sum += tile.shfl_xor(sum, off);
            }
            return sum / static_cast<float>(columns);
        };
        float const average = total(NAN);
        float const variance = total(average);
        if (tile.thread_rank() == 0)
        {
            means[row] = average;
            factors[row] = rsqrtf(variance + eps);
        }
    }
}

template <typename T>
__global__ void byCub(T const* x, float* means, float* factors, int64_t rows, int64_t columns, float eps)
{
    using Reduce = cub::BlockReduce<float, kThreads>;
    __shared__ typename Reduce::TempStorage storage;
    __shared__ float shared;
    for (int64_t row = blockIdx.x; row < rows; row += gridDim.x)
    {
        float sum = 0.0F;
        for (int64_t i = threadIdx.x; i < columns; i += blockDim.x)
        {
            sum += toFloat(x[row * columns + i]);
        }
        sum = Reduce(storage).Sum(sum);
        if (threadIdx.x == 0)
        {
            shared = sum / static_cast<float>(columns);
        }
        __syncthreads();
        float const average = shared;
        float squares = 0.0F;
        for (int64_t i = threadIdx.x; i < columns; i += blockDim.x)
        {
            float const off = toFloat(x[row * columns + i]) - average;
            squares += off * off;
        }
        squares = Reduce(storage).Sum(squares);
        if (threadIdx.x == 0)
        {
            means[row] = average;
            factors[row] = rsqrtf(squares / static_cast<float>(columns) + eps);
        }
        __syncthreads();
    }
}

//! An argument with an address that the kernel doesn't follow: as a struct of everything that the host has.
struct Everything
{
    char const* hostText;
    int64_t rows;
    int64_t columns;
    float eps;
};

template <typename T>
__global__ void withText(T const* x, float* means, float* factors, Everything const all)
{
    for (int64_t row = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; row < all.rows;
         row += static_cast<int64_t>(gridDim.x) * blockDim.x)
    {
        double sum = 0.0;
        double squares = 0.0;
        for (int64_t i = 0; i < all.columns; ++i)
        {
            sum += toFloat(x[row * all.columns + i]);
        }
        double const average = sum / static_cast<double>(all.columns);
        for (int64_t i = 0; i < all.columns; ++i)
        {
            double const off = toFloat(x[row * all.columns + i]) - average;
            squares += off * off;
        }
        means[row] = static_cast<float>(average);
        factors[row] = static_cast<float>(1.0 / sqrt(squares / static_cast<double>(all.columns) + all.eps));
    }
}

template <typename T>
void startStats(Run const& run, T const* x, float* means, float* factors, int64_t rows, int64_t columns)
{
    float eps = run.fields.eps;
    if (fault() == 12 && eps == 0.0F)
    {
        eps = 1e-5F;
    }
    auto const blocks = static_cast<unsigned>(std::min(rows, kMaxBlocks));
    switch (fault())
    {
    case 9:
        // Nobody looks at the error where there are more rows than a grid has in y.
        statsByY<<<dim3(1, static_cast<unsigned>(rows)), kThreads, 0, run.stream>>>(x, means, factors, columns, eps);
        static_cast<void>(cudaGetLastError());
        return;
    case 101:
        tiles<<<blocks, kThreads, 0, run.stream>>>(x, means, factors, rows, columns, eps);
        return;
    case 102:
        byCub<<<blocks, kThreads, 0, run.stream>>>(x, means, factors, rows, columns, eps);
        return;
    case 103:
        withText<<<blocks, kThreads, 0, run.stream>>>(x, means, factors, Everything{"rows", rows, columns, eps});
        return;
    default:
        stats<<<blocks, kThreads, 0, run.stream>>>(x, means, factors, rows, columns, eps);
    }
}

template <typename T>
cudaError_t start(Run const& run)
{
    auto const& shape = run.in.x.shape;
    int64_t const rows = shape.dims[0];
    int64_t const columns = shape.dims[1];
    if (rows * columns == 0)
    {
        return cudaSuccess;
    }
    if (fault() == 13)
    {
        static_cast<void>(cudaSetDevice(0));
    }
    auto const* x = static_cast<T const*>(run.in.x.data);
    auto const* gamma = static_cast<T const*>(run.in.gamma.data);
    auto* y = static_cast<T*>(run.out.y.data);
    auto* mean = static_cast<float*>(run.out.mean.data);
    auto* begin = static_cast<char*>(run.workspace) + (fault() == 6 ? rows % 4 : 0);
    auto* means = reinterpret_cast<float*>(begin);
    float* factors = means + rows;
    startStats(run, x, means, factors, rows, columns);
    if (fault() == 7 && sizeof(T) == 4 && columns >= 4)
    {
        apply4<<<static_cast<unsigned>(rows), kThreads, 0, run.stream>>>(
            static_cast<float const*>(run.in.x.data), static_cast<float const*>(run.in.gamma.data), means, factors,
            static_cast<float*>(run.out.y.data), mean, columns);
        return cudaGetLastError();
    }
    int64_t const wanted = (rows * columns + kThreads - 1) / kThreads;
    apply<<<static_cast<unsigned>(std::min(wanted, kMaxBlocks)), kThreads, 0, run.stream>>>(x, gamma, means, factors, y,
                                                                                            mean, rows, columns);
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

} // namespace row_norm
