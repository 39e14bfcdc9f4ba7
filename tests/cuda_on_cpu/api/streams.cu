// Streams, events and host functions: at once, and deferred. `deferred` says which.
#include "check.h"

#include <atomic>
#include <thread>
#include <vector>

namespace
{

std::atomic<int> gCalls{0};

void count(void* data)
{
    gCalls += *static_cast<int*>(data);
}

void callback(cudaStream_t /*stream*/, cudaError_t status, void* data)
{
    gCalls += status == cudaSuccess ? *static_cast<int*>(data) : 1000;
}

cudaError_t gInside{cudaSuccess};

void callCuda(void* /*data*/)
{
    void* x = nullptr;
    gInside = cudaMalloc(&x, 4);
}

} // namespace

__global__ void add(int* x, int value)
{
    *x += value;
}

__global__ void twice(int* x)
{
    *x *= 2;
}

__global__ void assign(int* to, int const* from)
{
    *to = *from;
}

//! Nothing runs before somebody waits; the stream's order stays.
EXPORT int order(bool deferred)
{
    cudaStream_t stream = nullptr;
    int* x = nullptr;
    OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    OK(cudaMallocManaged(&x, sizeof(int)));
    *x = 1;
    add<<<1, 1, 0, stream>>>(x, 2);
    twice<<<1, 1, 0, stream>>>(x);
    CHECK(*x == (deferred ? 1 : 6));
    OK(cudaStreamSynchronize(stream));
    CHECK(*x == 6);
    add<<<1, 1, 0, stream>>>(x, 1);
    CHECK(cudaStreamQuery(stream) == (deferred ? cudaErrorNotReady : cudaSuccess));
    while (cudaStreamQuery(stream) == cudaErrorNotReady)
    {
    }
    CHECK(*x == 7);
    (void)cudaGetLastError();
    add<<<1, 1, 0, stream>>>(x, 1);
    OK(cudaDeviceSynchronize());
    CHECK(*x == 8);
    OK(cudaStreamDestroy(stream));
    OK(cudaFree(x));
    return 0;
}

//! Each stream is for itself, until one waits for the other.
EXPORT int independent(bool deferred)
{
    cudaStream_t a = nullptr;
    cudaStream_t b = nullptr;
    cudaEvent_t event = nullptr;
    int* x = nullptr;
    OK(cudaStreamCreate(&a));
    OK(cudaStreamCreate(&b));
    OK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    OK(cudaMallocManaged(&x, 2 * sizeof(int)));
    x[0] = 5;
    x[1] = 0;
    twice<<<1, 1, 0, a>>>(x);
    assign<<<1, 1, 0, b>>>(x + 1, x);
    OK(cudaStreamSynchronize(b));
    CHECK(x[1] == (deferred ? 5 : 10)); // nothing said that b comes after a
    OK(cudaStreamSynchronize(a));
    CHECK(x[0] == 10);
    twice<<<1, 1, 0, a>>>(x);
    OK(cudaEventRecord(event, a));
    twice<<<1, 1, 0, a>>>(x);
    OK(cudaStreamWaitEvent(b, event, 0));
    assign<<<1, 1, 0, b>>>(x + 1, x);
    OK(cudaStreamSynchronize(b));
    CHECK(x[1] == (deferred ? 20 : 40)); // after the event, but before what came after the event
    OK(cudaStreamSynchronize(a));
    CHECK(x[0] == 40);
    OK(cudaStreamDestroy(a));
    OK(cudaStreamDestroy(b));
    OK(cudaEventDestroy(event));
    OK(cudaFree(x));
    return 0;
}

