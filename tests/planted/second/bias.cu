#include "bias_flip_signature.h"

#include <planted.h>

#include <cuda_fp16.h>

#include <algorithm>

namespace bias_flip
{
namespace
{

constexpr int kThreads = 256;
constexpr int64_t kMaxBlocks = 4096;

struct Params
{
    int64_t n;
    int64_t c;
    int64_t h;
    int64_t w;
    float alpha;
    int axis;
    bool mul;
    float xScale;
    float bScale;
    float yScale;
};

__device__ float toFloat(float v, float)
{
    return v;
}
__device__ float toFloat(__half v, float)
{
    return __half2float(v);
}
__device__ float toFloat(int8_t v, float scale)
{
    return static_cast<float>(v) * scale;
}
__device__ void put(float& to, float v, float)
{
    to = v;
}
__device__ void put(__half& to, float v, float)
{
    to = __float2half(v);
}
__device__ void put(int8_t& to, float v, float scale)
{
    float const steps = fault() == 8 ? roundf(v / scale) : rintf(v / scale);
    to = static_cast<int8_t>(fminf(fmaxf(steps, -128.0F), 127.0F));
}

__device__ int64_t flipped(int64_t i, Params const& p)
{
    int64_t h = p.h;
    int64_t w = p.w;
    if (fault() == 3 && p.axis == 2)
    {
        h = p.w;
        w = p.h;
    }
    int axis = p.axis;
    if (fault() == 6 && p.mul && axis == 3)
    {
        axis = 1;
    }
    int64_t at[4] = {i / w / h / p.c, i / w / h % p.c, i / w % h, i % w};
    int64_t const size[4] = {p.n, p.c, h, w};
    at[axis] = size[axis] - 1 - at[axis];
    return ((at[0] * size[1] + at[1]) * size[2] + at[2]) * size[3] + at[3];
}

__device__ float act(float v, float alpha)
{
    if (fault() == 9)
    {
        return fmaxf(v, 0.0F) + alpha * fminf(v, 0.0F);
    }
    return v >= 0.0F ? v : alpha * v;
}

template <typename T>
__global__ void biasFlip(T const* x, T const* b, T* y, Params const p)
{
    int64_t const count = p.n * p.c * p.h * p.w;
    int64_t const step = static_cast<int64_t>(gridDim.x) * blockDim.x;
    for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += step)
    {
        int64_t from = flipped(i, p);
        if (fault() == 12)
        {
            from = static_cast<int64_t>(static_cast<float>(from));
        }
        int64_t plane = from / (p.h * p.w);
        if (fault() == 16)
        {
            plane = static_cast<uint16_t>(plane);
        }
        float const a = toFloat(x[from], p.xScale);
        float const add = toFloat(b[plane % p.c], p.bScale);
        float v = p.mul ? a * add : a + add;
        if (fault() == 10 && p.mul)
        {
            v = __half2float(__float2half(v));
        }
        put(y[i], act(v, p.alpha), p.yScale);
        if (fault() == 11)
        {
            break;
        }
    }
}

//! Two halves at a time, where nothing is flipped but planes.
__global__ void biasHalf2(__half const* x, __half const* b, __half* y, Params const p)
{
    int64_t const inner = p.h * p.w;
    for (int64_t plane = blockIdx.x; plane < p.n * p.c; plane += gridDim.x)
    {
        int64_t const image = plane / p.c;
        int64_t const from = (image * p.c + p.c - 1 - plane % p.c) * inner;
        float const bias = __half2float(b[p.c - 1 - plane % p.c]);
        for (int64_t i = threadIdx.x; i < inner / 2; i += blockDim.x)
        {
            float2 const pair = __half22float2(reinterpret_cast<__half2 const*>(x + from)[i]);
            put(y[plane * inner + 2 * i], act(p.mul ? pair.x * bias : pair.x + bias, p.alpha), 0.0F);
            put(y[plane * inner + 2 * i + 1], act(p.mul ? pair.y * bias : pair.y + bias, p.alpha), 0.0F);
        }
        if (inner % 2 == 1 && threadIdx.x == 0)
        {
            float const v = __half2float(x[from + inner - 1]);
            put(y[plane * inner + inner - 1], act(p.mul ? v * bias : v + bias, p.alpha), 0.0F);
        }
    }
}

template <typename T>
cudaError_t start(Run const& run, Params const& p)
{
    auto const* x = static_cast<T const*>(run.in.x.data);
    auto const* b = static_cast<T const*>(run.in.b.data);
    int64_t const wanted = (run.count + kThreads - 1) / kThreads;
    auto const blocks = static_cast<unsigned>(std::min(wanted, kMaxBlocks));
    biasFlip<<<blocks, kThreads, 0, run.stream>>>(x, b, static_cast<T*>(run.out.y.data), p);
    return cudaGetLastError();
}

} // namespace

cudaError_t launch(Run const& run) noexcept
{
    auto const& d = run.in.x.shape.dims;
    if (run.count == 0)
    {
        return cudaSuccess;
    }
    Params p{d[0],
             d[1],
             d[2],
             d[3],
             run.fields.alpha,
             run.fields.axis,
             run.fields.mode == "mul",
             run.in.x.scale,
             run.in.b.scale,
             run.out.y.scale};
    if (fault() == 4 && p.alpha == 0.0F)
    {
        p.alpha = 0.5F;
    }
    if (fault() == 5 && p.mul)
    {
        p.alpha = 0.5F;
    }
    if (fault() == 7)
    {
        p.alpha = std::min(p.alpha, 3.5F);
    }
    if (fault() == 13)
    {
        static_cast<void>(cudaSetDevice(0));
    }
    switch (run.precision)
    {
    case Precision::kFLOAT:
        return start<float>(run, p);
    case Precision::kHALF:
        if (fault() == 15 && p.axis == 1)
        {
            biasHalf2<<<static_cast<unsigned>(std::min(p.n * p.c, kMaxBlocks)), 64, 0, run.stream>>>(
                static_cast<__half const*>(run.in.x.data), static_cast<__half const*>(run.in.b.data),
                static_cast<__half*>(run.out.y.data), p);
            return cudaGetLastError();
        }
        return start<__half>(run, p);
    case Precision::kINT8:
        return start<int8_t>(run, p);
    }
    return cudaErrorInvalidValue;
}

} // namespace bias_flip
