// The device, kernels' attributes, occupancy, errors.
#include "check.h"

#include <thread>

// As cuda_profiler_api.h, which is not among the wheels' headers.
extern "C" cudaError_t cudaProfilerStart();
extern "C" cudaError_t cudaProfilerStop();

__global__ void plain(float* x)
{
    x[threadIdx.x] = 0.0F;
}

template <typename T>
__global__ void typed(T* x)
{
    x[threadIdx.x] = T{};
}

EXPORT int attributes()
{
    cudaDeviceProp properties{};
    OK(cudaGetDeviceProperties(&properties, 0));
    struct
    {
        cudaDeviceAttr attribute;
        long long expected;
    } const rows[] = {
        {cudaDevAttrComputeCapabilityMajor, properties.major},
        {cudaDevAttrComputeCapabilityMinor, properties.minor},
        {cudaDevAttrMultiProcessorCount, properties.multiProcessorCount},
        {cudaDevAttrWarpSize, properties.warpSize},
        {cudaDevAttrMaxThreadsPerBlock, properties.maxThreadsPerBlock},
        {cudaDevAttrMaxBlockDimZ, properties.maxThreadsDim[2]},
        {cudaDevAttrMaxGridDimX, properties.maxGridSize[0]},
        {cudaDevAttrMaxSharedMemoryPerBlock, static_cast<long long>(properties.sharedMemPerBlock)},
        {cudaDevAttrMaxSharedMemoryPerBlockOptin, static_cast<long long>(properties.sharedMemPerBlockOptin)},
        {cudaDevAttrMaxSharedMemoryPerMultiprocessor, static_cast<long long>(properties.sharedMemPerMultiprocessor)},
        {cudaDevAttrMaxRegistersPerBlock, properties.regsPerBlock},
        {cudaDevAttrMaxThreadsPerMultiProcessor, properties.maxThreadsPerMultiProcessor},
        {cudaDevAttrMaxBlocksPerMultiprocessor, properties.maxBlocksPerMultiProcessor},
        {cudaDevAttrL2CacheSize, properties.l2CacheSize},
        {cudaDevAttrCooperativeLaunch, properties.cooperativeLaunch},
        {cudaDevAttrManagedMemory, properties.managedMemory},
        {cudaDevAttrMemoryPoolsSupported, properties.memoryPoolsSupported},
    };
    for (auto const& row : rows)
    {
        int value = -1;
        OK(cudaDeviceGetAttribute(&value, row.attribute, 0));
        CHECK(value == row.expected);
    }
    CHECK(properties.major == 8 && properties.minor == 0 && properties.sharedMemPerBlockOptin == 166912);
    int value = 0;
    OK(cudaDeviceGetAttribute(&value, cudaDevAttrClockRate, 0));
    CHECK(value > 0);
    FAILS(cudaDeviceGetAttribute(&value, unknown<cudaDeviceAttr>(9999), 0), cudaErrorInvalidValue);
    FAILS(cudaDeviceGetAttribute(&value, cudaDevAttrWarpSize, 1), cudaErrorInvalidDevice);
    FAILS(cudaGetDeviceProperties(&properties, 1), cudaErrorInvalidDevice);
    return 0;
}

EXPORT int devices()
{
    int value = -1;
    OK(cudaGetDeviceCount(&value));
    CHECK(value == 1);
    OK(cudaSetDevice(0));
    FAILS(cudaSetDevice(-1), cudaErrorInvalidDevice);
    OK(cudaDeviceCanAccessPeer(&value, 0, 0));
    CHECK(value == 0);
    char busId[16] = {};
    OK(cudaDeviceGetPCIBusId(busId, sizeof(busId), 0));
    OK(cudaDeviceGetByPCIBusId(&value, busId));
    CHECK(value == 0);
    FAILS(cudaDeviceGetPCIBusId(busId, 4, 0), cudaErrorInvalidValue);
    int driver = 0;
    OK(cudaDriverGetVersion(&driver));
    OK(cudaRuntimeGetVersion(&value));
    CHECK(driver == CUDART_VERSION && value == CUDART_VERSION);
    size_t limit = 0;
    OK(cudaDeviceSetLimit(cudaLimitMallocHeapSize, 1 << 20));
    OK(cudaDeviceGetLimit(&limit, cudaLimitMallocHeapSize));
    CHECK(limit == 1 << 20);
    FAILS(cudaDeviceGetLimit(&limit, unknown<cudaLimit>(77)), cudaErrorUnsupportedLimit);
    OK(cudaDeviceSetCacheConfig(cudaFuncCachePreferL1));
    OK(cudaSetDeviceFlags(cudaDeviceScheduleBlockingSync));
    OK(cudaProfilerStart());
    OK(cudaProfilerStop());
    return 0;
}

