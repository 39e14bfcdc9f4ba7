// What a launch answers, by its configuration.
#include <cuda_runtime.h>

#define EXPORT extern "C" __attribute__((visibility("default")))

__global__ void nothing() {}

__global__ void __launch_bounds__(256) nothingBounded() {}

EXPORT int launched(int bounded, unsigned int gridX, unsigned int gridY, unsigned int blockX, unsigned int blockY,
                    unsigned int blockZ, unsigned int shared)
{
    if (bounded != 0)
    {
        nothingBounded<<<dim3(gridX, gridY), dim3(blockX, blockY, blockZ), shared>>>();
    }
    else
    {
        nothing<<<dim3(gridX, gridY), dim3(blockX, blockY, blockZ), shared>>>();
    }
    cudaError_t const error = cudaGetLastError();
    cudaError_t const later = cudaDeviceSynchronize();
    return static_cast<int>(error) * 1000 + static_cast<int>(later);
}
