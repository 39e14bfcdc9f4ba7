// Memory: allocations, copies, fills, variables of the device.
#include "check.h"

#include <cmath>
#include <vector>

__device__ int gCounter;
__constant__ float gWeights[4];
__device__ float gTable[2][3];

__global__ void scale(float* x, int n)
{
    int const i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
    if (i < n)
    {
        x[i] *= 2.0F;
    }
}

__global__ void useVariables(float* out)
{
    out[threadIdx.x] = gWeights[threadIdx.x] + static_cast<float>(gCounter);
}

__global__ void increment()
{
    gCounter += 1;
}

__global__ void read(float const* from, float* to)
{
    to[threadIdx.x] = from[threadIdx.x];
}

EXPORT int allocations()
{
    float* x = nullptr;
    OK(cudaMalloc(&x, 1000));
    CHECK(reinterpret_cast<size_t>(x) % 256 == 0);
    float first = 0.0F;
    OK(cudaMemcpy(&first, x, sizeof(first), cudaMemcpyDeviceToHost));
    CHECK(std::isnan(first));
    OK(cudaFree(x));
    OK(cudaFree(nullptr));
    OK(cudaMalloc(&x, 0));
    CHECK(x == nullptr);
    FAILS(cudaMalloc(static_cast<void**>(nullptr), 4), cudaErrorInvalidValue);
    FAILS(cudaMalloc(&x, size_t{1} << 60), cudaErrorMemoryAllocation);
    FAILS(cudaMalloc(&x, ~size_t{0} - 10), cudaErrorMemoryAllocation);
    size_t free = 0;
    size_t total = 0;
    size_t after = 0;
    OK(cudaMemGetInfo(&free, &total));
    CHECK(free > 0 && free <= total);
    OK(cudaMalloc(&x, 1 << 20));
    OK(cudaMemGetInfo(&after, &total));
    CHECK(free - after == 1 << 20);
    OK(cudaFree(x));
    FAILS(cudaMemGetInfo(nullptr, &total), cudaErrorInvalidValue);
    return 0;
}

EXPORT int hostMemory()
{
    int* pinned = nullptr;
    OK(cudaMallocHost(&pinned, 64));
    OK(cudaFreeHost(pinned));
    OK(cudaMallocHost(reinterpret_cast<void**>(&pinned), 64));
    OK(cudaFreeHost(pinned));
    OK(cudaHostAlloc(&pinned, 64, cudaHostAllocMapped));
    pinned[0] = 7;
    unsigned int flags = 0;
    OK(cudaHostGetFlags(&flags, pinned));
    CHECK(flags == cudaHostAllocMapped);
    int* device = nullptr;
    OK(cudaHostGetDevicePointer(&device, pinned, 0));
    CHECK(device[0] == 7);
    OK(cudaFreeHost(pinned));
    OK(cudaFreeHost(nullptr));
    FAILS(cudaHostAlloc(&pinned, 64, 0x80), cudaErrorInvalidValue);
    std::vector<int> own(1000);
    FAILS(cudaHostGetDevicePointer(&device, own.data(), 0), cudaErrorInvalidValue);
    OK(cudaHostRegister(own.data(), 4000, cudaHostRegisterDefault));
    FAILS(cudaHostRegister(own.data() + 10, 40, cudaHostRegisterDefault), cudaErrorHostMemoryAlreadyRegistered);
    OK(cudaHostGetDevicePointer(&device, own.data(), 0));
    OK(cudaHostUnregister(own.data()));
    FAILS(cudaHostUnregister(own.data()), cudaErrorHostMemoryNotRegistered);
    return 0;
}

EXPORT int managed()
{
    float* x = nullptr;
    OK(cudaMallocManaged(&x, 256 * sizeof(float)));
    for (int i = 0; i < 256; ++i)
    {
        x[i] = static_cast<float>(i);
    }
    scale<<<1, 256>>>(x, 256);
    OK(cudaDeviceSynchronize());
    CHECK(x[255] == 510.0F);
    cudaMemLocation const place{cudaMemLocationTypeDevice, 0};
    OK(cudaMemAdvise(x, 256 * sizeof(float), cudaMemAdviseSetReadMostly, place));
    OK(cudaMemPrefetchAsync(x, 256 * sizeof(float), place, 0, nullptr));
    FAILS(cudaMemPrefetchAsync(x, 257 * sizeof(float), place, 0, nullptr), cudaErrorInvalidValue);
    OK(cudaDeviceSynchronize());
    OK(cudaFree(x));
    FAILS(cudaMallocManaged(&x, 16, 99), cudaErrorInvalidValue);
    FAILS(cudaMallocManaged(&x, 0), cudaErrorInvalidValue);
    return 0;
}

