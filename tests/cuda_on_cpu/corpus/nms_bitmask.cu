// Non-maximum suppression of boxes in order of score: a 64-bit mask for each pair of blocks of 64, then one block walks
// them.
#include "corpus.h"

namespace
{
using Mask = unsigned long long;
constexpr int kTHREADS_PER_BLOCK = sizeof(Mask) * 8;

__device__ inline bool overlaps(float const* const a, float const* const b, float const threshold)
{
    float const left = max(a[0], b[0]), right = min(a[2], b[2]);
    float const top = max(a[1], b[1]), bottom = min(a[3], b[3]);
    float const width = max(right - left, 0.f), height = max(bottom - top, 0.f);
    float const intersection = width * height;
    float const areaA = (a[2] - a[0]) * (a[3] - a[1]);
    float const areaB = (b[2] - b[0]) * (b[3] - b[1]);
    return intersection > threshold * (areaA + areaB - intersection);
}

__global__ void nmsMasks(int const boxCount, float const threshold, float const* boxes, Mask* masks)
{
    int const rowStart = blockIdx.y, columnStart = blockIdx.x;
    if (rowStart > columnStart)
        return;
    int const rowSize = min(boxCount - rowStart * kTHREADS_PER_BLOCK, kTHREADS_PER_BLOCK);
    int const columnSize = min(boxCount - columnStart * kTHREADS_PER_BLOCK, kTHREADS_PER_BLOCK);

    __shared__ float blockBoxes[kTHREADS_PER_BLOCK * 4];
    if (static_cast<int>(threadIdx.x) < columnSize)
    {
#pragma unroll
        for (int i = 0; i < 4; ++i)
            blockBoxes[threadIdx.x * 4 + i] = boxes[(kTHREADS_PER_BLOCK * columnStart + threadIdx.x) * 4 + i];
    }
    __syncthreads();

    if (static_cast<int>(threadIdx.x) < rowSize)
    {
        int const current = kTHREADS_PER_BLOCK * rowStart + threadIdx.x;
        float const* const box = boxes + current * 4;
        Mask bits = 0;
        int const first = rowStart == columnStart ? static_cast<int>(threadIdx.x) + 1 : 0;
        for (int i = first; i < columnSize; ++i)
        {
            if (overlaps(box, blockBoxes + i * 4, threshold))
            {
                bits |= 1ULL << i;
            }
        }
        int const columns = (boxCount + kTHREADS_PER_BLOCK - 1) / kTHREADS_PER_BLOCK;
        masks[static_cast<size_t>(current) * columns + columnStart] = bits;
    }
}

__global__ void nmsWalk(int const boxCount, Mask const* masks, int* kept, int* keptCount)
{
    extern __shared__ Mask removed[];
    __shared__ bool keepThis;
    int const columns = (boxCount + kTHREADS_PER_BLOCK - 1) / kTHREADS_PER_BLOCK;
    for (int c = threadIdx.x; c < columns; c += blockDim.x)
    {
        removed[c] = 0;
    }
    int count = 0;
    for (int i = 0; i < boxCount; ++i)
    {
        __syncthreads();
        if (threadIdx.x == 0)
        {
            keepThis = !((removed[i / kTHREADS_PER_BLOCK] >> (i % kTHREADS_PER_BLOCK)) & 1);
            if (keepThis)
            {
                kept[count] = i;
            }
        }
        __syncthreads();
        if (keepThis)
        {
            ++count;
            for (int c = i / kTHREADS_PER_BLOCK + threadIdx.x; c < columns; c += blockDim.x)
            {
                removed[c] |= masks[static_cast<size_t>(i) * columns + c];
            }
        }
    }
    if (threadIdx.x == 0)
    {
        *keptCount = count;
    }
}
} // namespace

CORPUS_EXPORT int run_nms_bitmask(float const* boxes, int* kept, int* keptCount, int count, float threshold)
{
    int const columns = corpus::ceilDiv(count, kTHREADS_PER_BLOCK);
    corpus::Device<float> const dBoxes(boxes, static_cast<size_t>(count) * 4);
    corpus::Device<Mask> const masks(static_cast<size_t>(count) * columns);
    corpus::Device<int> const dKept(kept, count), dCount(1);
    dim3 blocks(columns, columns);
    dim3 threads(kTHREADS_PER_BLOCK);
    nmsMasks<<<blocks, threads>>>(count, threshold, dBoxes.get(), masks.get());
    nmsWalk<<<1, 32, columns * sizeof(Mask)>>>(count, masks.get(), dKept.get(), dCount.get());
    int const error = dKept.copyTo(kept);
    return error ? error : dCount.copyTo(keptCount);
}
