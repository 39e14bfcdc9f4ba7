// Kernels on pluginkit's device headers, as shares of the rate at which the GPU copies; a JSON object a line on stdout.
// `python benchmarks/kernels.py` compiles and runs it.
#include <pluginkit/kernels/bfloat16.cuh>
#include <pluginkit/kernels/elementwise.cuh>
#include <pluginkit/kernels/float16.cuh>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace kernels = pluginkit::kernels;

namespace
{

constexpr int kRuns = 30;
constexpr int kWarmUp = 5;

void check(cudaError_t error)
{
    if (error != cudaSuccess)
    {
        std::fprintf(stderr, "%s\n", cudaGetErrorString(error));
        std::exit(1);
    }
}

//! The median time of some work, in seconds.
template <typename Work>
double seconds(Work work)
{
    std::vector<float> times;
    cudaEvent_t begin{};
    cudaEvent_t end{};
    check(cudaEventCreate(&begin));
    check(cudaEventCreate(&end));
    for (int run = 0; run < kWarmUp + kRuns; ++run)
    {
        check(cudaEventRecord(begin));
        work();
        check(cudaEventRecord(end));
        check(cudaEventSynchronize(end));
        float milliseconds = 0.0F;
        check(cudaEventElapsedTime(&milliseconds, begin, end));
        if (run >= kWarmUp)
        {
            times.push_back(milliseconds);
        }
    }
    std::nth_element(times.begin(), times.begin() + kRuns / 2, times.end());
    return times[kRuns / 2] / 1e3;
}

struct Leaky
{
    float slope;
    __device__ float operator()(float x) const
    {
        return x >= 0.0F ? x : slope * x;
    }
};

struct Tanh
{
    __device__ float operator()(float x) const
    {
        return tanhf(x);
    }
};

struct Add
{
    __device__ float operator()(float a, float b) const
    {
        return a + b;
    }
};

struct Memory
{
    char* a;
    char* b;
    char* c;
    size_t bytes; //!< of each
};

void print(char const* type, char const* function, size_t bytes, double rate, double copyRate)
{
    std::printf("{\"type\": \"%s\", \"function\": \"%s\", \"bytes\": %zu, \"share\": %.4f}\n", type, function, bytes,
                rate / copyRate);
}

template <typename T>
void measure(char const* type, Memory const& memory, size_t bytes, double copyRate)
{
    auto const count = static_cast<int64_t>(bytes / sizeof(T));
    auto const x = kernels::input<T>(memory.a, 0.02F);
    auto const w = kernels::input<T>(memory.b, 0.02F);
    auto const y = kernels::output<T>(memory.c, 0.025F);
    auto const moved = static_cast<double>(bytes);
    print(type, "leaky", bytes,
          2.0 * moved / seconds([&] { check(kernels::launchElementwise(nullptr, count, Leaky{0.1F}, y, x)); }),
          copyRate);
    print(type, "tanh", bytes,
          2.0 * moved / seconds([&] { check(kernels::launchElementwise(nullptr, count, Tanh{}, y, x)); }), copyRate);
    print(type, "add", bytes,
          3.0 * moved / seconds([&] { check(kernels::launchElementwise(nullptr, count, Add{}, y, x, w)); }), copyRate);
}

} // namespace

int main()
{
    Memory memory{nullptr, nullptr, nullptr, size_t{1} << 30U};
    for (char** block : {&memory.a, &memory.b, &memory.c})
    {
        check(cudaMalloc(reinterpret_cast<void**>(block), memory.bytes));
        check(cudaMemset(*block, 1, memory.bytes));
    }
    cudaDeviceProp device{};
    check(cudaGetDeviceProperties(&device, 0));
    for (size_t const bytes : {size_t{1} << 20U, size_t{16} << 20U, size_t{256} << 20U, size_t{1} << 30U})
    {
        double const time =
            seconds([&] { check(cudaMemcpyAsync(memory.c, memory.a, bytes, cudaMemcpyDeviceToDevice, nullptr)); });
        double const copyRate = 2.0 * static_cast<double>(bytes) / time;
        std::printf("{\"gpu\": \"%s\", \"bytes\": %zu, \"copy_gb_per_s\": %.1f}\n", device.name, bytes, copyRate / 1e9);
        measure<float>("float32", memory, bytes, copyRate);
        measure<__half>("float16", memory, bytes, copyRate);
        measure<__nv_bfloat16>("bfloat16", memory, bytes, copyRate);
        measure<int8_t>("int8", memory, bytes, copyRate);
    }
    return 0;
}
