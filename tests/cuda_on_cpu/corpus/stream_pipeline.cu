// Chunks through three streams: async copies from pinned memory, events between streams, cudaMallocAsync, a host
// function.
#include "corpus.h"

#include <algorithm>
#include <cstring>

namespace
{
__global__ void square(float* x, int n)
{
    int const i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
    {
        x[i] *= x[i];
    }
}

__global__ void accumulate(float const* x, float* sums, int n)
{
    int const i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
    {
        sums[i] += x[i];
    }
}

void CUDART_CB countUp(void* data)
{
    ++*static_cast<int*>(data);
}
} // namespace

#define RETURN_IF_FAILED(call)                                                                                         \
    if (cudaError_t const status_ = (call); status_ != cudaSuccess)                                                    \
    {                                                                                                                  \
        return static_cast<int>(status_);                                                                              \
    }

CORPUS_EXPORT int run_stream_pipeline(float const* x, float* sums, int* calls, int chunks, int size)
{
    constexpr int kSTREAMS = 3;
    size_t const bytes = size * sizeof(float);
    cudaStream_t streams[kSTREAMS], adder;
    cudaEvent_t ready[kSTREAMS], added, start, stop;
    float *pinned = nullptr, *buffers[kSTREAMS] = {}, *total = nullptr;
    RETURN_IF_FAILED(cudaHostAlloc(reinterpret_cast<void**>(&pinned), chunks * bytes, cudaHostAllocDefault));
    std::memcpy(pinned, x, chunks * bytes);
    RETURN_IF_FAILED(cudaStreamCreateWithPriority(&adder, cudaStreamNonBlocking, 0));
    RETURN_IF_FAILED(cudaMallocAsync(reinterpret_cast<void**>(&total), bytes, adder));
    RETURN_IF_FAILED(cudaMemsetAsync(total, 0, bytes, adder));
    RETURN_IF_FAILED(cudaEventCreateWithFlags(&added, cudaEventDisableTiming));
    RETURN_IF_FAILED(cudaEventCreate(&start));
    RETURN_IF_FAILED(cudaEventCreate(&stop));
    for (int s = 0; s < kSTREAMS; ++s)
    {
        RETURN_IF_FAILED(cudaStreamCreateWithFlags(&streams[s], cudaStreamNonBlocking));
        RETURN_IF_FAILED(cudaEventCreateWithFlags(&ready[s], cudaEventDisableTiming));
        RETURN_IF_FAILED(cudaMalloc(&buffers[s], bytes));
    }
    RETURN_IF_FAILED(cudaEventRecord(start, adder));
    for (int chunk = 0; chunk < chunks; ++chunk)
    {
        int const s = chunk % kSTREAMS;
        if (chunk >= kSTREAMS) // the buffer must have been added
        {
            RETURN_IF_FAILED(cudaStreamWaitEvent(streams[s], added, 0));
        }
        RETURN_IF_FAILED(cudaMemcpyAsync(buffers[s], pinned + chunk * size, bytes, cudaMemcpyHostToDevice, streams[s]));
        square<<<(size + 127) / 128, 128, 0, streams[s]>>>(buffers[s], size);
        RETURN_IF_FAILED(cudaEventRecord(ready[s], streams[s]));
        RETURN_IF_FAILED(cudaStreamWaitEvent(adder, ready[s]));
        accumulate<<<(size + 127) / 128, 128, 0, adder>>>(buffers[s], total, size);
        RETURN_IF_FAILED(cudaEventRecord(added, adder));
        RETURN_IF_FAILED(cudaLaunchHostFunc(adder, countUp, calls));
    }
    RETURN_IF_FAILED(cudaEventRecord(stop, adder));
    RETURN_IF_FAILED(cudaMemcpyAsync(pinned, total, bytes, cudaMemcpyDeviceToHost, adder));
    RETURN_IF_FAILED(cudaStreamSynchronize(adder));
    std::memcpy(sums, pinned, bytes);
    float milliseconds = -1.f;
    RETURN_IF_FAILED(cudaEventElapsedTime(&milliseconds, start, stop));
    RETURN_IF_FAILED(cudaFreeAsync(total, adder));
    RETURN_IF_FAILED(cudaStreamDestroy(adder));
    for (int s = 0; s < kSTREAMS; ++s)
    {
        RETURN_IF_FAILED(cudaStreamQuery(streams[s]));
        cudaStreamDestroy(streams[s]);
        cudaEventDestroy(ready[s]);
        cudaFree(buffers[s]);
    }
    cudaEventDestroy(added);
    cudaEventDestroy(start);
    cudaEventDestroy(stop);
    cudaFreeHost(pinned);
    return milliseconds >= 0.f ? corpus::status() : -1;
}
