// How patterns.cu and patterns_cub.cu measure, and what they measure with.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

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

//! The median time of some work, in seconds. All launches are queued before the first is waited for, so that no time
//! contains what the CPU takes to launch; short work is measured several times at once.
template <typename Work>
double seconds(Work work, int repeats = 1)
{
    std::vector<cudaEvent_t> begin(kRuns);
    std::vector<cudaEvent_t> end(kRuns);
    for (int i = 0; i < kWarmUp; ++i)
    {
        work();
    }
    for (int run = 0; run < kRuns; ++run)
    {
        check(cudaEventCreate(&begin[run]));
        check(cudaEventCreate(&end[run]));
        check(cudaEventRecord(begin[run], stream));
        for (int i = 0; i < repeats; ++i)
        {
            work();
        }
        check(cudaEventRecord(end[run], stream));
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
