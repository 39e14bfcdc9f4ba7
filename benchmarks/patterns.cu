// Kernel patterns on pluginkit's device headers: times, and the rate of copies in the same run; a JSON object a line on
// stdout. `python benchmarks/patterns.py` compiles it, with the kernel that `pluginkit new` writes, and runs it.
#include "my_plugin_kernel.h"

#include <pluginkit/kernels/bfloat16.cuh>
#include <pluginkit/kernels/elementwise.cuh>
#include <pluginkit/kernels/float16.cuh>
#include <pluginkit/kernels/functions.cuh>
#include <pluginkit/kernels/gather.cuh>
#include <pluginkit/kernels/normalize.cuh>
#include <pluginkit/kernels/scan.cuh>
#include <pluginkit/kernels/transpose.cuh>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <type_traits>
#include <vector>

namespace kernels = pluginkit::kernels;

namespace
{

constexpr int kRuns = 25;
constexpr int kWarmUp = 5;
constexpr int64_t kElements = int64_t{1} << 27U;
constexpr int64_t kColumns = 4096;

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
        check(cudaEventRecord(begin[run]));
        for (int i = 0; i < repeats; ++i)
        {
            work();
        }
        check(cudaEventRecord(end[run]));
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

struct Leaky
{
    float slope;
    __device__ float operator()(float x) const
    {
        return x >= 0.0F ? x : slope * x;
    }
};

struct Gelu
{
    __device__ float operator()(float x) const
    {
        return kernels::fastGelu(x);
    }
};

struct BiasGelu
{
    __device__ float operator()(float x, float bias) const
    {
        return kernels::fastGelu(x + bias);
    }
};

struct SwiGlu
{
    __device__ float operator()(float x, float gate) const
    {
        return kernels::fastSilu(x) * gate;
    }
};

struct Softmax
{
    template <typename Row, typename Out>
    __device__ void operator()(Row const& row, Out const& y) const
    {
        float const most = row.reduce(kernels::Max{}, [](float x) { return x; });
        auto const powers = row.map([most](float x) { return kernels::fastExp(x - most); });
        float const inverse = 1.0F / powers.reduce(kernels::Sum{}, [](float power) { return power; });
        powers.write(y, [inverse](float power) { return power * inverse; });
    }
};

struct LayerNorm
{
    float columns;

    template <typename Row, typename Out>
    __device__ void operator()(Row const& row, Out const& y) const
    {
        float const mean = row.reduce(kernels::Sum{}, [](float x, float, float) { return x; }) / columns;
        float const squares =
            row.reduce(kernels::Sum{}, [mean](float x, float, float) { return (x - mean) * (x - mean); });
        float const inverse = rsqrtf(squares / columns + 1e-5F);
        row.write(y, [=](float x, float weight, float bias) { return (x - mean) * inverse * weight + bias; });
    }
};

struct RmsNorm
{
    float columns;

    template <typename Row, typename Out>
    __device__ void operator()(Row const& row, Out const& y) const
    {
        float const squares = row.reduce(kernels::Sum{}, [](float x, float) { return x * x; });
        float const inverse = rsqrtf(squares / columns + 1e-5F);
        row.write(y, [inverse](float x, float weight) { return x * inverse * weight; });
    }
};

struct AddRmsNorm
{
    float columns;

