// Adds a bias to packed QKV and splits it into heads: grid (length, batch, 3), 2D blocks, vectors of 1, 2 or 4 halves.
#include "corpus.h"

#include <cuda_fp16.h>

namespace split_qkv
{
struct alignas(8) Half4
{
    half2 low, high;
};

__device__ __forceinline__ half add(half a, half b)
{
    return __hadd(a, b);
}

__device__ __forceinline__ half2 add(half2 a, half2 b)
{
    return a + b;
}

__device__ __forceinline__ Half4 add(Half4 a, Half4 b)
{
    return {a.low + b.low, a.high + b.high};
}

template <typename V>
__global__ void kernel(V const* __restrict__ in, V const* __restrict__ bias, V* __restrict__ out)
{
    // [batch, length, 3, heads, size] to [3, batch, heads, length, size]; the block is (size, heads).
    int const size = blockDim.x, heads = blockDim.y;
    int const token = blockIdx.x, batch = blockIdx.y, which = blockIdx.z;
    int const length = gridDim.x, batches = gridDim.y;
    int const offset = (which * heads + threadIdx.y) * size + threadIdx.x;
    V const value = in[(static_cast<size_t>(batch) * length + token) * 3 * heads * size + offset];
    size_t const to = (((static_cast<size_t>(which) * batches + batch) * heads + threadIdx.y) * length + token) * size;
    out[to + threadIdx.x] = add(value, bias[offset]);
}

template <typename V>
void launch(half const* in, half const* bias, half* out, int batch, int length, int heads, int size)
{
    int const width = size / (sizeof(V) / sizeof(half));
    dim3 const grid(length, batch, 3), block(width, heads, 1);
    kernel<V>
        <<<grid, block>>>(reinterpret_cast<V const*>(in), reinterpret_cast<V const*>(bias), reinterpret_cast<V*>(out));
}
} // namespace split_qkv

CORPUS_EXPORT int run_split_qkv(half const* in, half const* bias, half* out, int batch, int length, int heads, int size)
{
    size_t const count = static_cast<size_t>(batch) * length * 3 * heads * size;
    corpus::Device<half> const dIn(in, count), dBias(bias, 3 * heads * size), dOut(count);
    if (size % 4 == 0)
        split_qkv::launch<split_qkv::Half4>(dIn.get(), dBias.get(), dOut.get(), batch, length, heads, size);
    else if (size % 2 == 0)
        split_qkv::launch<half2>(dIn.get(), dBias.get(), dOut.get(), batch, length, heads, size);
    else
        split_qkv::launch<half>(dIn.get(), dBias.get(), dOut.get(), batch, length, heads, size);
    return dOut.copyTo(out);
}
