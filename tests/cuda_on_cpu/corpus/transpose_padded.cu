// Batched transpose through a 32x33 tile in shared memory by 32x8 threads; for float, half and 8-byte elements.
#include "corpus.h"

#include <cuda_fp16.h>

#define TILE_DIM 32
#define BLOCK_ROWS 8

template <typename T>
__global__ void transposeNoBankConflicts(T* odata, T const* idata, int height, int width)
{
    __shared__ T tile[TILE_DIM][TILE_DIM + 1];

    size_t const plane = static_cast<size_t>(blockIdx.z) * height * width;
    int x = blockIdx.x * TILE_DIM + threadIdx.x;
    int y = blockIdx.y * TILE_DIM + threadIdx.y;

    for (int j = 0; j < TILE_DIM; j += BLOCK_ROWS)
        if (x < width && y + j < height)
            tile[threadIdx.y + j][threadIdx.x] = idata[plane + (y + j) * width + x];

    __syncthreads();

    x = blockIdx.y * TILE_DIM + threadIdx.x; // the block's place is transposed too
    y = blockIdx.x * TILE_DIM + threadIdx.y;

    for (int j = 0; j < TILE_DIM; j += BLOCK_ROWS)
        if (x < height && y + j < width)
            odata[plane + (y + j) * height + x] = tile[threadIdx.x][threadIdx.y + j];
}

template <typename T>
static int transpose(void const* x, void* y, int batch, int height, int width)
{
    size_t const count = static_cast<size_t>(batch) * height * width;
    corpus::Device<T> const in(static_cast<T const*>(x), count), out(count);
    dim3 dimGrid((width + TILE_DIM - 1) / TILE_DIM, (height + TILE_DIM - 1) / TILE_DIM, batch);
    dim3 dimBlock(TILE_DIM, BLOCK_ROWS, 1);
    transposeNoBankConflicts<<<dimGrid, dimBlock>>>(out.get(), in.get(), height, width);
    return out.copyTo(static_cast<T*>(y));
}

CORPUS_EXPORT int run_transpose_padded(void const* x, void* y, int batch, int height, int width, int bytes)
{
    return bytes == 2   ? transpose<half>(x, y, batch, height, width)
           : bytes == 4 ? transpose<float>(x, y, batch, height, width)
                        : transpose<uint2>(x, y, batch, height, width);
}