EXPORT int copies()
{
    float const numbers[4] = {1, 2, 3, 4};
    float back[4] = {};
    float* a = nullptr;
    float* b = nullptr;
    OK(cudaMalloc(&a, sizeof(numbers)));
    OK(cudaMalloc(&b, sizeof(numbers)));
    OK(cudaMemcpy(a, numbers, sizeof(numbers), cudaMemcpyHostToDevice));
    scale<<<1, 32>>>(a, 4);
    OK(cudaMemcpy(b, a, sizeof(numbers), cudaMemcpyDeviceToDevice));
    OK(cudaMemcpy(back, b, sizeof(numbers), cudaMemcpyDeviceToHost));
    CHECK(back[0] == 2 && back[3] == 8);
    OK(cudaMemcpy(a, numbers, sizeof(numbers), cudaMemcpyDefault));
    OK(cudaMemcpy(back, a, sizeof(numbers), cudaMemcpyDefault));
    CHECK(back[3] == 4);
    OK(cudaMemcpy(back, numbers, sizeof(numbers), cudaMemcpyHostToHost));
    OK(cudaMemcpyPeer(b, 0, a, 0, sizeof(numbers)));
    OK(cudaMemcpyPeerAsync(b, 0, a, 0, sizeof(numbers), nullptr));
    FAILS(cudaMemcpyPeer(b, 1, a, 0, sizeof(numbers)), cudaErrorInvalidDevice);
    OK(cudaMemcpy(back, b, sizeof(numbers), cudaMemcpyDeviceToHost));
    CHECK(back[3] == 4);
    OK(cudaMemcpy(nullptr, a, 0, cudaMemcpyDeviceToHost));
    FAILS(cudaMemcpy(nullptr, a, 4, cudaMemcpyDeviceToHost), cudaErrorInvalidValue);
    FAILS(cudaMemcpy(back, a, 4, unknown<cudaMemcpyKind>(9)), cudaErrorInvalidMemcpyDirection);
    OK(cudaFree(a));
    OK(cudaFree(b));
    return 0;
}

EXPORT int rows()
{
    char* image = nullptr;
    size_t pitch = 0;
    OK(cudaMallocPitch(&image, &pitch, 100, 3));
    CHECK(pitch == 512);
    OK(cudaMemset2D(image, pitch, 1, 100, 3));
    char plain[3][100];
    for (char& each : plain[1])
    {
        each = 5;
    }
    OK(cudaMemcpy2D(image + pitch, pitch, plain[1], 100, 100, 1, cudaMemcpyHostToDevice));
    OK(cudaMemcpy2DAsync(plain, 100, image, pitch, 100, 3, cudaMemcpyDeviceToHost, nullptr));
    OK(cudaDeviceSynchronize());
    CHECK(plain[0][99] == 1 && plain[1][0] == 5 && plain[1][99] == 5 && plain[2][0] == 1);
    OK(cudaMemset2DAsync(image, pitch, 0, 100, 2, nullptr));
    OK(cudaMemcpy2D(plain, 100, image, pitch, 100, 3, cudaMemcpyDeviceToHost));
    CHECK(plain[1][99] == 0 && plain[2][99] == 1);
    FAILS(cudaMemcpy2D(plain, 50, image, pitch, 100, 3, cudaMemcpyDeviceToHost), cudaErrorInvalidPitchValue);
    FAILS(cudaMemset2D(image, 50, 0, 100, 2), cudaErrorInvalidPitchValue);
    OK(cudaFree(image));
    return 0;
}

EXPORT int fills()
{
    int* x = nullptr;
    int back[4] = {};
    OK(cudaMalloc(&x, sizeof(back)));
    OK(cudaMemset(x, 0, sizeof(back)));
    OK(cudaMemsetAsync(x + 1, 1, sizeof(int), nullptr));
    OK(cudaMemcpy(back, x, sizeof(back), cudaMemcpyDeviceToHost));
    CHECK(back[0] == 0 && back[1] == 0x01010101 && back[2] == 0);
    FAILS(cudaMemset(nullptr, 0, 4), cudaErrorInvalidValue);
    OK(cudaMemset(nullptr, 0, 0));
    OK(cudaFree(x));
    return 0;
}