EXPORT int kernels()
{
    cudaFuncAttributes attributes{};
    OK(cudaFuncGetAttributes(&attributes, plain));
    CHECK(attributes.maxThreadsPerBlock == 1024 && attributes.maxDynamicSharedSizeBytes == 48 << 10);
    CHECK(attributes.binaryVersion == 80 && attributes.numRegs > 0);
    OK(cudaFuncSetAttribute(typed<float>, cudaFuncAttributeMaxDynamicSharedMemorySize, 100 << 10));
    OK(cudaFuncGetAttributes(&attributes, reinterpret_cast<void const*>(typed<float>)));
    CHECK(attributes.maxDynamicSharedSizeBytes == 100 << 10);
    OK(cudaFuncGetAttributes(&attributes, typed<int>));
    CHECK(attributes.maxDynamicSharedSizeBytes == 48 << 10);
    FAILS(cudaFuncSetAttribute(plain, cudaFuncAttributeMaxDynamicSharedMemorySize, 164 << 10), cudaErrorInvalidValue);
    OK(cudaFuncSetAttribute(plain, cudaFuncAttributePreferredSharedMemoryCarveout, 50));
    OK(cudaFuncSetCacheConfig(plain, cudaFuncCachePreferShared));
    FAILS(cudaFuncGetAttributes(&attributes, static_cast<void const*>(nullptr)), cudaErrorInvalidDeviceFunction);
    return 0;
}

EXPORT int occupancy()
{
    int blocks = -1;
    OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, plain, 256, 0));
    CHECK(blocks == 8);
    OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, plain, 32, 0));
    CHECK(blocks == 16); // registers are given to four warps together
    OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, plain, 128, 40 << 10));
    CHECK(blocks == 4);
    OK(cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&blocks, plain, 1024, 0, cudaOccupancyDefault));
    CHECK(blocks == 2);
    OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, plain, 1025, 0));
    CHECK(blocks == 0);
    FAILS(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, plain, 0, 0), cudaErrorInvalidValue);
    int grid = 0;
    int block = 0;
    OK(cudaOccupancyMaxPotentialBlockSize(&grid, &block, plain, 0, 0));
    CHECK(block == 1024 && grid == 28);
    OK(cudaOccupancyMaxPotentialBlockSize(&grid, &block, typed<float>, 0, 200));
    CHECK(block > 0 && block <= 200);
    OK(cudaOccupancyMaxPotentialBlockSizeVariableSMem(&grid, &block, plain,
                                                      [](int threads) { return static_cast<size_t>(threads) * 4; }));
    CHECK(block > 0 && grid > 0);
    size_t bytes = 0;
    OK(cudaOccupancyAvailableDynamicSMemPerBlock(&bytes, plain, 2, 256));
    CHECK(bytes == (82 << 10) - 1024);
    return 0;
}

EXPORT int errors()
{
    CHECK(std::strcmp(cudaGetErrorName(cudaErrorIllegalAddress), "cudaErrorIllegalAddress") == 0);
    CHECK(std::strcmp(cudaGetErrorString(cudaSuccess), "no error") == 0);
    CHECK(std::strlen(cudaGetErrorString(cudaErrorInvalidValue)) > 10);
    CHECK(std::strlen(cudaGetErrorName(unknown<cudaError_t>(12345))) > 0);
    // Each host thread has its own last error.
    CHECK(cudaSetDevice(5) == cudaErrorInvalidDevice);
    cudaError_t other = cudaErrorUnknown;
    std::thread{[&] { other = cudaGetLastError(); }}.join();
    CHECK(other == cudaSuccess && cudaGetLastError() == cudaErrorInvalidDevice);
    // A later success leaves it, as CUDA does.
    CHECK(cudaSetDevice(5) == cudaErrorInvalidDevice);
    OK(cudaSetDevice(0));
    CHECK(cudaGetLastError() == cudaErrorInvalidDevice && cudaGetLastError() == cudaSuccess);
    return 0;
}

__global__ void fail(int* x)
{
    *x = 1;
}

EXPORT int sticky()
{
    int* x = nullptr;
    OK(cudaMalloc(&x, 4));
    fail<<<1, 1>>>(reinterpret_cast<int*>(16));
    CHECK(cudaDeviceSynchronize() == cudaErrorIllegalAddress);
    void* y = nullptr;
    int value = 0;
    CHECK(cudaMalloc(&y, 4) == cudaErrorIllegalAddress);
    CHECK(cudaGetDeviceCount(&value) == cudaErrorIllegalAddress);
    CHECK(cudaMemcpy(&value, x, 4, cudaMemcpyDeviceToHost) == cudaErrorIllegalAddress);
    fail<<<1, 1>>>(x);
    CHECK(cudaGetLastError() == cudaErrorIllegalAddress && cudaGetLastError() == cudaErrorIllegalAddress);
    OK(cudaDeviceReset());
    CHECK(cudaGetLastError() == cudaSuccess);
    OK(cudaMalloc(&x, 4));
    OK(cudaFree(x));
    return 0;
}