    template <typename Row, typename Out>
    __device__ void operator()(Row const& row, Out const& y) const
    {
        float const squares = row.reduce(kernels::Sum{}, [](float x, float r, float) { return (x + r) * (x + r); });
        float const inverse = rsqrtf(squares / columns + 1e-5F);
        row.write(y, [inverse](float x, float r, float weight) { return (x + r) * inverse * weight; });
    }
};

struct RowMax
{
    template <typename Row, typename Out>
    __device__ void operator()(Row const& row, Out const& y) const
    {
        row.writeOne(y, row.reduce(kernels::Max{}, [](float x) { return x; }));
    }
};

struct Memory
{
    char* a;
    char* b;
    char* c;
    char* row;        //!< a row's weights
    int64_t* indices; //!< rows in no order
};

double copySeconds(Memory const& memory, int64_t bytes, int repeats)
{
    return seconds(
        [&]
        { check(cudaMemcpyAsync(memory.c, memory.a, static_cast<size_t>(bytes), cudaMemcpyDeviceToDevice, nullptr)); },
        repeats);
}

//! Measures and prints one row of the table: `moved` are the bytes that it must read and write.
template <typename Work>
void measure(char const* type, std::string const& what, int64_t elements, int64_t columns, double moved, int repeats,
             Work work)
{
    double const time = seconds([&] { check(work()); }, repeats);
    std::printf("{\"type\": \"%s\", \"case\": \"%s\", \"elements\": %lld, \"columns\": %lld, \"us\": %.2f, "
                "\"gb_per_s\": %.1f}\n",
                type, what.c_str(), static_cast<long long>(elements), static_cast<long long>(columns), time * 1e6,
                moved / time / 1e9);
    std::fflush(stdout);
}

struct Types
{
    char const* name;
    my_plugin::MyPluginPrecision precision;
};

//! One-byte types are quantized; the others' scales are not looked at.
constexpr float kScale = 0.02F;

template <typename T>
void elementwise(Types const& types, Memory const& memory, int64_t count, int repeats, bool all)
{
    auto const* type = types.name;
    auto const bytes = static_cast<double>(count) * sizeof(T);
    auto const x = kernels::input<T>(memory.a, kScale);
    auto const g = kernels::input<T>(memory.b, kScale);
    auto const w = kernels::row<T>(memory.row, kColumns, kScale);
    auto const y = kernels::output<T>(memory.c, kScale);
    measure(type, "leaky", count, kColumns, 2 * bytes, repeats,
            [&] { return kernels::launchElementwise(nullptr, count, Leaky{0.1F}, y, x); });
    if (!all)
    {
        return;
    }
    my_plugin::MyPluginArguments args{};
    args.parameters.alpha = 0.1F;
    args.count = count;
    args.inputs.x.data = memory.a;
    args.inputs.x.count = count;
    args.inputs.x.scale = kScale;
    args.outputs.y.data = memory.c;
    args.outputs.y.count = count;
    args.outputs.y.scale = kScale;
    measure(type, "pluginkit new", count, kColumns, 2 * bytes, repeats,
            [&] { return my_plugin::launchMyPlugin(args, types.precision, nullptr); });
    measure(type, "gelu", count, kColumns, 2 * bytes, repeats,
            [&] { return kernels::launchElementwise(nullptr, count, Gelu{}, y, x); });
    measure(type, "bias+gelu", count, kColumns, 2 * bytes, repeats,
            [&] { return kernels::launchElementwise(nullptr, count, BiasGelu{}, y, x, w); });
    measure(type, "swiglu", count, kColumns, 3 * bytes, repeats,
            [&] { return kernels::launchElementwise(nullptr, count, SwiGlu{}, y, x, g); });
}

template <typename T>
void rows(char const* type, Memory const& memory, int64_t count, int64_t columns, int repeats, bool all)
{
    int64_t const many = count / columns;
    auto const bytes = static_cast<double>(count) * sizeof(T);
    auto const width = static_cast<float>(columns);
    auto const x = kernels::input<T>(memory.a, kScale);
    auto const r = kernels::input<T>(memory.b, kScale);
    auto const w = kernels::row<T>(memory.row, columns, kScale);
    auto const y = kernels::output<T>(memory.c, kScale);
    measure(type, "softmax", count, columns, 2 * bytes, repeats,
            [&] { return kernels::launchRows(nullptr, many, columns, Softmax{}, y, x); });
    measure(type, "rms_norm", count, columns, 2 * bytes, repeats,
            [&] { return kernels::launchRows(nullptr, many, columns, RmsNorm{width}, y, x, w); });
    measure(type, "cumsum", count, columns, 2 * bytes, repeats,
            [&] { return kernels::launchScan(nullptr, many, columns, kernels::Sum{}, y, x); });
    if (!all)
    {
        return;
    }
    measure(type, "layer_norm", count, columns, 2 * bytes, repeats,
            [&] { return kernels::launchRows(nullptr, many, columns, LayerNorm{width}, y, x, w, w); });
    measure(type, "add+rms_norm", count, columns, 3 * bytes, repeats,
            [&] { return kernels::launchRows(nullptr, many, columns, AddRmsNorm{width}, y, x, r, w); });
    auto const most = kernels::rowOutput<T>(memory.c, kScale);
    measure(type, "row max", count, columns, bytes + static_cast<double>(many) * sizeof(T), repeats,
            [&] { return kernels::launchRows(nullptr, many, columns, RowMax{}, most, x); });
    measure(type, "embedding", count, columns, 2 * bytes, repeats,
            [&]
            {
                return kernels::launchGatherRows(nullptr, many, columns * static_cast<int64_t>(sizeof(T)), many,
                                                 memory.indices, memory.a, memory.c);
            });
    measure(type, "transpose", count, columns, 2 * bytes, repeats,
            [&] { return kernels::launchTranspose<T>(nullptr, 1, many, columns, memory.a, memory.c); });
    measure(type, "NCHW to NHWC", count, columns, 2 * bytes, repeats,
            [&] { return kernels::launchTranspose<T>(nullptr, 128, 256, count / 128 / 256, memory.a, memory.c); });
}

template <typename T>
void everything(Types const& types, Memory const& memory)
{
    elementwise<T>(types, memory, kElements, 1, true);
    rows<T>(types.name, memory, kElements, kColumns, 1, true);
    for (int64_t columns = 32; columns <= 65536; columns *= 4)
    {
        rows<T>(types.name, memory, kElements, columns, 1, false);
    }
    rows<T>(types.name, memory, kElements, 65536, 1, false);
    rows<T>(types.name, memory, kElements - kElements % 1000, 1000, 1, false);
    for (int64_t bytes = 4096; bytes <= int64_t{1} << 30U; bytes *= 8)
    {
        int const repeats = bytes < (int64_t{1} << 26U) ? 20 : 1;
        int64_t const count = bytes / static_cast<int64_t>(sizeof(T));
        elementwise<T>(types, memory, count, repeats, false);
        rows<T>(types.name, memory, count, std::min(kColumns, count), repeats, false);
    }
}

} // namespace