//! The default stream comes after all work of blocking streams, and before what follows.
EXPORT int legacy(bool deferred)
{
    cudaStream_t blocking = nullptr;
    cudaStream_t free = nullptr;
    int* x = nullptr;
    OK(cudaStreamCreate(&blocking));
    OK(cudaStreamCreateWithFlags(&free, cudaStreamNonBlocking));
    OK(cudaMallocManaged(&x, 4 * sizeof(int)));
    std::memset(x, 0, 4 * sizeof(int));
    add<<<1, 1, 0, blocking>>>(x, 1);
    add<<<1, 1, 0, free>>>(x + 1, 1);
    add<<<1, 1, 0, cudaStreamPerThread>>>(x + 2, 1);
    add<<<1, 1>>>(x + 3, 1);
    OK(cudaStreamSynchronize(nullptr));
    CHECK(x[0] == 1 && x[2] == 1 && x[3] == 1 && x[1] == (deferred ? 0 : 1));
    add<<<1, 1, 0, cudaStreamLegacy>>>(x, 1);
    twice<<<1, 1, 0, blocking>>>(x);
    OK(cudaStreamSynchronize(blocking));
    CHECK(x[0] == 4);
    add<<<1, 1, 0, blocking>>>(x, 1);
    OK(cudaStreamDestroy(blocking)); // its work is still to be done
    twice<<<1, 1>>>(x);
    int back = 0;
    OK(cudaMemcpy(&back, x, sizeof(int), cudaMemcpyDefault));
    CHECK(back == 10);
    OK(cudaStreamDestroy(free));
    OK(cudaDeviceSynchronize());
    CHECK(x[1] == 1);
    OK(cudaFree(x));
    return 0;
}

EXPORT int copiesWait(bool deferred)
{
    cudaStream_t stream = nullptr;
    int* device = nullptr;
    int* pinned = nullptr;
    OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    OK(cudaMalloc(&device, sizeof(int)));
    OK(cudaMallocHost(&pinned, sizeof(int)));
    int source = 3;
    OK(cudaMemcpyAsync(device, &source, sizeof(int), cudaMemcpyHostToDevice, stream));
    source = 100; // pageable memory: it has been read
    twice<<<1, 1, 0, stream>>>(device);
    *pinned = -1;
    OK(cudaMemcpyAsync(pinned, device, sizeof(int), cudaMemcpyDeviceToHost, stream));
    CHECK(*pinned == (deferred ? -1 : 6));
    OK(cudaStreamSynchronize(stream));
    CHECK(*pinned == 6);
    OK(cudaMemcpyAsync(device, pinned, sizeof(int), cudaMemcpyHostToDevice, stream));
    *pinned = 50; // pinned memory: too early
    int back = 0;
    OK(cudaMemcpyAsync(&back, device, sizeof(int), cudaMemcpyDeviceToHost, stream));
    CHECK(back == (deferred ? 50 : 6)); // to pageable memory: done when the call is
    OK(cudaFreeHost(pinned));
    OK(cudaFree(device));
    OK(cudaStreamDestroy(stream));
    return 0;
}

EXPORT int events(bool deferred)
{
    cudaEvent_t from = nullptr;
    cudaEvent_t to = nullptr;
    float time = -1.0F;
    OK(cudaEventCreate(&from));
    OK(cudaEventCreate(&to, cudaEventDefault));
    OK(cudaEventQuery(from));
    OK(cudaEventSynchronize(from));
    OK(cudaStreamWaitEvent(nullptr, from));
    FAILS(cudaEventElapsedTime(&time, from, to), cudaErrorInvalidResourceHandle);
    OK(cudaEventRecord(from));
    OK(cudaEventRecordWithFlags(to, nullptr, 0));
    CHECK(cudaEventQuery(to) == (deferred ? cudaErrorNotReady : cudaSuccess));
    (void)cudaGetLastError();
    if (deferred)
    {
        OK(cudaEventRecord(to)); // again
        FAILS(cudaEventElapsedTime(&time, from, to), cudaErrorNotReady);
    }
    OK(cudaEventSynchronize(to));
    OK(cudaEventQuery(to));
    OK(cudaEventElapsedTime(&time, from, to));
    CHECK(time >= 0.0F && time < 1000.0F);
    FAILS(cudaEventElapsedTime(nullptr, from, to), cudaErrorInvalidValue);
    OK(cudaEventDestroy(from));
    FAILS(cudaEventDestroy(from), cudaErrorInvalidResourceHandle);
    FAILS(cudaEventRecord(from), cudaErrorInvalidResourceHandle);
    FAILS(cudaEventQuery(nullptr), cudaErrorInvalidResourceHandle);
    FAILS(cudaEventElapsedTime(&time, from, to), cudaErrorInvalidResourceHandle);
    FAILS(cudaStreamWaitEvent(nullptr, from), cudaErrorInvalidResourceHandle);
    OK(cudaEventRecord(to));
    OK(cudaEventDestroy(to)); // while it is still to be recorded
    OK(cudaDeviceSynchronize());
    FAILS(cudaEventCreateWithFlags(&to, 0x40), cudaErrorInvalidValue);
    FAILS(cudaEventCreateWithFlags(&to, cudaEventInterprocess), cudaErrorInvalidValue);
    FAILS(cudaEventCreate(nullptr), cudaErrorInvalidValue);
    OK(cudaEventCreateWithFlags(&to, cudaEventDisableTiming));
    OK(cudaEventRecord(to));
    OK(cudaEventSynchronize(to));
    FAILS(cudaEventElapsedTime(&time, to, to), cudaErrorInvalidResourceHandle);
    OK(cudaEventDestroy(to));
    return 0;
}

