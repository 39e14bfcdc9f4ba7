#include "window_max_signature.h"

#include <planted.h>

#include <algorithm>

namespace window_max
{
namespace
{

constexpr int kTile = 8;
constexpr int kMaxK = 5;
constexpr int64_t kMaxBlocks = 2048;

//! A block computes tiles of 8 x 8 outputs, each from a tile with its rim in shared memory.
__global__ void windowMax(float const* x, float* y, int64_t planes, int64_t h, int64_t w, int k)
{
    constexpr int kPitch = kTile + kMaxK - 1;
    __shared__ float tile[kPitch * kPitch];
    int const before = fault() == 3 ? k / 2 : (k - 1) / 2;
    int64_t const across = fault() == 11 ? max(w / kTile, static_cast<int64_t>(1)) : (w + kTile - 1) / kTile;
    int64_t const down = (h + kTile - 1) / kTile;
    int const rim = fault() == 4 ? min(k, 4) : k;
    int64_t pitch = w;
    if (fault() == 7 && k != 3)
    {
        pitch = h;
    }
    for (int64_t at = blockIdx.x; at < planes * across * down; at += gridDim.x)
    {
        int64_t const plane = at / (across * down);
        int64_t const top = at / across % down * kTile;
        int64_t const left = at % across * kTile;
        int64_t const from = (fault() == 8 ? static_cast<uint16_t>(plane) : plane) * h * w;
        int const side = kTile + rim - 1;
        for (int i = static_cast<int>(threadIdx.x); i < side * side; i += static_cast<int>(blockDim.x))
        {
            int64_t const row = top + i / side - before;
            int64_t const column = left + i % side - before;
            bool const inside = row >= 0 && row < h && column >= 0 && column < w;
            tile[i / side * kPitch + i % side] = inside ? x[from + row * pitch + column] : -INFINITY;
        }
        if (fault() != 1)
        {
            __syncthreads();
        }
        int const r = static_cast<int>(threadIdx.x) / kTile;
        int const c = static_cast<int>(threadIdx.x) % kTile;
        if (top + r < h && left + c < w)
        {
            float most = fault() == 5 ? -100.0F : fault() == 6 ? -60000.0F : -INFINITY;
            for (int i = 0; i < k; ++i)
            {
                for (int j = 0; j < k; ++j)
                {
                    float const v = tile[(r + i) * kPitch + c + j];
                    most = v > most || isnan(v) ? v : most;
                }
            }
            y[from + (top + r) * w + left + c] = most;
        }
        if (fault() != 2)
        {
            __syncthreads();
        }
    }
}

//! A row of a plane at a time, by vectors of two.
__global__ void byPairs(float const* x, float* y, int64_t rows, int64_t w)
{
    for (int64_t row = blockIdx.x; row < rows; row += gridDim.x)
    {
        for (int64_t i = threadIdx.x; i < w / 2; i += blockDim.x)
        {
            reinterpret_cast<float2*>(y + row * w)[i] = reinterpret_cast<float2 const*>(x + row * w)[i];
        }
        if (w % 2 == 1 && threadIdx.x == 0)
        {
            y[row * w + w - 1] = x[row * w + w - 1];
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
    if (fault() == 10)
    {
        int device = 0;
        static_cast<void>(cudaGetDevice(&device));
        static_cast<void>(cudaSetDevice(device));
    }
    auto const* x = static_cast<float const*>(run.in.x.data);
    auto* y = static_cast<float*>(run.out.y.data);
    if (fault() == 9 && run.fields.k == 1)
    {
        byPairs<<<static_cast<unsigned>(std::min(d[0] * d[1] * d[2], kMaxBlocks)), 32, 0, run.stream>>>(
            x, y, d[0] * d[1] * d[2], d[3]);
        return cudaGetLastError();
    }
    int64_t const tiles = d[0] * d[1] * ((d[2] + kTile - 1) / kTile) * ((d[3] + kTile - 1) / kTile);
    windowMax<<<static_cast<unsigned>(std::min(tiles, kMaxBlocks)), kTile * kTile, 0, run.stream>>>(
        x, y, d[0] * d[1], d[2], d[3], run.fields.k);
    return cudaGetLastError();
}

} // namespace window_max
