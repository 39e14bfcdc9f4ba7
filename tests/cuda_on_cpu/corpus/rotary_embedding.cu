// Rotary embedding in place on half queries and keys: sincosf and powf, interleaved or by halves, a shared table a
// position.
#include "corpus.h"

#include <cuda_fp16.h>

namespace
{
template <bool NEOX>
__global__ void rotaryKernel(half* __restrict__ query, half* __restrict__ key, int const* __restrict__ positions,
                             int heads, int headSize, float base)
{
    extern __shared__ float2 rotaryTable[]; // (cosine, sine)
    int const token = blockIdx.x;
    int const pairs = headSize / 2;
    for (int i = threadIdx.x; i < pairs; i += blockDim.x)
    {
        float const frequency = powf(base, -2.f * i / headSize);
        float sine, cosine;
        sincosf(positions[token] * frequency, &sine, &cosine);
        rotaryTable[i] = make_float2(cosine, sine);
    }
    __syncthreads();
    half* const tensors[2] = {query, key};
    for (int i = threadIdx.x; i < 2 * heads * pairs; i += blockDim.x)
    {
        half* tensor = tensors[i / (heads * pairs)];
        int const head = i / pairs % heads;
        int const pair = i % pairs;
        half* values = tensor + (static_cast<size_t>(token) * heads + head) * headSize;
        half& first = NEOX ? values[pair] : values[2 * pair];
        half& second = NEOX ? values[pair + pairs] : values[2 * pair + 1];
        float const x = __half2float(first), y = __half2float(second);
        float2 const turn = rotaryTable[pair];
        first = __float2half(x * turn.x - y * turn.y);
        second = __float2half(x * turn.y + y * turn.x);
    }
}
} // namespace

CORPUS_EXPORT int run_rotary_embedding(half* query, half* key, int const* positions, int tokens, int heads,
                                       int headSize, int neox, float base)
{
    size_t const count = static_cast<size_t>(tokens) * heads * headSize;
    corpus::Device<half> const dQuery(query, count), dKey(key, count);
    corpus::Device<int> const dPositions(positions, tokens);
    size_t const shared = headSize / 2 * sizeof(float2);
    using Kernel = void (*)(half*, half*, int const*, int, int, float);
    Kernel const kernel = neox ? rotaryKernel<true> : rotaryKernel<false>;
    kernel<<<tokens, 48, shared>>>(dQuery.get(), dKey.get(), dPositions.get(), heads, headSize, base);
    int const error = dQuery.copyTo(query);
    return error ? error : dKey.copyTo(key);
}