EXPORT int hostFunctions(bool deferred)
{
    gCalls = 0;
    int one = 1;
    int ten = 10;
    OK(cudaLaunchHostFunc(nullptr, count, &one));
    OK(cudaStreamAddCallback(nullptr, callback, &ten, 0));
    CHECK(gCalls == (deferred ? 0 : 11));
    OK(cudaDeviceSynchronize());
    CHECK(gCalls == 11);
    FAILS(cudaStreamAddCallback(nullptr, callback, &ten, 1), cudaErrorInvalidValue);
    FAILS(cudaLaunchHostFunc(nullptr, nullptr, nullptr), cudaErrorInvalidValue);
    OK(cudaLaunchHostFunc(nullptr, callCuda, nullptr));
    OK(cudaDeviceSynchronize());
    CHECK(gInside == cudaErrorNotPermitted && cudaGetLastError() == cudaErrorNotPermitted);
    return 0;
}

EXPORT int properties(bool /*deferred*/)
{
    cudaStream_t stream = nullptr;
    int value = 99;
    unsigned int flags = 99;
    int least = 0;
    int greatest = 0;
    OK(cudaDeviceGetStreamPriorityRange(&least, &greatest));
    CHECK(least == 0 && greatest == -5);
    OK(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, -100));
    OK(cudaStreamGetPriority(stream, &value));
    OK(cudaStreamGetFlags(stream, &flags));
    CHECK(value == greatest && flags == cudaStreamNonBlocking);
    OK(cudaStreamGetFlags(nullptr, &flags));
    CHECK(flags == 0);
    unsigned long long first = 0;
    unsigned long long second = 0;
    OK(cudaStreamGetId(stream, &first));
    OK(cudaStreamGetId(cudaStreamPerThread, &second));
    CHECK(first != second);
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusActive;
    OK(cudaStreamIsCapturing(stream, &status));
    CHECK(status == cudaStreamCaptureStatusNone);
    OK(cudaStreamDestroy(stream));
    return 0;
}

EXPORT int destroyed(bool /*deferred*/)
{
    cudaStream_t stream = nullptr;
    int* x = nullptr;
    unsigned int flags = 0;
    OK(cudaMalloc(&x, sizeof(int)));
    FAILS(cudaStreamCreateWithFlags(&stream, 77), cudaErrorInvalidValue);
    FAILS(cudaStreamCreate(nullptr), cudaErrorInvalidValue);
    OK(cudaStreamCreate(&stream));
    OK(cudaStreamDestroy(stream));
    cudaStream_t another = nullptr;
    OK(cudaStreamCreate(&another));
    CHECK(another != stream);
    OK(cudaStreamDestroy(another));
    FAILS(cudaStreamDestroy(stream), cudaErrorInvalidResourceHandle);
    FAILS(cudaStreamDestroy(nullptr), cudaErrorInvalidResourceHandle);
    FAILS(cudaStreamSynchronize(stream), cudaErrorInvalidResourceHandle);
    FAILS(cudaStreamQuery(stream), cudaErrorInvalidResourceHandle);
    FAILS(cudaStreamGetFlags(stream, &flags), cudaErrorInvalidResourceHandle);
    FAILS(cudaMemsetAsync(x, 0, 4, stream), cudaErrorInvalidResourceHandle);
    FAILS(cudaMemcpyAsync(x, x, 4, cudaMemcpyDeviceToDevice, stream), cudaErrorInvalidResourceHandle);
    FAILS(cudaMemcpyAsync(x, x, 4, cudaMemcpyDeviceToDevice, reinterpret_cast<cudaStream_t>(&flags)),
          cudaErrorInvalidResourceHandle);
    FAILS(cudaLaunchHostFunc(stream, count, nullptr), cudaErrorInvalidResourceHandle);
    add<<<1, 1, 0, stream>>>(x, 1);
    CHECK(cudaGetLastError() == cudaErrorInvalidResourceHandle);
    OK(cudaFree(x));
    return 0;
}

