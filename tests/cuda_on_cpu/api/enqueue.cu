// Pieces of enqueue(): what it may do, and what it must not do.
#include "check.h"

__global__ void set(int* x, int value)
{
    x[threadIdx.x] = value;
}

namespace
{

int* gDevice;
int* gPinned;
cudaStream_t gOther;
cudaEvent_t gFork;
cudaEvent_t gJoin;

} // namespace

EXPORT int initialize()
{
    OK(cudaMalloc(&gDevice, 64 * sizeof(int)));
    OK(cudaMallocHost(&gPinned, 64 * sizeof(int)));
    OK(cudaStreamCreateWithFlags(&gOther, cudaStreamNonBlocking));
    OK(cudaEventCreateWithFlags(&gFork, cudaEventDisableTiming));
    OK(cudaEventCreateWithFlags(&gJoin, cudaEventDisableTiming));
    return 0;
}

EXPORT int terminate()
{
    OK(cudaFree(gDevice));
    OK(cudaFreeHost(gPinned));
    OK(cudaStreamDestroy(gOther));
    OK(cudaEventDestroy(gFork));
    OK(cudaEventDestroy(gJoin));
    return 0;
}

EXPORT int good(int* out, cudaStream_t stream)
{
    set<<<1, 4, 0, stream>>>(out, 1);
    OK(cudaMemsetAsync(gDevice, 0, 16, stream));
    int const parameter = 7;
    OK(cudaMemcpyAsync(gDevice, &parameter, sizeof(parameter), cudaMemcpyHostToDevice, stream));
    OK(cudaMemcpyAsync(out, gDevice, sizeof(parameter), cudaMemcpyDeviceToDevice, stream));
    return 0;
}

EXPORT int joined(int* out, cudaStream_t stream)
{
    OK(cudaEventRecord(gFork, stream));
    OK(cudaStreamWaitEvent(gOther, gFork));
    set<<<1, 4, 0, gOther>>>(out, 2);
    OK(cudaEventRecord(gJoin, gOther));
    OK(cudaStreamWaitEvent(stream, gJoin));
    set<<<1, 1, 0, stream>>>(out, 3);
    return 0;
}

__global__ void setFrom(int* end, int count)
{
    end[static_cast<int>(threadIdx.x) - count] = 4;
}

//! The kernel counts back from a place behind the 5000 bytes.
EXPORT int fromBehind(int* out, cudaStream_t stream)
{
    setFrom<<<1, 4, 0, stream>>>(out + 1300, 1300);
    return 0;
}

EXPORT int notJoined(int* out, cudaStream_t stream)
{
    OK(cudaEventRecord(gFork, stream));
    OK(cudaStreamWaitEvent(gOther, gFork));
    OK(cudaEventRecord(gJoin, gOther));
    set<<<1, 4, 0, gOther>>>(out, 2);
    OK(cudaStreamWaitEvent(stream, gJoin));
    return 0;
}

EXPORT int notForked(int* out, cudaStream_t stream)
{
    set<<<1, 4, 0, gOther>>>(out, 2);
    OK(cudaEventRecord(gJoin, gOther));
    OK(cudaStreamWaitEvent(stream, gJoin));
    return 0;
}

EXPORT int defaultStream(int* out, cudaStream_t /*stream*/)
{
    set<<<1, 4>>>(out, 2);
    return 0;
}

EXPORT int blockingFill(int* out, cudaStream_t /*stream*/)
{
    OK(cudaMemset(out, 0, 16));
    return 0;
}

EXPORT int allocates(int* /*out*/, cudaStream_t /*stream*/)
{
    void* x = nullptr;
    OK(cudaMalloc(&x, 16));
    OK(cudaFree(x));
    return 0;
}

EXPORT int waits(int* /*out*/, cudaStream_t stream)
{
    OK(cudaStreamSynchronize(stream));
    return 0;
}

EXPORT int blockingCopy(int* out, cudaStream_t /*stream*/)
{
    int back = 0;
    OK(cudaMemcpy(&back, out, sizeof(back), cudaMemcpyDeviceToHost));
    return 0;
}

EXPORT int pageableCopy(int* out, cudaStream_t stream)
{
    int back = 0;
    OK(cudaMemcpyAsync(&back, out, sizeof(back), cudaMemcpyDeviceToHost, stream));
    return 0;
}

EXPORT int asksStream(int* /*out*/, cudaStream_t stream)
{
    set<<<1, 4, 0, stream>>>(gDevice, 5);
    cudaStreamQuery(stream);
    return 0;
}

EXPORT int asksEvent(int* /*out*/, cudaStream_t stream)
{
    OK(cudaEventRecord(gFork, stream));
    cudaEventQuery(gFork);
    return 0;
}

EXPORT int touches(int* /*out*/, cudaStream_t stream)
{
    int volatile* const device = gDevice;
    set<<<1, 4, 0, stream>>>(gDevice, 5);
    return *device == 12345 ? 1 : 0;
}

EXPORT int touchesBinding(int* out, cudaStream_t /*stream*/)
{
    std::memset(out, 0, 4096);
    return 0;
}

EXPORT int readsTooEarly(int* /*out*/, cudaStream_t stream)
{
    OK(cudaMemcpyAsync(gPinned, gDevice, 16, cudaMemcpyDeviceToHost, stream));
    int volatile* const pinned = gPinned;
    return *pinned == 12345 ? 1 : 0;
}

EXPORT int overwritesTooEarly(int* /*out*/, cudaStream_t stream)
{
    OK(cudaMemcpyAsync(gDevice, gPinned, 16, cudaMemcpyHostToDevice, stream));
    int volatile* const pinned = gPinned;
    int const old = *pinned; // reading is not harm
    *pinned = old + 1;
    return 0;
}

EXPORT int usesAnotherPart(int* /*out*/, cudaStream_t stream)
{
    OK(cudaMemcpyAsync(gPinned, gDevice, 16, cudaMemcpyDeviceToHost, stream));
    int volatile* const pinned = gPinned;
    pinned[8] = 1;
    return 0;
}

EXPORT int copiesHostAsDevice(int* out, cudaStream_t stream)
{
    int local[4] = {};
    CHECK(cudaMemcpyAsync(out, local, sizeof(local), cudaMemcpyDeviceToDevice, stream) == cudaErrorInvalidValue);
    (void)cudaGetLastError();
    return 0;
}