EXPORT int variables()
{
    float const weights[4] = {1, 2, 3, 4};
    float back[4] = {};
    int counter = 10;
    OK(cudaMemcpyToSymbol(gWeights, weights, sizeof(weights)));
    OK(cudaMemcpyToSymbolAsync(gCounter, &counter, sizeof(counter), 0, cudaMemcpyHostToDevice, nullptr));
    float* out = nullptr;
    OK(cudaMalloc(&out, sizeof(back)));
    useVariables<<<1, 4>>>(out);
    increment<<<1, 1>>>();
    OK(cudaMemcpy(back, out, sizeof(back), cudaMemcpyDeviceToHost));
    CHECK(back[0] == 11 && back[3] == 14);
    OK(cudaMemcpyFromSymbol(&counter, gCounter, sizeof(counter)));
    CHECK(counter == 11);
    OK(cudaMemcpyFromSymbolAsync(back, gWeights, 8, 8, cudaMemcpyDeviceToHost, nullptr));
    OK(cudaDeviceSynchronize());
    CHECK(back[0] == 3 && back[1] == 4);
    void* address = nullptr;
    size_t size = 0;
    OK(cudaGetSymbolSize(&size, gTable));
    CHECK(size == 24);
    OK(cudaGetSymbolAddress(&address, gTable));
    OK(cudaMemset(address, 0, size));
    OK(cudaMemcpy(address, out, 16, cudaMemcpyDeviceToDevice));
    OK(cudaMemcpyFromSymbol(back, gTable, 16));
    CHECK(back[3] == 14);
    cudaPointerAttributes attributes{};
    OK(cudaPointerGetAttributes(&attributes, address));
    CHECK(attributes.type == cudaMemoryTypeDevice);
    FAILS(cudaMemcpyToSymbol(gWeights, weights, 17), cudaErrorInvalidValue);
    FAILS(cudaMemcpyToSymbol(gWeights, weights, 16, 4), cudaErrorInvalidValue);
    FAILS(cudaMemcpyFromSymbol(back, gWeights, 16, 0, cudaMemcpyHostToDevice), cudaErrorInvalidMemcpyDirection);
    OK(cudaFree(out));
    return 0;
}

EXPORT int pointers()
{
    char* device = nullptr;
    char* pinned = nullptr;
    char* managed = nullptr;
    OK(cudaMalloc(&device, 100));
    OK(cudaMallocHost(&pinned, 100));
    OK(cudaMallocManaged(&managed, 100));
    cudaPointerAttributes attributes{};
    OK(cudaPointerGetAttributes(&attributes, device + 99));
    CHECK(attributes.type == cudaMemoryTypeDevice && attributes.device == 0 && attributes.devicePointer == device + 99);
    CHECK(attributes.hostPointer == nullptr);
    OK(cudaPointerGetAttributes(&attributes, pinned));
    CHECK(attributes.type == cudaMemoryTypeHost && attributes.hostPointer == pinned);
    OK(cudaPointerGetAttributes(&attributes, managed));
    CHECK(attributes.type == cudaMemoryTypeManaged && attributes.hostPointer == managed);
    OK(cudaPointerGetAttributes(&attributes, &attributes));
    CHECK(attributes.type == cudaMemoryTypeUnregistered);
    FAILS(cudaPointerGetAttributes(nullptr, device), cudaErrorInvalidValue);
    OK(cudaFree(device));
    OK(cudaPointerGetAttributes(&attributes, device));
    CHECK(attributes.type == cudaMemoryTypeUnregistered);
    OK(cudaFreeHost(pinned));
    OK(cudaFree(managed));
    return 0;
}

EXPORT int inOrder()
{
    float* x = nullptr;
    float* y = nullptr;
    cudaStream_t stream = nullptr;
    OK(cudaStreamCreate(&stream));
    OK(cudaMallocAsync(&x, 128, stream));
    OK(cudaMemsetAsync(x, 0, 128, stream));
    OK(cudaFreeAsync(x, stream));
    cudaMemPool_t pool = nullptr;
    OK(cudaDeviceGetDefaultMemPool(&pool, 0));
    OK(cudaMallocFromPoolAsync(&y, 128, pool, stream));
    OK(cudaFreeAsync(y, stream));
    unsigned long long threshold = ~0ULL;
    OK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold));
    threshold = 0;
    OK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold));
    CHECK(threshold == ~0ULL);
    OK(cudaMemPoolTrimTo(pool, 0));
    FAILS(cudaMallocFromPoolAsync(&y, 128, nullptr, stream), cudaErrorInvalidValue);
    FAILS(cudaFreeAsync(nullptr, stream), cudaErrorInvalidValue);
    FAILS(cudaDeviceGetDefaultMemPool(&pool, 1), cudaErrorInvalidDevice);
    OK(cudaStreamSynchronize(stream));
    OK(cudaStreamDestroy(stream));
    FAILS(cudaMallocAsync(&x, 128, stream), cudaErrorInvalidResourceHandle);
    return 0;
}

// --- misuse: the test looks at the findings ---