int main()
{
    Memory memory{};
    constexpr size_t kBytes = size_t{1} << 30U;
    std::vector<char> noise(size_t{1} << 20U);
    uint32_t state = 1;
    for (auto& byte : noise)
    {
        state = state * 1664525U + 1013904223U;
        byte = static_cast<char>(state >> 24U & 0x3FU); // small positive numbers in every type
    }
    for (char** block : {&memory.a, &memory.b, &memory.c, &memory.row})
    {
        check(cudaMalloc(reinterpret_cast<void**>(block), kBytes));
        for (size_t at = 0; at < kBytes; at += noise.size())
        {
            check(cudaMemcpy(*block + at, noise.data(), noise.size(), cudaMemcpyHostToDevice));
        }
    }
    int64_t const many = kElements / kColumns;
    std::vector<int64_t> indices(static_cast<size_t>(many));
    for (int64_t i = 0; i < many; ++i)
    {
        indices[static_cast<size_t>(i)] = i * 12289 % many; // odd, and many is a power of two: each row once
    }
    check(cudaMalloc(reinterpret_cast<void**>(&memory.indices), indices.size() * sizeof(int64_t)));
    check(cudaMemcpy(memory.indices, indices.data(), indices.size() * sizeof(int64_t), cudaMemcpyHostToDevice));
    cudaDeviceProp device{};
    check(cudaGetDeviceProperties(&device, 0));
    int kilohertz = 0;
    int bits = 0;
    check(cudaDeviceGetAttribute(&kilohertz, cudaDevAttrMemoryClockRate, 0));
    check(cudaDeviceGetAttribute(&bits, cudaDevAttrGlobalMemoryBusWidth, 0));
    // Two transfers a cycle.
    std::printf("{\"gpu\": \"%s\", \"peak_gb_per_s\": %.1f}\n", device.name, 2.0 * kilohertz * bits / 8 / 1e6);
    for (int64_t bytes = 4096; bytes <= int64_t{1} << 30U; bytes *= 2)
    {
        int const repeats = bytes < (int64_t{1} << 26U) ? 20 : 1;
        double const time = copySeconds(memory, bytes, repeats);
        std::printf("{\"copy_bytes\": %lld, \"us\": %.2f, \"gb_per_s\": %.1f}\n", static_cast<long long>(bytes),
                    time * 1e6, 2 * static_cast<double>(bytes) / time / 1e9);
    }
    everything<float>({"float32", my_plugin::MyPluginPrecision::kFLOAT}, memory);
    everything<__half>({"float16", my_plugin::MyPluginPrecision::kHALF}, memory);
    everything<__nv_bfloat16>({"bfloat16", my_plugin::MyPluginPrecision::kBF16}, memory);
    everything<int8_t>({"int8", my_plugin::MyPluginPrecision::kINT8}, memory);
    return 0;
}
