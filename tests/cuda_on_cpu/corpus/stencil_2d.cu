// Heat steps by a five-point stencil: tile and halo in dynamic shared memory, buffers swapped between launches in one
// stream.
#include "corpus.h"

#include <algorithm>

namespace
{
__global__ void heatStep(float const* __restrict__ now, float* __restrict__ next, int height, int width, float rate)
{
    extern __shared__ float heatTile[];
    int const pitch = blockDim.x + 2;
    int const x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    auto at = [=](int row, int column)
    {
        row = min(max(row, 0), height - 1);
        column = min(max(column, 0), width - 1);
        return now[row * width + column];
    };
    auto tile = [pitch](int row, int column) -> float& { return heatTile[(row + 1) * pitch + column + 1]; };
    int const tx = threadIdx.x, ty = threadIdx.y;
    tile(ty, tx) = at(y, x);
    if (ty == 0)
        tile(-1, tx) = at(y - 1, x);
    if (ty == static_cast<int>(blockDim.y) - 1)
        tile(blockDim.y, tx) = at(y + 1, x);
    if (tx == 0)
        tile(ty, -1) = at(y, x - 1);
    if (tx == static_cast<int>(blockDim.x) - 1)
        tile(ty, blockDim.x) = at(y, x + 1);
    __syncthreads();
    if (x < width && y < height)
    {
        // The tile beyond the edge repeats the last row and column, as `at` does.
        float const sum = tile(ty - 1, tx) + tile(ty + 1, tx) + tile(ty, tx - 1) + tile(ty, tx + 1);
        next[y * width + x] = fmaf(rate, sum - 4.f * tile(ty, tx), tile(ty, tx));
    }
}
} // namespace

CORPUS_EXPORT int run_stencil_2d(float const* start, float* result, int height, int width, int steps, float rate)
{
    size_t const bytes = static_cast<size_t>(height) * width * sizeof(float);
    float *now = nullptr, *next = nullptr;
    if (cudaMalloc(&now, bytes) != cudaSuccess || cudaMalloc((void**)&next, bytes) != cudaSuccess)
    {
        return static_cast<int>(cudaGetLastError());
    }
    cudaStream_t stream;
    cudaStreamCreate(&stream);
    cudaMemcpyAsync(now, start, bytes, cudaMemcpyHostToDevice, stream);
    dim3 const block(16, 4), grid((width + 15) / 16, (height + 3) / 4);
    for (int step = 0; step < steps; ++step)
    {
        heatStep<<<grid, block, (block.x + 2) * (block.y + 2) * sizeof(float), stream>>>(now, next, height, width,
                                                                                         rate);
        std::swap(now, next);
    }
    cudaMemcpyAsync(result, now, bytes, cudaMemcpyDeviceToHost, stream);
    cudaError_t error = cudaStreamSynchronize(stream);
    cudaStreamDestroy(stream);
    cudaFree(now);
    cudaFree(next);
    if (error == cudaSuccess)
        error = cudaGetLastError();
    return static_cast<int>(error);
}