EXPORT int doubleFree()
{
    void* x = nullptr;
    OK(cudaMalloc(&x, 400));
    OK(cudaFree(x));
    FAILS(cudaFree(x), cudaErrorInvalidValue);
    return 0;
}

EXPORT int doubleFreeAsync()
{
    void* x = nullptr;
    OK(cudaMallocAsync(&x, 400, nullptr));
    OK(cudaFreeAsync(x, nullptr));
    FAILS(cudaFreeAsync(x, nullptr), cudaErrorInvalidValue);
    OK(cudaDeviceSynchronize());
    return 0;
}

EXPORT int foreignFree()
{
    int local = 0;
    FAILS(cudaFree(&local), cudaErrorInvalidValue);
    return 0;
}

EXPORT int innerFree()
{
    char* x = nullptr;
    OK(cudaMalloc(&x, 400));
    FAILS(cudaFree(x + 4), cudaErrorInvalidValue);
    OK(cudaFree(x));
    return 0;
}

EXPORT int wrongFree()
{
    void* x = nullptr;
    OK(cudaMallocHost(&x, 400));
    FAILS(cudaFree(x), cudaErrorInvalidValue);
    OK(cudaFreeHost(x));
    return 0;
}

EXPORT int copyTooMuch()
{
    char host[500] = {};
    void* x = nullptr;
    OK(cudaMalloc(&x, 400));
    FAILS(cudaMemcpy(x, host, 500, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
    OK(cudaFree(x));
    return 0;
}

EXPORT int fillTooMuch()
{
    void* x = nullptr;
    OK(cudaMalloc(&x, 400));
    FAILS(cudaMemset(x, 0, 401), cudaErrorInvalidValue);
    OK(cudaFree(x));
    return 0;
}

EXPORT int copyWrongWay()
{
    int host = 0;
    void* x = nullptr;
    OK(cudaMalloc(&x, 400));
    FAILS(cudaMemcpy(&host, x, 4, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
    OK(cudaFree(x));
    return 0;
}

EXPORT int copyPinnedAsDevice()
{
    int host = 0;
    void* x = nullptr;
    OK(cudaMallocHost(&x, 400));
    FAILS(cudaMemcpy(x, &host, 4, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
    OK(cudaFreeHost(x));
    return 0;
}

EXPORT int copyFreed()
{
    int host = 0;
    void* x = nullptr;
    OK(cudaMalloc(&x, 400));
    OK(cudaFree(x));
    FAILS(cudaMemcpy(&host, x, 4, cudaMemcpyDeviceToHost), cudaErrorInvalidValue);
    return 0;
}

__global__ void writeAt(char* x, int i)
{
    x[i] = 1;
}

EXPORT int writeBehind()
{
    char* x = nullptr;
    OK(cudaMalloc(&x, 400));
    writeAt<<<1, 1>>>(x, 401);
    OK(cudaDeviceSynchronize());
    OK(cudaFree(x));
    return 0;
}

EXPORT int writeBefore()
{
    char* x = nullptr;
    OK(cudaMalloc(&x, 400));
    writeAt<<<1, 1>>>(x, -3);
    OK(cudaDeviceSynchronize());
    OK(cudaFree(x));
    return 0;
}

//! Beyond the gap, where nothing is mapped: the kernel fails, and its error sticks.
EXPORT int writeFarBehind()
{
    char* x = nullptr;
    OK(cudaMalloc(&x, 400));
    writeAt<<<1, 1>>>(x, 600);
    CHECK(cudaDeviceSynchronize() == cudaErrorIllegalAddress);
    CHECK(cudaFree(x) == cudaErrorIllegalAddress);
    CHECK(cudaGetLastError() == cudaErrorIllegalAddress && cudaGetLastError() == cudaErrorIllegalAddress);
    OK(cudaDeviceReset());
    OK(cudaGetLastError());
    return 0;
}

EXPORT int readFreed()
{
    float* x = nullptr;
    float* y = nullptr;
    OK(cudaMalloc(&x, 400));
    OK(cudaMalloc(&y, 400));
    OK(cudaFree(x));
    read<<<1, 1>>>(x, y);
    CHECK(cudaDeviceSynchronize() == cudaErrorIllegalAddress);
    OK(cudaDeviceReset());
    return 0;
}

//! Never freed by the program.
EXPORT int leak()
{
    void* x = nullptr;
    OK(cudaMalloc(&x, 1 << 20));
    OK(cudaMallocHost(&x, 1 << 16));
    cudaStream_t stream = nullptr;
    cudaEvent_t event = nullptr;
    OK(cudaStreamCreate(&stream));
    OK(cudaEventCreate(&event));
    OK(cudaMemsetAsync(x, 0, 1 << 16, stream));
    return 0;
}
