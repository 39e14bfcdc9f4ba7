// How patterns.cu and patterns_cub.cu measure, and what they measure with.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

//! Waits until the host has counted so far, at most a second.
static __global__ void waitForHost(int const volatile* counted, int count)
{
    uint64_t begin = 0;
    uint64_t now = 0;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(begin));
    do
    {
        asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
    } while (*counted < count && now - begin < 1000000000U);
}

namespace
{

constexpr int kRuns = 25;
constexpr int kWarmUp = 5;
cudaStream_t stream = nullptr; //!< of all launches

void check(cudaError_t error)
{
    if (error != cudaSuccess)
    {
        std::fprintf(stderr, "%s\n", cudaGetErrorString(error));
        std::exit(1);
    }
}

//! What is queued while it lives begins when it ends: so no time contains what the CPU takes to launch, and the GPU
//! never waits for the next launch. A queue holds about a thousand launches.
class Gate
{
public:
    Gate()
    {
        static int count = 0;
        if (count == 0)
        {
            check(cudaHostAlloc(reinterpret_cast<void**>(&counted), sizeof(int), cudaHostAllocMapped));
            *counted = 0;
        }
        mine = ++count;
        waitForHost<<<1, 1, 0, stream>>>(counted, mine);
        check(cudaGetLastError());
    }

    ~Gate()
    {
        *const_cast<int volatile*>(counted) = mine;
    }

    Gate(Gate const&) = delete;
    Gate& operator=(Gate const&) = delete;

private:
    static inline int* counted = nullptr; //!< in memory of the host, which the GPU reads, too
    int mine = 0;
};

//! The median time of some work, in seconds; short work is measured several times at once.
template <typename Work>
double seconds(Work work, int repeats = 1)
{
    constexpr int kTogether = 5; // runs behind one gate
    static_assert(kRuns % kTogether == 0, "each gate has as many runs");
    std::vector<cudaEvent_t> begin(kRuns);
    std::vector<cudaEvent_t> end(kRuns);
    for (int run = 0; run < kRuns; ++run)
    {
        check(cudaEventCreate(&begin[run]));
        check(cudaEventCreate(&end[run]));
    }
    for (int i = 0; i < kWarmUp; ++i)
    {
        work();
    }
    for (int first = 0; first < kRuns; first += kTogether)
    {
        Gate const gate;
        for (int run = first; run < first + kTogether; ++run)
        {
            check(cudaEventRecord(begin[run], stream));
            for (int i = 0; i < repeats; ++i)
            {
                work();
            }
            check(cudaEventRecord(end[run], stream));
        }
    }
    check(cudaDeviceSynchronize());
    std::vector<float> times(kRuns);
    for (int run = 0; run < kRuns; ++run)
    {
        check(cudaEventElapsedTime(&times[run], begin[run], end[run]));
        check(cudaEventDestroy(begin[run]));
        check(cudaEventDestroy(end[run]));
    }
    std::nth_element(times.begin(), times.begin() + kRuns / 2, times.end());
    return times[kRuns / 2] / 1e3 / repeats;
}

//! Fills device memory with small numbers, positive in every type.
inline void fill(char* memory, size_t bytes)
{
    std::vector<char> noise(size_t{1} << 20U);
    uint32_t state = 1;
    for (auto& byte : noise)
    {
        state = state * 1664525U + 1013904223U;
        byte = static_cast<char>(state >> 24U & 0x3FU);
    }
    for (size_t at = 0; at < bytes; at += noise.size())
    {
        check(cudaMemcpy(memory + at, noise.data(), std::min(noise.size(), bytes - at), cudaMemcpyHostToDevice));
    }
}

} // namespace
