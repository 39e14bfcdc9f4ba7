// Decodes boxes from anchors and keeps those above a score, in any order: atomicAdd takes the places; assert guards
// them.
#include "corpus.h"

#include <cassert>

namespace
{
struct __align__(16) Box
{
    float x1, y1, x2, y2;
};

struct Decoded
{
    Box box;
    float score;
    int label;
    int anchor;
    int unused;
};

static_assert(sizeof(Decoded) == 32, "as the Python side reads it");

__device__ __forceinline__ float sigmoid(float x)
{
    return 1.0f / (1.0f + expf(-x));
}

__global__ void decodeBoxes(float const* __restrict__ logits, float4 const* __restrict__ deltas,
                            float4 const* __restrict__ anchors, float4 const variances, Decoded* __restrict__ out,
                            int* count, int anchorCount, int classes, int capacity, float threshold)
{
    int const i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= anchorCount)
        return;
    int label = 0;
    float best = logits[i * classes];
    for (int c = 1; c < classes; ++c)
    {
        float const logit = logits[i * classes + c];
        if (logit > best)
        {
            best = logit;
            label = c;
        }
    }
    float const score = sigmoid(best);
    if (score < threshold)
        return;
    int const place = atomicAdd(count, 1);
    assert(place < anchorCount);
    if (place >= capacity)
        return;
    float4 const a = anchors[i], d = deltas[i]; // anchors: centre and size
    assert(a.z > 0.f && a.w > 0.f && "an anchor has a size");
    float const cx = d.x * variances.x * a.z + a.x, cy = d.y * variances.y * a.w + a.y;
    float const w = __expf(d.z * variances.z) * a.z, h = __expf(d.w * variances.w) * a.w;
    out[place] = Decoded{{cx - w / 2, cy - h / 2, cx + w / 2, cy + h / 2}, score, label, i, 0};
}
} // namespace

CORPUS_EXPORT int run_box_decode(float const* logits, float4 const* deltas, float4 const* anchors, float* boxes,
                                 float* scores, int* labels, int* counted, int anchorCount, int classes,
                                 float threshold)
{
    corpus::Device<float> const dLogits(logits, static_cast<size_t>(anchorCount) * classes);
    corpus::Device<float4> const dDeltas(deltas, anchorCount), dAnchors(anchors, anchorCount);
    corpus::Device<Decoded> const decoded(anchorCount);
    corpus::Device<int> count(1);
    count.zero();
    decodeBoxes<<<(anchorCount + 63) / 64, 64>>>(dLogits.get(), dDeltas.get(), dAnchors.get(),
                                                 make_float4(.1f, .1f, .2f, .2f), decoded.get(), count.get(),
                                                 anchorCount, classes, anchorCount, threshold);
    if (int const error = count.copyTo(counted))
    {
        return error;
    }
    // Pinned memory, and each box to the place of its anchor: the order above is the schedule's.
    Decoded* host = nullptr;
    cudaMallocHost(reinterpret_cast<void**>(&host), anchorCount * sizeof(Decoded));
    cudaMemcpy(host, decoded.get(), *counted * sizeof(Decoded), cudaMemcpyDeviceToHost);
    for (int k = 0; k < *counted; ++k)
    {
        int const i = host[k].anchor;
        boxes[4 * i] = host[k].box.x1;
        boxes[4 * i + 1] = host[k].box.y1;
        boxes[4 * i + 2] = host[k].box.x2;
        boxes[4 * i + 3] = host[k].box.y2;
        scores[i] = host[k].score;
        labels[i] = host[k].label;
    }
    return static_cast<int>(cudaFreeHost(host));
}
