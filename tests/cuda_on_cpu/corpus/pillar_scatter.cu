// PointPillars' scatter: features of pillars staged in shared memory and put onto a dense map by (batch, z, y, x)
// coordinates.
#include "corpus.h"

#include <cuda_fp16.h>

namespace pillar_scatter
{
constexpr int kPILLARS_PER_BLOCK = 32;

template <typename Element, int FEATURES>
__global__ void kernel(Element const* pillarFeatures, uint4 const* coordinates, unsigned int const* paramsData,
                       Element* spatialFeatures, int maxPillars, int features, int featureY, int featureX)
{
    int const batch = blockIdx.y;
    int const first = blockIdx.x * kPILLARS_PER_BLOCK;
    int const count = min(static_cast<int>(paramsData[batch]) - first, kPILLARS_PER_BLOCK);
    if (count <= 0)
        return;
    __shared__ Element staged[kPILLARS_PER_BLOCK][FEATURES + 1];
    Element const* from = pillarFeatures + (static_cast<size_t>(batch) * maxPillars + first) * features;
    for (int i = threadIdx.x; i < count * features; i += blockDim.x)
    {
        staged[i / features][i % features] = from[i];
    }
    __syncthreads();
    if (static_cast<int>(threadIdx.x) >= count)
        return;
    uint4 const at = coordinates[batch * maxPillars + first + threadIdx.x];
    Element* to = spatialFeatures + (static_cast<size_t>(batch) * features * featureY + at.z) * featureX + at.w;
    for (int f = 0; f < features; ++f)
    {
        to[static_cast<size_t>(f) * featureY * featureX] = staged[threadIdx.x][f];
    }
}

template <typename Element>
int run(Element const* features, uint4 const* coordinates, unsigned int const* counts, Element* map, int batch,
        int maxPillars, int width, int featureY, int featureX)
{
    corpus::Device<Element> const dFeatures(features, static_cast<size_t>(batch) * maxPillars * width);
    corpus::Device<uint4> const dCoordinates(coordinates, static_cast<size_t>(batch) * maxPillars);
    corpus::Device<unsigned int> const dCounts(counts, batch);
    corpus::Device<Element> dMap(static_cast<size_t>(batch) * width * featureY * featureX);
    dMap.zero();
    dim3 const grid(corpus::ceilDiv(maxPillars, kPILLARS_PER_BLOCK), batch);
    kernel<Element, 64><<<grid, kPILLARS_PER_BLOCK>>>(dFeatures.get(), dCoordinates.get(), dCounts.get(), dMap.get(),
                                                      maxPillars, width, featureY, featureX);
    return dMap.copyTo(map);
}
} // namespace pillar_scatter

CORPUS_EXPORT int run_pillar_scatter(void const* features, uint4 const* coordinates, unsigned int const* counts,
                                     void* map, int batch, int maxPillars, int width, int featureY, int featureX,
                                     int isHalf)
{
    using pillar_scatter::run;
    return isHalf ? run(static_cast<half const*>(features), coordinates, counts, static_cast<half*>(map), batch,
                        maxPillars, width, featureY, featureX)
                  : run(static_cast<float const*>(features), coordinates, counts, static_cast<float*>(map), batch,
                        maxPillars, width, featureY, featureX);
}
