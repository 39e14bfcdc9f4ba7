// Voxels from points: a hash table filled by atomicCAS with linear probing, points counted by atomics, means in a
// second kernel.
#include "corpus.h"

#include <cstdint>

namespace hash_voxels
{
constexpr uint32_t kEMPTY = 0xffffffffu;

__device__ uint32_t hash(uint32_t key)
{
    key ^= key >> 16;
    key *= 0x85ebca6bu;
    key ^= key >> 13;
    key *= 0xc2b2ae35u;
    return key ^ (key >> 16);
}

// The slot of the key, taken if nobody had it.
__device__ uint32_t insert(uint32_t* keys, uint32_t capacity, uint32_t key)
{
    uint32_t slot = hash(key) & (capacity - 1);
    while (true)
    {
        uint32_t const before = atomicCAS(keys + slot, kEMPTY, key);
        if (before == kEMPTY || before == key)
        {
            return slot;
        }
        slot = (slot + 1) & (capacity - 1);
    }
}

__global__ void collect(float4 const* points, uint32_t* keys, float4* sums, unsigned* counts, uint32_t capacity, int n,
                        float size, int side)
{
    int const i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
    {
        return;
    }
    float4 const p = points[i];
    int const x = __float2int_rd(p.x / size), y = __float2int_rd(p.y / size), z = __float2int_rd(p.z / size);
    if (min(x, min(y, z)) < 0 || max(max(x, y), z) >= side)
    {
        return;
    }
    uint32_t const slot = insert(keys, capacity, (z * side + y) * side + x);
    atomicAdd(&sums[slot].x, p.x);
    atomicAdd(&sums[slot].y, p.y);
    atomicAdd(&sums[slot].z, p.z);
    atomicAdd(&sums[slot].w, p.w);
    atomicInc(counts + slot, 0xffffffffu);
}

__global__ void spread(uint32_t const* keys, float4 const* sums, unsigned const* counts, float4* means, unsigned* dense,
                       uint32_t capacity)
{
    uint32_t const slot = blockIdx.x * blockDim.x + threadIdx.x;
    if (slot < capacity && keys[slot] != kEMPTY)
    {
        float const inverse = 1.f / counts[slot];
        float4 mean = sums[slot];
        mean.x *= inverse, mean.y *= inverse, mean.z *= inverse, mean.w *= inverse;
        means[keys[slot]] = mean;
        dense[keys[slot]] = counts[slot];
    }
}
} // namespace hash_voxels

CORPUS_EXPORT int run_hash_voxels(float4 const* points, float4* means, unsigned* counts, int n, int side, float size)
{
    using namespace hash_voxels;
    uint32_t capacity = 64;
    while (capacity < 2 * static_cast<uint32_t>(n))
    {
        capacity *= 2;
    }
    size_t const cells = static_cast<size_t>(side) * side * side;
    corpus::Device<float4> const dPoints(points, n);
    corpus::Device<uint32_t> const keys(capacity);
    corpus::Device<float4> sums(capacity), dMeans(cells);
    corpus::Device<unsigned> slotCounts(capacity), dCounts(cells);
    cudaMemset(keys.get(), 0xff, capacity * sizeof(uint32_t));
    sums.zero();
    dMeans.zero();
    slotCounts.zero();
    dCounts.zero();
    collect<<<(n + 127) / 128, 128>>>(dPoints.get(), keys.get(), sums.get(), slotCounts.get(), capacity, n, size, side);
    spread<<<(capacity + 127) / 128, 128>>>(keys.get(), sums.get(), slotCounts.get(), dMeans.get(), dCounts.get(),
                                            capacity);
    int const error = dMeans.copyTo(means);
    return error ? error : dCounts.copyTo(counts);
}
