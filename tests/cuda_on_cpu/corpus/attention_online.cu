// Attention with online softmax: tiles of keys and values in shared memory, a thread a query, causal mask by template.
#include "corpus.h"

#include <cfloat>

namespace
{
template <int HEAD, int QUERIES, int KEYS, bool CAUSAL>
__global__ __launch_bounds__(QUERIES) void attentionOnlineKernel(float const* __restrict__ q,
                                                                 float const* __restrict__ k,
                                                                 float const* __restrict__ v, float* __restrict__ out,
                                                                 int length, float scale)
{
    __shared__ float keys[KEYS][HEAD + 1];
    __shared__ float4 values[KEYS][HEAD / 4];

    size_t const head = static_cast<size_t>(blockIdx.y) * length * HEAD;
    int const query = blockIdx.x * QUERIES + threadIdx.x;
    bool const active = query < length;

    float mine[HEAD];
    float sum[HEAD] = {};
#pragma unroll
    for (int d = 0; d < HEAD; ++d)
    {
        mine[d] = active ? q[head + static_cast<size_t>(query) * HEAD + d] * scale : 0.f;
    }
    float largest = -FLT_MAX;
    float weight = 0.f;

    for (int first = 0; first < length; first += KEYS)
    {
        int const here = min(KEYS, length - first);
        for (int i = threadIdx.x; i < here * HEAD; i += QUERIES)
        {
            keys[i / HEAD][i % HEAD] = k[head + static_cast<size_t>(first) * HEAD + i];
        }
        for (int i = threadIdx.x; i < here * HEAD / 4; i += QUERIES)
        {
            values[i / (HEAD / 4)][i % (HEAD / 4)] =
                reinterpret_cast<float4 const*>(v + head + static_cast<size_t>(first) * HEAD)[i];
        }
        __syncthreads();
        if (active)
        {
            int const last = CAUSAL ? min(here, query + 1 - first) : here;
            for (int j = 0; j < last; ++j)
            {
                float score = 0.f;
#pragma unroll 8
                for (int d = 0; d < HEAD; ++d)
                {
                    score = fmaf(mine[d], keys[j][d], score);
                }
                float const larger = fmaxf(largest, score);
                float const correction = expf(largest - larger);
                float const p = expf(score - larger);
                weight = weight * correction + p;
                for (int d = 0; d < HEAD; d += 4)
                {
                    float4 const value = values[j][d / 4];
                    sum[d + 0] = sum[d + 0] * correction + p * value.x;
                    sum[d + 1] = sum[d + 1] * correction + p * value.y;
                    sum[d + 2] = sum[d + 2] * correction + p * value.z;
                    sum[d + 3] = sum[d + 3] * correction + p * value.w;
                }
                largest = larger;
            }
        }
        __syncthreads();
    }
    if (active)
    {
        for (int d = 0; d < HEAD; ++d)
        {
            out[head + static_cast<size_t>(query) * HEAD + d] = sum[d] / weight;
        }
    }
}
} // namespace

CORPUS_EXPORT int run_attention_online(float const* q, float const* k, float const* v, float* out, int heads,
                                       int length, int causal)
{
    constexpr int kHEAD = 32;
    constexpr int kQUERIES = 32;
    constexpr int kKEYS = 16;
    size_t const count = static_cast<size_t>(heads) * length * kHEAD;
    corpus::Device<float> const dq(q, count), dk(k, count), dv(v, count);
    corpus::Device<float> const result(count);
    dim3 const grid(corpus::ceilDiv(length, kQUERIES), heads);
    auto const kernel = causal ? attentionOnlineKernel<kHEAD, kQUERIES, kKEYS, true>
                               : attentionOnlineKernel<kHEAD, kQUERIES, kKEYS, false>;
    kernel<<<grid, kQUERIES>>>(dq.get(), dk.get(), dv.get(), result.get(), length, rsqrtf(static_cast<float>(kHEAD)));
    return result.copyTo(out);
}
