// The functions of CUDA's runtime that target cpu has. Each check gives 0, or the number of the line that failed.
#include <cuda_runtime.h>

#include <cstring>

#define EXPORT extern "C" __attribute__((visibility("default")))
#define CHECK(condition)                                                                                               \
    if (!(condition))                                                                                                  \
    {                                                                                                                  \
        return __LINE__;                                                                                               \
    }

__global__ void touch(int* x)
{
    x[threadIdx.x] += 1;
}

EXPORT int memory()
{
    int host[4] = {1, 2, 3, 4};
    int* device = nullptr;
    CHECK(cudaMalloc(&device, sizeof(host)) == cudaSuccess && device != nullptr);
    CHECK(cudaMemcpyAsync(device, host, sizeof(host), cudaMemcpyHostToDevice, nullptr) == cudaSuccess);
    touch<<<1, 4>>>(device);
    CHECK(cudaMemcpy(host, device, sizeof(host), cudaMemcpyDeviceToHost) == cudaSuccess);
    CHECK(host[0] == 2 && host[3] == 5);
    CHECK(cudaMemsetAsync(device, 0xFF, sizeof(host), nullptr) == cudaSuccess && device[3] == -1);
    CHECK(cudaMemset(device, 0, sizeof(host)) == cudaSuccess && device[3] == 0);
    CHECK(cudaMemcpy(nullptr, host, 4, cudaMemcpyDefault) == cudaErrorInvalidValue);
    CHECK(cudaGetLastError() == cudaErrorInvalidValue && cudaGetLastError() == cudaSuccess);
    CHECK(cudaFree(device) == cudaSuccess && cudaFree(nullptr) == cudaSuccess);
    CHECK(cudaMallocAsync(&device, 64, nullptr) == cudaSuccess && cudaFreeAsync(device, nullptr) == cudaSuccess);
    CHECK(cudaMallocHost(&device, 64) == cudaSuccess && cudaFreeHost(device) == cudaSuccess);
    CHECK(cudaHostAlloc(&device, 64, cudaHostAllocDefault) == cudaSuccess && cudaFreeHost(device) == cudaSuccess);
    return 0;
}

EXPORT int streams()
{
    cudaStream_t stream = nullptr;
    CHECK(cudaStreamCreate(&stream) == cudaSuccess && stream != nullptr);
    CHECK(cudaStreamSynchronize(stream) == cudaSuccess && cudaStreamDestroy(stream) == cudaSuccess);
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) == cudaSuccess);
    CHECK(cudaStreamQuery(stream) == cudaSuccess && cudaStreamDestroy(stream) == cudaSuccess);
    CHECK(cudaStreamCreateWithFlags(&stream, 77) == cudaErrorInvalidValue && cudaGetLastError() != cudaSuccess);
    return 0;
}

EXPORT int events()
{
    cudaEvent_t from = nullptr;
    cudaEvent_t to = nullptr;
    float milliseconds = -1.0F;
    CHECK(cudaEventCreate(&from) == cudaSuccess && cudaEventCreate(&to) == cudaSuccess);
    CHECK(cudaEventElapsedTime(&milliseconds, from, to) == cudaErrorInvalidResourceHandle);
    CHECK(cudaGetLastError() == cudaErrorInvalidResourceHandle);
    CHECK(cudaEventRecord(from) == cudaSuccess && cudaEventRecord(to, nullptr) == cudaSuccess);
    CHECK(cudaStreamWaitEvent(nullptr, to, 0) == cudaSuccess && cudaEventSynchronize(to) == cudaSuccess);
    CHECK(cudaEventElapsedTime(&milliseconds, from, to) == cudaSuccess && milliseconds >= 0.0F);
    CHECK(cudaEventDestroy(from) == cudaSuccess && cudaEventDestroy(to) == cudaSuccess);
    return 0;
}

EXPORT int device()
{
    int number = -1;
    CHECK(cudaGetDeviceCount(&number) == cudaSuccess && number == 1);
    CHECK(cudaGetDevice(&number) == cudaSuccess && number == 0);
    CHECK(cudaSetDevice(0) == cudaSuccess && cudaSetDevice(1) == cudaErrorInvalidDevice);
    CHECK(cudaGetLastError() == cudaErrorInvalidDevice);
    cudaDeviceProp properties{};
    CHECK(cudaGetDeviceProperties(&properties, 0) == cudaSuccess);
    CHECK(properties.major == 8 && properties.warpSize == 32 && properties.maxThreadsPerBlock == 1024);
    CHECK(properties.totalGlobalMem > (size_t{1} << 26) && std::strlen(properties.name) > 0);
    CHECK(cudaDeviceGetAttribute(&number, cudaDevAttrComputeCapabilityMajor, 0) == cudaSuccess && number == 8);
    return 0;
}

EXPORT int configuration(unsigned int gridX, unsigned int gridY, unsigned int blockX, unsigned int blockZ)
{
    int x[64] = {};
    touch<<<dim3(gridX, gridY), dim3(blockX, 1, blockZ)>>>(x);
    cudaError_t const error = cudaPeekAtLastError();
    CHECK(cudaGetLastError() == error && cudaGetLastError() == cudaSuccess);
    CHECK(error == cudaSuccess || x[0] == 0);
    return error == cudaSuccess ? 0 : -static_cast<int>(error);
}
