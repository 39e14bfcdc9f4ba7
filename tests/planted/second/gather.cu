#include "row_gather_signature.h"

#include <planted.h>

#include <cuda_fp16.h>

#include <algorithm>
#include <cmath>

namespace row_gather
{
namespace
{

constexpr int64_t kMaxBlocks = 4096;

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

__device__ int64_t sourceRow(int32_t id, int32_t offset, int64_t rows)
{
    int64_t const row = static_cast<int64_t>(id) + offset;
    return row < 0 ? 0 : row >= rows ? rows - 1 : row;
}

template <typename T>
__global__ void gatherRows(T const* table, int32_t const* ids, T* y, int64_t rows, int64_t depth, int64_t count,
                           float scale, int32_t offset)
{
    for (int64_t i = blockIdx.x; i < count; i += gridDim.x)
    {
        int64_t const to = fault() == 7 ? static_cast<int16_t>(i) : i;
        int64_t from = sourceRow(ids[i], offset, rows);
        if (fault() == 6)
        {
            from = static_cast<uint16_t>(from);
        }
        for (int64_t j = threadIdx.x; j < depth; j += blockDim.x)
        {
            if (to >= 0)
            {
                put(y[to * depth + j], scale * toFloat(table[from * depth + j]));
            }
        }
    }
}

__global__ void gather4(float const* table, int32_t const* ids, float* y, int64_t rows, int64_t depth, int64_t count,
                        float scale, int32_t offset)
{
    for (int64_t i = blockIdx.x; i < count; i += gridDim.x)
    {
        float const* from = table + sourceRow(ids[i], offset, rows) * depth;
        for (int64_t j = threadIdx.x; j < depth / 4; j += blockDim.x)
        {
            float4 const four = reinterpret_cast<float4 const*>(from)[j];
            y[i * depth + 4 * j] = scale * four.x;
            y[i * depth + 4 * j + 1] = scale * four.y;
            y[i * depth + 4 * j + 2] = scale * four.z;
            y[i * depth + 4 * j + 3] = scale * four.w;
        }
        for (int64_t j = depth / 4 * 4 + threadIdx.x; j < depth; j += blockDim.x)
        {
            y[i * depth + j] = scale * from[j];
        }
    }
}

__global__ void gather2(__half const* table, int32_t const* ids, __half* y, int64_t rows, int64_t depth, int64_t count,
                        float scale, int32_t offset)
{
    for (int64_t i = blockIdx.x; i < count; i += gridDim.x)
    {
        __half const* from = table + sourceRow(ids[i], offset, rows) * depth;
        for (int64_t j = threadIdx.x; j < depth / 2; j += blockDim.x)
        {
            uint32_t const both = *reinterpret_cast<uint32_t const*>(from + 2 * j);
            y[i * depth + 2 * j] =
                __float2half(scale * __half2float(__ushort_as_half(static_cast<uint16_t>(both & 0xFFFFU))));
            y[i * depth + 2 * j + 1] =
                __float2half(scale * __half2float(__ushort_as_half(static_cast<uint16_t>(both >> 16U))));
        }
        if (depth % 2 == 1 && threadIdx.x == 0)
        {
            y[i * depth + depth - 1] = __float2half(scale * __half2float(from[depth - 1]));
        }
    }
}

//! An element a thread: its number has 24 bits.
template <typename T>
__global__ void byElements(T const* table, int32_t const* ids, T* y, int64_t rows, int64_t depth, int64_t count,
                           float scale, int32_t offset)
{
    int64_t const step = static_cast<int64_t>(gridDim.x) * blockDim.x;
    for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count * depth; i += step)
    {
        auto const row = static_cast<int64_t>(static_cast<float>(i) / static_cast<float>(depth));
        put(y[i], scale * toFloat(table[sourceRow(ids[i / depth], offset, rows) * depth + (i - row * depth)]));
    }
}

template <typename T>
cudaError_t start(Run const& run)
{
    int64_t const rows = run.in.table.shape.dims[0];
    int64_t const depth = run.in.table.shape.dims[1];
    int64_t const count = run.in.ids.shape.dims[0];
    auto const* table = static_cast<T const*>(run.in.table.data);
    auto const* ids = static_cast<int32_t const*>(run.in.ids.data);
    auto* y = static_cast<T*>(run.out.y.data);
    float scale = run.fields.factor;
    int32_t offset = run.fields.offset;
    if (count * depth == 0)
    {
        return cudaSuccess;
    }
    switch (fault())
    {
    case 3:
        offset = std::max(offset, 0);
        break;
    case 4:
        scale = std::fabs(scale);
        break;
    case 5:
        scale = scale == 0.0F ? 1.0F : scale;
        break;
    case 10:
        static_cast<void>(cudaSetDevice(0));
        break;
    case 11:
        scale = offset != 0 && scale < 0.0F ? -scale : scale;
        break;
    default:
        break;
    }
    auto const blocks = static_cast<unsigned>(std::min(count, kMaxBlocks));
    if constexpr (sizeof(T) == 4)
    {
        if (fault() == 1 && depth >= 4)
        {
            gather4<<<blocks, 32, 0, run.stream>>>(table, ids, y, rows, depth, count, scale, offset);
            return cudaGetLastError();
        }
    }
    else if (fault() == 2)
    {
        gather2<<<blocks, 32, 0, run.stream>>>(table, ids, y, rows, depth, count, scale, offset);
        return cudaGetLastError();
    }
    if (fault() == 8)
    {
        byElements<<<static_cast<unsigned>(std::min((count * depth + 255) / 256, kMaxBlocks)), 256, 0, run.stream>>>(
            table, ids, y, rows, depth, count, scale, offset);
        return cudaGetLastError();
    }
    gatherRows<<<blocks, 32, 0, run.stream>>>(table, ids, y, rows, depth, count, scale, offset);
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

} // namespace row_gather
