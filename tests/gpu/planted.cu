// The kernel of a generated project with faults in it; the field `fault` says which.

#include "planted_signature.h"

#include <cstdlib>
#include <dlfcn.h>

namespace planted_plugin
{
namespace
{

constexpr uint32_t kThreads = 64;
constexpr int64_t kMost = 4096;

__device__ float gAlpha;
__device__ float gShared[kMost];

__device__ float flattened(float number, float alpha)
{
    return number >= 0.0F ? number : alpha * number;
}

__device__ int64_t index()
{
    return static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
}

__global__ void right(float* y, float const* x, int64_t count, float alpha)
{
    if (index() < count)
    {
        y[index()] = flattened(x[index()], alpha);
    }
}

// A kernel of its own, or the compiler would join its launch with the right one's, and have one line for both.
__global__ void elsewhere(float* y, float const* x, int64_t count, float alpha)
{
    if (index() < count)
    {
        y[index()] = flattened(x[index()], alpha);
    }
}

__global__ void byVariable(float* y, float const* x, int64_t count)
{
    if (index() < count)
    {
        y[index()] = flattened(x[index()], gAlpha);
    }
}

__global__ void toShared(float const* x, int64_t count)
{
    if (index() < count)
    {
        gShared[index()] = x[index()];
    }
}

__global__ void fromShared(float* y, int64_t count, float alpha)
{
    // Long enough for another stream's kernels to come in between.
    for (int i = 0; i < 100; ++i)
    {
        __nanosleep(100);
    }
    if (index() < count)
    {
        y[index()] = flattened(gShared[index()], alpha);
    }
}

__global__ void racing(float* y, float const* x, int64_t count, float alpha)
{
    __shared__ float part[kThreads];
    float const number = index() < count ? x[index()] : 0.0F;
    part[threadIdx.x] = number;
    float const other = part[(threadIdx.x + 32) % kThreads]; // RACE: no __syncthreads() before it
    if (index() < count)
    {
        y[index()] = flattened(number, alpha) + (other > 1e30F ? 1.0F : 0.0F);
    }
}

__global__ void beyond(float* y, float const* x, int64_t count, float alpha)
{
    if (index() < count)
    {
        y[index()] = flattened(x[index()], alpha);
    }
    if (index() == 0)
    {
        y[count + 2] = 0.0F; // BEYOND
    }
}

__global__ void unwritten(float* y, float const* x, int64_t count, float alpha)
{
    if (index() < count)
    {
        float const before = y[index()]; // UNWRITTEN
        y[index()] = flattened(x[index()], alpha) + (before > 1e30F ? 1.0F : 0.0F);
    }
}

__global__ void divergent(float* y, float const* x, int64_t count, float alpha)
{
    if (threadIdx.x < 40)
    {
        __syncthreads(); // DIVERGENT
    }
    if (index() < count)
    {
        y[index()] = flattened(x[index()], alpha);
    }
}

using Create = int(void**);

// By name, so that only this fault needs the library.
Create* cublasCreate()
{
    char const* const name = std::getenv("PLANTED_CUBLAS");
    void* const library = name != nullptr ? dlopen(name, RTLD_NOW) : nullptr;
    return library != nullptr ? reinterpret_cast<Create*>(dlsym(library, "cublasCreate_v2")) : nullptr;
}

} // namespace

cudaError_t launch(Run const& run) noexcept
{
    cudaStream_t const stream = run.stream;
    auto* const y = static_cast<float*>(run.out.y.data);
    auto const* const x = static_cast<float const*>(run.in.x.data);
    int64_t const n = run.count;
    float const alpha = run.fields.alpha;
    auto const blocks = static_cast<uint32_t>((n + kThreads - 1) / kThreads);
    switch (run.fields.fault)
    {
    case 1:
        elsewhere<<<blocks, kThreads>>>(y, x, n, alpha); // DEFAULT STREAM
        break;
    case 2:
    {
        void* scratch = nullptr;
        cudaMalloc(&scratch, 256); // ALLOCATION
        right<<<blocks, kThreads, 0, stream>>>(y, x, n, alpha);
        break;
    }
    case 3:
        right<<<blocks, kThreads, 0, stream>>>(y, x, n, alpha);
        cudaStreamSynchronize(stream); // WAITING
        break;
    case 4:
        cudaMemcpy(y, x, sizeof(float), cudaMemcpyDeviceToDevice); // BLOCKING COPY
        right<<<blocks, kThreads, 0, stream>>>(y, x, n, alpha);
        break;
    case 5:
        racing<<<blocks, kThreads, 0, stream>>>(y, x, n, alpha);
        break;
    case 6:
        beyond<<<blocks, kThreads, 0, stream>>>(y, x, n, alpha);
        break;
    case 7:
    {
        // The copy of pageable memory is done when the call returns, but for one in a graph.
        static float host;
        host = alpha;
        cudaMemcpyToSymbolAsync(gAlpha, &host, sizeof host, 0, cudaMemcpyHostToDevice, stream);
        host = 0.0F;
        byVariable<<<blocks, kThreads, 0, stream>>>(y, x, n);
        break;
    }
    case 8:
        toShared<<<blocks, kThreads, 0, stream>>>(x, n);
        fromShared<<<blocks, kThreads, 0, stream>>>(y, n, alpha);
        break;
    case 9:
        unwritten<<<blocks, kThreads, 0, stream>>>(y, x, n, alpha);
        break;
    case 10:
        divergent<<<blocks, kThreads, 0, stream>>>(y, x, n, alpha);
        break;
    case 11:
    {
        void* scratch = nullptr;
        cudaMallocAsync(&scratch, 256, stream); // STREAM-ORDERED ALLOCATION
        cudaFreeAsync(scratch, stream);
        right<<<blocks, kThreads, 0, stream>>>(y, x, n, alpha);
        break;
    }
    case 12:
    {
        cudaEvent_t own{};
        cudaEventCreate(&own); // KEPT EVENT
        right<<<blocks, kThreads, 0, stream>>>(y, x, n, alpha);
        break;
    }
    case 13:
    {
        auto* volatile kept = new char[4096]; // KEPT HOST MEMORY
        static_cast<void>(kept);
        right<<<blocks, kThreads, 0, stream>>>(y, x, n, alpha);
        break;
    }
    case 14:
    {
        static auto* volatile once = new char[64];
        static_cast<void>(once);
        static cudaEvent_t const cached = []
        {
            cudaEvent_t made{};
            cudaEventCreate(&made);
            return made;
        }();
        static_cast<void>(cached);
        cudaEvent_t own{};
        cudaEventCreate(&own);
        cudaEventDestroy(own);
        right<<<blocks, kThreads, 0, stream>>>(y, x, n, alpha);
        break;
    }
    case 15:
    {
        cudaStream_t own{};
        cudaStreamCreateWithFlags(&own, cudaStreamNonBlocking); // KEPT STREAM
        right<<<blocks, kThreads, 0, stream>>>(y, x, n, alpha);
        break;
    }
    case 16:
    {
        void* own = nullptr;
        Create* const create = cublasCreate();
        if (create == nullptr || create(&own) != 0) // KEPT HANDLE
        {
            return cudaErrorNotSupported;
        }
        right<<<blocks, kThreads, 0, stream>>>(y, x, n, alpha);
        break;
    }
    case 17:
    {
        void* own = nullptr;
        cudaMalloc(&own, 4096); // KEPT DEVICE MEMORY
        right<<<blocks, kThreads, 0, stream>>>(y, x, n, alpha);
        break;
    }
    default:
        right<<<blocks, kThreads, 0, stream>>>(y, x, n, alpha);
        break;
    }
    return cudaGetLastError();
}

} // namespace planted_plugin