//! Many host threads with streams of their own, and one that all use.
EXPORT int threads(bool /*deferred*/)
{
    constexpr int kTHREADS = 8;
    constexpr int kTIMES = 50;
    int* x = nullptr;
    cudaStream_t common = nullptr;
    OK(cudaMalloc(&x, (kTHREADS + 1) * sizeof(int)));
    OK(cudaMemset(x, 0, (kTHREADS + 1) * sizeof(int)));
    OK(cudaStreamCreateWithFlags(&common, cudaStreamNonBlocking));
    OK(cudaDeviceSynchronize());
    std::atomic<int> wrong{0};
    std::vector<std::thread> all;
    for (int i = 0; i < kTHREADS; ++i)
    {
        all.emplace_back(
            [&, i]
            {
                cudaStream_t own = nullptr;
                cudaEvent_t event = nullptr;
                wrong += cudaStreamCreateWithFlags(&own, cudaStreamNonBlocking) != cudaSuccess ? 1 : 0;
                wrong += cudaEventCreate(&event) != cudaSuccess ? 1 : 0;
                for (int k = 0; k < kTIMES; ++k)
                {
                    void* scratch = nullptr;
                    wrong += cudaMalloc(&scratch, 1000) != cudaSuccess ? 1 : 0;
                    add<<<1, 1, 0, own>>>(x + i, 1);
                    add<<<1, 1, 0, common>>>(x + kTHREADS, 1);
                    add<<<1, 1, 0, cudaStreamPerThread>>>(x + i, 0);
                    wrong += cudaEventRecord(event, own) != cudaSuccess ? 1 : 0;
                    wrong += cudaEventSynchronize(event) != cudaSuccess ? 1 : 0;
                    wrong += cudaFree(scratch) != cudaSuccess ? 1 : 0;
                }
                wrong += cudaEventDestroy(event) != cudaSuccess ? 1 : 0;
                wrong += cudaStreamDestroy(own) != cudaSuccess ? 1 : 0;
            });
    }
    for (auto& each : all)
    {
        each.join();
    }
    int back[kTHREADS + 1] = {};
    OK(cudaDeviceSynchronize());
    OK(cudaMemcpy(back, x, sizeof(back), cudaMemcpyDeviceToHost));
    CHECK(wrong == 0 && back[kTHREADS] == kTHREADS * kTIMES && back[0] == kTIMES && back[kTHREADS - 1] == kTIMES);
    OK(cudaStreamDestroy(common));
    OK(cudaFree(x));
    return 0;
}

#ifdef PLUGINKIT_TARGET_CPU
//! Host code of a library whose host and device code are one text, as Thrust's: it copies by CUDA's function.
__global__ void copies(int* to, int const* from, int turns)
{
    unsigned int const i = blockIdx.x * blockDim.x + threadIdx.x;
    for (int turn = 0; turn < turns; ++turn)
    {
        cudaMemcpyAsync(to + i, from + i, sizeof(int), cudaMemcpyDeviceToDevice, cudaStreamPerThread);
        cudaStreamSynchronize(cudaStreamPerThread);
    }
}
#endif

//! Kernels that call CUDA, on several host threads and for so long that the timer stops some: none waits for a lock
//! that another one holds.
EXPORT int copiesInKernels(bool /*deferred*/)
{
#ifdef PLUGINKIT_TARGET_CPU
    constexpr int kBLOCKS = 64;
    constexpr int kALL = kBLOCKS * 64;
    std::vector<int> host(kALL);
    for (int i = 0; i < kALL; ++i)
    {
        host[static_cast<size_t>(i)] = i;
    }
    int* x = nullptr;
    OK(cudaMalloc(&x, 2 * kALL * sizeof(int)));
    OK(cudaMemcpy(x, host.data(), kALL * sizeof(int), cudaMemcpyHostToDevice));
    copies<<<kBLOCKS, 64>>>(x + kALL, x, 40);
    std::vector<int> back(kALL);
    OK(cudaMemcpy(back.data(), x + kALL, kALL * sizeof(int), cudaMemcpyDeviceToHost));
    CHECK(back == host);
    OK(cudaFree(x));
#endif
    return 0;
}
