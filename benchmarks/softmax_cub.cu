// A softmax of rows on CUB, in three types: what nvcc takes for it is what `kernels.py` compares our own with. Rows
// that are made of chunks of 16 bytes fill their threads and are loaded in chunks, others by way of shared memory.
#include <cub/block/block_load.cuh>
#include <cub/block/block_reduce.cuh>
#include <cub/block/block_store.cuh>
#include <cuda_fp16.h>

#include <cstdint>

namespace
{

template <typename T, int kThreads, int kEach, bool kWhole>
__global__ void __launch_bounds__(kThreads) softmax(T const* x, T* y, int columns, float scale, float inverse)
{
    using Load =
        cub::BlockLoad<T, kThreads, kEach, kWhole ? cub::BLOCK_LOAD_VECTORIZE : cub::BLOCK_LOAD_WARP_TRANSPOSE>;
    using Store =
        cub::BlockStore<T, kThreads, kEach, kWhole ? cub::BLOCK_STORE_VECTORIZE : cub::BLOCK_STORE_WARP_TRANSPOSE>;
    using Reduce = cub::BlockReduce<float, kThreads>;
    __shared__ union
    {
        typename Load::TempStorage load;
        typename Store::TempStorage store;
        typename Reduce::TempStorage reduce;
    } shared;
    __shared__ float most;
    __shared__ float sum;
    int64_t const begin = int64_t{blockIdx.x} * columns;
    T elements[kEach];
    float numbers[kEach];
    if constexpr (kWhole)
    {
        Load(shared.load).Load(x + begin, elements);
    }
    else
    {
        Load(shared.load).Load(x + begin, elements, columns, T{});
    }
    float mine = -INFINITY;
    for (int i = 0; i < kEach; ++i)
    {
        bool const has = kWhole || static_cast<int>(threadIdx.x) * kEach + i < columns;
        numbers[i] = has ? static_cast<float>(elements[i]) * scale : -INFINITY;
        mine = fmaxf(mine, numbers[i]);
    }
    __syncthreads();
    mine = Reduce(shared.reduce).Reduce(mine, [](float a, float b) { return fmaxf(a, b); });
    if (threadIdx.x == 0)
    {
        most = mine;
    }
    __syncthreads();
    mine = 0.0F;
    for (int i = 0; i < kEach; ++i)
    {
        numbers[i] = __expf(numbers[i] - most);
        mine += numbers[i];
    }
    mine = Reduce(shared.reduce).Sum(mine);
    if (threadIdx.x == 0)
    {
        sum = mine;
    }
    __syncthreads();
    for (int i = 0; i < kEach; ++i)
    {
        float const quotient = numbers[i] / sum * inverse;
        elements[i] = sizeof(T) == 1 ? static_cast<T>(fminf(rintf(quotient), 127.0F)) : static_cast<T>(quotient);
    }
    if constexpr (kWhole)
    {
        Store(shared.store).Store(y + begin, elements);
    }
    else
    {
        Store(shared.store).Store(y + begin, elements, columns);
    }
}

} // namespace

template <typename T, int kThreads, int kEach>
void start(cudaStream_t stream, int rows, int columns, T const* x, T* y, float scale, float inverse)
{
    columns == kThreads* kEach
        ? softmax<T, kThreads, kEach, true><<<rows, kThreads, 0, stream>>>(x, y, columns, scale, inverse)
        : softmax<T, kThreads, kEach, false><<<rows, kThreads, 0, stream>>>(x, y, columns, scale, inverse);
}

template <typename T>
void launch(cudaStream_t stream, int rows, int columns, T const* x, T* y, float scale, float inverse)
{
    constexpr int kChunk = static_cast<int>(16 / sizeof(T));
    columns <= 32 * kChunk     ? start<T, 32, kChunk>(stream, rows, columns, x, y, scale, inverse)
    : columns <= 128 * kChunk  ? start<T, 128, kChunk>(stream, rows, columns, x, y, scale, inverse)
    : columns <= 256 * kChunk  ? start<T, 128, 2 * kChunk>(stream, rows, columns, x, y, scale, inverse)
    : columns <= 512 * kChunk  ? start<T, 256, 2 * kChunk>(stream, rows, columns, x, y, scale, inverse)
    : columns <= 1024 * kChunk ? start<T, 512, 2 * kChunk>(stream, rows, columns, x, y, scale, inverse)
                               : start<T, 512, 4 * kChunk>(stream, rows, columns, x, y, scale, inverse);
}

template void launch<float>(cudaStream_t, int, int, float const*, float*, float, float);
template void launch<__half>(cudaStream_t, int, int, __half const*, __half*, float, float);
template void launch<int8_t>(cudaStream_t, int, int, int8_t const*, int8_t*, float, float);
