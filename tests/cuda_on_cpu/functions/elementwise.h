//! A family of functions of the same type: one kernel, which calls the function with the given number for each element.
//!
//! The source defines a list, `#define LIST(X) X(name, expression of a, b and c) ...`; FAMILY makes three C functions
//! of it: `<family>_names()` (the names, a blank between them), `<family>_run(...)` and `<family>_sizes(...)`.
#pragma once

#include <cuda_runtime.h>

#include <vector>

#define EXPORT extern "C" __attribute__((visibility("default")))

//! Copies the columns to the device, calls `launch` with them there, and copies the results back.
template <typename R, typename A, typename Launch>
int onDevice(int n, R* out, A const* a, A const* b, A const* c, Launch const& launch)
{
    auto const count = static_cast<size_t>(n);
    A const* const given[] = {a, b, c};
    A* columns = nullptr;
    R* results = nullptr;
    cudaMalloc(reinterpret_cast<void**>(&columns), 3 * count * sizeof(A));
    cudaMalloc(reinterpret_cast<void**>(&results), count * sizeof(R));
    for (size_t i = 0; i < 3; ++i)
    {
        cudaMemcpy(columns + i * count, given[i], count * sizeof(A), cudaMemcpyHostToDevice);
    }
    launch(results, columns, columns + count, columns + 2 * count);
    cudaMemcpy(out, results, count * sizeof(R), cudaMemcpyDeviceToHost);
    cudaFree(columns);
    cudaFree(results);
    return static_cast<int>(cudaGetLastError());
}

#define ELEMENTWISE_NAME(name, ...) #name " "
#define ELEMENTWISE_CASE(name, ...)                                                                                    \
    if (function == next++)                                                                                            \
    {                                                                                                                  \
        out[i] = static_cast<Result>(__VA_ARGS__);                                                                     \
    }

#define FAMILY(family, R, A, LIST)                                                                                     \
    static __global__ void family##_kernel(int function, int n, R* out, A const* as, A const* bs, A const* cs)         \
    {                                                                                                                  \
        using Result = R;                                                                                              \
        int const i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);                                         \
        if (i >= n)                                                                                                    \
        {                                                                                                              \
            return;                                                                                                    \
        }                                                                                                              \
        [[maybe_unused]] A const a = as[i];                                                                            \
        [[maybe_unused]] A const b = bs[i];                                                                            \
        [[maybe_unused]] A const c = cs[i];                                                                            \
        int next = 0;                                                                                                  \
        LIST(ELEMENTWISE_CASE)                                                                                         \
    }                                                                                                                  \
    EXPORT char const* family##_names()                                                                                \
    {                                                                                                                  \
        return LIST(ELEMENTWISE_NAME);                                                                                 \
    }                                                                                                                  \
    EXPORT int family##_sizes()                                                                                        \
    {                                                                                                                  \
        return static_cast<int>(sizeof(R) * 16 + sizeof(A));                                                           \
    }                                                                                                                  \
    EXPORT int family##_run(int function, int n, R* out, A const* a, A const* b, A const* c)                           \
    {                                                                                                                  \
        auto const launch = [&](R* results, A const* as, A const* bs, A const* cs)                                     \
        { family##_kernel<<<(n + 127) / 128, 128>>>(function, n, results, as, bs, cs); };                              \
        return onDevice(n, out, a, b, c, launch);                                                                      \
    }
