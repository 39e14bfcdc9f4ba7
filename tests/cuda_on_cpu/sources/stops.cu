//! A kernel's threads are counted while the timer's signal comes far more often than the timer sends it.

#include <cuda_runtime.h>

#include <atomic>
#include <csignal>
#include <ctime>
#include <thread>

#include <pthread.h>

namespace
{

constexpr unsigned int kTHREADS = 1U << 18;

__global__ void once(int* counts)
{
    unsigned int const thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    counts[blockIdx.x * blockDim.x * blockDim.y * blockDim.z + thread] += 1;
}

__global__ void often(int* counts, int times)
{
    unsigned int const thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    for (int i = 0; i < times; ++i)
    {
        counts[blockIdx.x * blockDim.x * blockDim.y * blockDim.z + thread] += 1;
    }
}

//! Signals to a host thread, a few microseconds apart, while `on`.
class Signals
{
public:
    Signals() : mTo(pthread_self()), mThread([this] { send(); }) {}
    Signals(Signals const&) = delete;
    Signals& operator=(Signals const&) = delete;

    ~Signals()
    {
        mDone = true;
        mThread.join();
    }

    std::atomic<bool> on{false};

private:
    void send()
    {
        while (!mDone)
        {
            if (on)
            {
                pthread_kill(mTo, SIGURG);
            }
            timespec const pause{0, 3000};
            nanosleep(&pause, nullptr);
        }
    }

    pthread_t mTo;
    std::atomic<bool> mDone{false};
    std::thread mThread;
};

} // namespace

//! How many threads, in blocks of several shapes, didn't run exactly once; -1 after an error.
extern "C" __attribute__((visibility("default"))) int runStops(int rounds)
{
    void* memory = nullptr;
    cudaMallocHost(&memory, kTHREADS * sizeof(int));
    int* const counts = static_cast<int*>(memory);
    int wrong = 0;
    Signals signals;
    for (int round = 0; round < rounds; ++round)
    {
        for (dim3 const block : {dim3(256), dim3(8, 32), dim3(1, 256), dim3(2, 2, 64), dim3(7, 5, 3), dim3(1)})
        {
            for (int const times : {1, 5})
            {
                unsigned int const each = block.x * block.y * block.z;
                unsigned int const blocks = kTHREADS / each;
                for (unsigned int i = 0; i < kTHREADS; ++i)
                {
                    counts[i] = 0;
                }
                signals.on = true;
                if (times == 1)
                {
                    once<<<blocks, block>>>(counts);
                }
                else
                {
                    often<<<blocks, block>>>(counts, times);
                }
                cudaError_t const error = cudaDeviceSynchronize();
                signals.on = false;
                if (error != cudaSuccess)
                {
                    return -1;
                }
                for (unsigned int i = 0; i < blocks * each; ++i)
                {
                    wrong += counts[i] == times ? 0 : 1;
                }
            }
        }
    }
    cudaFreeHost(memory);
    return wrong;
}
