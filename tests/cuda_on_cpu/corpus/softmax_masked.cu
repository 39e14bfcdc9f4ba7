// Attention scores' softmax in half with a key mask: a 3D grid (query, head, batch), block reductions in a called
// function.
#include "corpus.h"

#include <cuda_fp16.h>

namespace
{
enum class Reduction
{
    kSUM,
    kMAX
};

template <Reduction OP>
__device__ float blockReduce(float value)
{
    static __shared__ float partial[32];
    __shared__ float result;
    int const lane = threadIdx.x % warpSize;
    int const warp = threadIdx.x / warpSize;
    for (int offset = 16; offset > 0; offset >>= 1)
    {
        float const other = __shfl_xor_sync(0xffffffff, value, offset);
        value = OP == Reduction::kSUM ? value + other : fmaxf(value, other);
    }
    if (lane == 0)
    {
        partial[warp] = value;
    }
    __syncthreads();
    if (threadIdx.x == 0)
    {
        int const warps = blockDim.x / warpSize;
        for (int i = 1; i < warps; ++i)
        {
            value = OP == Reduction::kSUM ? value + partial[i] : fmaxf(value, partial[i]);
        }
        result = value;
    }
    __syncthreads();
    return result;
}

__global__ void softmaxMaskedKernel(__half* scores, unsigned char const* mask, float const scale, int const keys)
{
    int const query = blockIdx.x;
    int const head = blockIdx.y;
    int const batch = blockIdx.z;
    __half* row = scores + (static_cast<size_t>(batch * gridDim.y + head) * gridDim.x + query) * keys;
    unsigned char const* valid = mask + static_cast<size_t>(batch) * keys;

    float largest = -1e20f;
    for (int key = threadIdx.x; key < keys; key += blockDim.x)
    {
        if (valid[key])
        {
            largest = fmaxf(largest, __half2float(row[key]) * scale);
        }
    }
    largest = blockReduce<Reduction::kMAX>(largest);

    float sum = 0.f;
    for (int key = threadIdx.x; key < keys; key += blockDim.x)
    {
        float const e = valid[key] ? __expf(__half2float(row[key]) * scale - largest) : 0.f;
        sum += e;
    }
    sum = blockReduce<Reduction::kSUM>(sum) + 1e-6f;

    for (int key = threadIdx.x; key < keys; key += blockDim.x)
    {
        float const e = valid[key] ? __expf(__half2float(row[key]) * scale - largest) : 0.f;
        row[key] = __float2half_rn(e / sum);
    }
}
} // namespace

CORPUS_EXPORT int run_softmax_masked(__half* scores, unsigned char const* mask, float scale, int batch, int heads,
                                     int queries, int keys)
{
    size_t const count = static_cast<size_t>(batch) * heads * queries * keys;
    corpus::Device<__half> const inOut(scores, count);
    corpus::Device<unsigned char> const valid(mask, static_cast<size_t>(batch) * keys);
    dim3 grid(queries, heads, batch);
    dim3 block(64);
    softmaxMaskedKernel<<<grid, block>>>(inOut.get(), valid.get(), scale, keys);
    return inOut.copyTo(scores);
}
