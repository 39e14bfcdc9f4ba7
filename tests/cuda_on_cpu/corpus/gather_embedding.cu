// Embedding lookup: the word's, place's and segment's rows added, float4 or scalar loads, ids out of range give zeros.
#include "corpus.h"

namespace
{
template <typename V>
__device__ V zeroOf();

template <>
__device__ float zeroOf<float>()
{
    return 0.f;
}

template <>
__device__ float4 zeroOf<float4>()
{
    return make_float4(0.f, 0.f, 0.f, 0.f);
}

__device__ float plus(float a, float b)
{
    return a + b;
}

__device__ float4 plus(float4 const& a, float4 const& b)
{
    return make_float4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w);
}

template <typename V, int BLOCK>
__global__ void __launch_bounds__(BLOCK)
    embed(int const* __restrict__ ids, int const* __restrict__ segments, V const* __restrict__ words,
          V const* __restrict__ places, V const* __restrict__ kinds, V* __restrict__ out, int length, int vocabulary,
          int width)
{
    __shared__ int wordId, kindId;
    int const token = blockIdx.y * gridDim.x + blockIdx.x;
    if (threadIdx.x == 0)
    {
        wordId = ids[token];
        kindId = segments[token];
    }
    __syncthreads();
    bool const known = wordId >= 0 && wordId < vocabulary;
    for (int i = threadIdx.x; i < width; i += BLOCK)
    {
        V const word = known ? __ldg(words + static_cast<size_t>(wordId) * width + i) : zeroOf<V>();
        V const place = __ldg(places + static_cast<size_t>(blockIdx.x % length) * width + i);
        out[static_cast<size_t>(token) * width + i] = plus(plus(word, place), __ldg(kinds + kindId * width + i));
    }
}
} // namespace

CORPUS_EXPORT int run_gather_embedding(int const* ids, int const* segments, float const* words, float const* places,
                                       float const* kinds, float* out, int batch, int length, int vocabulary, int width)
{
    size_t const tokens = static_cast<size_t>(batch) * length;
    corpus::Device<int> const dIds(ids, tokens), dSegments(segments, tokens);
    corpus::Device<float> const dWords(words, static_cast<size_t>(vocabulary) * width);
    corpus::Device<float> const dPlaces(places, static_cast<size_t>(length) * width), dKinds(kinds, 2 * width);
    corpus::Device<float> const dOut(tokens * width);
    dim3 const grid(length, batch);
    if (width % 4 == 0)
    {
        auto quads = [](auto const& array) { return reinterpret_cast<float4*>(array.get()); };
        embed<float4, 32><<<grid, 32>>>(dIds.get(), dSegments.get(), quads(dWords), quads(dPlaces), quads(dKinds),
                                        quads(dOut), length, vocabulary, width / 4);
    }
    else
    {
        embed<float, 64><<<grid, 64>>>(dIds.get(), dSegments.get(), dWords.get(), dPlaces.get(), dKinds.get(),
                                       dOut.get(), length, vocabulary, width);
    }
    return dOut.copyTo(out);
}
