// Kernel patterns on pluginkit's device headers: times, and the rate of copies in the same run; a JSON object a line on
// stdout. `python benchmarks/patterns.py` compiles it once for each type (PATTERNS_TYPE, 0 to 3), with the kernel that
// `pluginkit new` writes, and runs it: `program CASES WIDTHS BYTES`, each a list with commas: of the cases that are
// measured (none: all), of the widths of rows that curves have, and of the sizes of tensors.
#include "../tests/cuda_on_cpu/sources/layer_norm.cuh"
#include "measuring.cuh"
#include "my_plugin_signature.h"

#include <pluginkit/kernels/bfloat16.cuh>
#include <pluginkit/kernels/elementwise.cuh>
#include <pluginkit/kernels/float16.cuh>
#include <pluginkit/kernels/functions.cuh>
#include <pluginkit/kernels/gather.cuh>
#include <pluginkit/kernels/normalize.cuh>
#include <pluginkit/kernels/pad.cuh>
#include <pluginkit/kernels/scan.cuh>
#include <pluginkit/kernels/select.cuh>
#include <pluginkit/kernels/topk.cuh>
#include <pluginkit/kernels/transpose.cuh>
#include <pluginkit/kernels/windows.cuh>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <string>
#include <type_traits>
#include <vector>

namespace kernels = pluginkit::kernels;

namespace
{

constexpr int64_t kElements = int64_t{1} << 27U;
constexpr int64_t kColumns = 4096;

//! What this run measures.
struct Asked
{
    std::vector<std::string> cases; //!< none: all
    std::vector<int64_t> widths;
    std::vector<int64_t> bytes;

    bool has(std::string const& what) const
    {
        return cases.empty() || std::find(cases.begin(), cases.end(), what) != cases.end();
    }
};

Asked asked; // NOLINT: a program's arguments

std::vector<std::string> splitAt(std::string const& text)
{
    std::vector<std::string> parts;
    std::stringstream all(text);
    for (std::string part; std::getline(all, part, ',');)
    {
        parts.push_back(part);
    }
    return parts;
}

std::vector<int64_t> numbersIn(std::string const& text)
{
    std::vector<int64_t> numbers;
    for (auto const& part : splitAt(text))
    {
        numbers.push_back(std::stoll(part));
    }
    return numbers;
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
        auto const powers = row.map(kernels::ExpBelow{most});
        float const sum = powers.reduce(kernels::Sum{}, [](float power) { return power; });
        powers.write(y, [](float power) { return power; }, 1.0F / sum);
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
        row.write(y, [](float x, float weight) { return x * weight; }, inverse);
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

struct Largest : kernels::MaximumFold
{
    __device__ float result(float folded, float /*count*/) const
    {
        return folded;
    }
};

//! One element in sixty-four of what `main` fills the memory with.
struct Above
{
    float limit;

    __device__ bool operator()(float x) const
    {
        return x > limit;
    }
};

//! Of each element, whether it is one of the largest.
struct Mask
{
    __device__ float operator()(float /*x*/, bool among) const
    {
        return among ? 1.0F : 0.0F;
    }
};

//! The least that a kernel can do for a tensor.
__global__ void loadAndStore(uint4 const* x, uint4* y)
{
    y[threadIdx.x] = x[threadIdx.x];
}

//! The same, started as the kernels of the headers are.
__global__ void loadAndStoreEarly(uint4 const* x, uint4* y)
{
    kernels::detail::waitForStream();
    y[threadIdx.x] = x[threadIdx.x];
}

struct Memory
{
    char* a;
    char* b;
    char* c;
    char* row;        //!< a row's weights
    int64_t* indices; //!< rows in no order
    int64_t* places;  //!< of selected elements
    int32_t* found;
    void* workspace; //!< of a selection
};

double copySeconds(Memory const& memory, int64_t bytes, int repeats)
{
    return seconds(
        [&]
        { check(cudaMemcpyAsync(memory.c, memory.a, static_cast<size_t>(bytes), cudaMemcpyDeviceToDevice, stream)); },
        repeats);
}

//! Measures and prints the copy's curve.
void copies(Memory const& memory)
{
    for (int64_t bytes = 4096; bytes <= int64_t{1} << 30U; bytes *= 2)
    {
        int const repeats = bytes < (int64_t{1} << 26U) ? 20 : 1;
        double const time = copySeconds(memory, bytes, repeats);
        std::printf("{\"copy_bytes\": %lld, \"us\": %.2f, \"gb_per_s\": %.1f}\n", static_cast<long long>(bytes),
                    time * 1e6, 2 * static_cast<double>(bytes) / time / 1e9);
    }
}

//! Measures and prints one row of the table: `moved` are the bytes that it must read and write.
template <typename Work>
void measure(char const* type, std::string const& what, int64_t elements, int64_t columns, double moved, int repeats,
             Work work)
{
    if (!asked.has(what))
    {
        return;
    }
    double const time = seconds([&] { check(work()); }, repeats);
    std::printf("{\"type\": \"%s\", \"case\": \"%s\", \"elements\": %lld, \"columns\": %lld, \"us\": %.2f, "
                "\"gb_per_s\": %.1f}\n",
                type, what.c_str(), static_cast<long long>(elements), static_cast<long long>(columns), time * 1e6,
                moved / time / 1e9);
    std::fflush(stdout);
}

cudaError_t loadAndStored(Memory const& memory)
{
    loadAndStore<<<1, 256, 0, stream>>>(reinterpret_cast<uint4 const*>(memory.a), reinterpret_cast<uint4*>(memory.b));
    return cudaGetLastError();
}

//! The same behind a kernel that doesn't let the next one's blocks come, of which the own time is taken off.
template <typename Work>
void measureAfter(Memory const& memory, char const* type, char const* what, int64_t elements, double moved, int repeats,
                  Work work)
{
    if (!asked.has(what))
    {
        return;
    }
    double const before = seconds([&] { check(loadAndStored(memory)); }, repeats);
    double const both = seconds(
        [&]
        {
            check(loadAndStored(memory));
            check(work());
        },
        repeats);
    double const time = both - before;
    std::printf("{\"type\": \"%s\", \"after\": \"%s\", \"elements\": %lld, \"us\": %.2f, \"gb_per_s\": %.1f}\n", type,
                what, static_cast<long long>(elements), time * 1e6, moved / time / 1e9);
    std::fflush(stdout);
}

struct Types
{
    char const* name;
    my_plugin::Precision precision;
    float limit; //!< above it are the elements whose last byte is 63
};

//! One-byte types are quantized; the others' scales are not looked at.
constexpr float kScale = 0.02F;

//! What a tensor of so many elements is, for each pattern.
struct Size
{
    int64_t count;
    int64_t columns; //!< of a row
    int64_t side;    //!< of an image; a power of two
};

Size sized(int64_t count, int64_t columns = kColumns)
{
    return {count, std::min(columns, count), count < 4096 ? 16 : 64};
}

template <typename T>
auto leaky(Memory const& memory, int64_t count)
{
    return [=]
    {
        return kernels::launchElementwise(stream, count, Leaky{0.1F}, kernels::output<T>(memory.c, kScale),
                                          kernels::input<T>(memory.a, kScale));
    };
}

template <typename T>
void elementwise(Types const& types, Memory const& memory, int64_t count)
{
    auto const* type = types.name;
    auto const bytes = static_cast<double>(count) * sizeof(T);
    auto const x = kernels::input<T>(memory.a, kScale);
    auto const g = kernels::input<T>(memory.b, kScale);
    auto const w = kernels::row<T>(memory.row, kColumns, kScale);
    auto const y = kernels::output<T>(memory.c, kScale);
    my_plugin::Fields fields;
    fields.alpha = 0.1F;
    my_plugin::Run run{{count, nullptr, 0, 0, stream}, fields, types.precision, {}, {}};
    run.in.x.data = memory.a;
    run.in.x.count = count;
    run.in.x.scale = kScale;
    run.out.y.data = memory.c;
    run.out.y.count = count;
    run.out.y.scale = kScale;
    measure(type, "pluginkit new", count, kColumns, 2 * bytes, 1, [&] { return my_plugin::launch(run); });
    measure(type, "gelu", count, kColumns, 2 * bytes, 1,
            [&] { return kernels::launchElementwise(stream, count, Gelu{}, y, x); });
    measure(type, "bias+gelu", count, kColumns, 2 * bytes, 1,
            [&] { return kernels::launchElementwise(stream, count, BiasGelu{}, y, x, w); });
    measure(type, "swiglu", count, kColumns, 3 * bytes, 1,
            [&] { return kernels::launchElementwise(stream, count, SwiGlu{}, y, x, g); });
}

//! A norm's weights, of type W.
template <typename T, typename W>
void norms(char const* type, std::string const& suffix, Memory const& memory, int64_t count, int64_t columns)
{
    int64_t const many = count / columns;
    auto const bytes = static_cast<double>(count) * sizeof(T);
    auto const width = static_cast<float>(columns);
    auto const x = kernels::input<T>(memory.a, kScale);
    auto const r = kernels::input<T>(memory.b, kScale);
    auto const w = kernels::row<W>(memory.row, columns, kScale);
    auto const y = kernels::output<T>(memory.c, kScale);
    measure(type, "rms_norm" + suffix, count, columns, 2 * bytes, 1,
            [&] { return kernels::launchRows(stream, many, columns, RmsNorm{width}, y, x, w); });
    measure(type, "layer_norm" + suffix, count, columns, 2 * bytes, 1,
            [&] { return kernels::launchRows(stream, many, columns, LayerNorm{width}, y, x, w, w); });
    measure(type, "add+rms_norm" + suffix, count, columns, 3 * bytes, 1,
            [&] { return kernels::launchRows(stream, many, columns, AddRmsNorm{width}, y, x, r, w); });
}

//! Weights of INT8 layers are float32, as a network has them; they may be INT8, too.
template <typename T>
void weighted(char const* type, Memory const& memory, int64_t count, int64_t columns)
{
    if constexpr (std::is_same_v<T, int8_t>)
    {
        norms<T, float>(type, "", memory, count, columns);
        norms<T, T>(type, ", int8 weights", memory, count, columns);
    }
    else
    {
        norms<T, T>(type, "", memory, count, columns);
    }
}

template <typename T>
auto softmax(Memory const& memory, Size const& size)
{
    return [=]
    {
        return kernels::launchRows(stream, size.count / size.columns, size.columns, Softmax{},
                                   kernels::output<T>(memory.c, kScale), kernels::input<T>(memory.a, kScale));
    };
}

//! One number of each row.
template <typename T>
void rowMost(Types const& types, Memory const& memory, Size const& size)
{
    int64_t const rows = size.count / size.columns;
    measure(types.name, "row max", size.count, size.columns, static_cast<double>(size.count + rows) * sizeof(T), 1,
            [&]
            {
                return kernels::launchRows(stream, rows, size.columns, RowMax{},
                                           kernels::rowOutput<T>(memory.c, kScale),
                                           kernels::input<T>(memory.a, kScale));
            });
}

//! A mask of the largest of each row.
template <typename T>
void topK(Types const& types, Memory const& memory, Size const& size)
{
    measure(types.name, "top-k mask", size.count, size.columns, static_cast<double>(size.count) * (sizeof(T) + 1), 1,
            [&]
            {
                return kernels::launchTopK(stream, size.count / size.columns, size.columns, 8, Mask{},
                                           kernels::output<int8_t>(memory.c), kernels::input<T>(memory.a, kScale));
            });
}

template <typename T>
auto cumsum(Memory const& memory, Size const& size)
{
    return [=]
    {
        return kernels::launchScan(stream, size.count / size.columns, size.columns, kernels::Sum{},
                                   kernels::output<T>(memory.c, kScale), kernels::input<T>(memory.a, kScale));
    };
}

template <typename T>
auto embedding(Memory const& memory, Size const& size)
{
    return [=]
    {
        int64_t const rows = size.count / size.columns;
        return kernels::launchGatherRows(stream, rows, size.columns * static_cast<int64_t>(sizeof(T)),
                                         std::max<int64_t>(rows, kElements / kColumns), memory.indices, memory.a,
                                         memory.c);
    };
}

template <typename T>
auto transposed(Memory const& memory, Size const& size)
{
    return [=]
    { return kernels::launchTranspose<T>(stream, 1, size.count / size.columns, size.columns, memory.a, memory.c); };
}

template <typename T>
auto padded(Memory const& memory, Size const& size, kernels::PadMode mode)
{
    return [=]
    {
        int64_t const x[] = {size.count / size.side / size.side, size.side, size.side};
        int64_t const y[] = {x[0], size.side + 2, size.side + 2};
        int64_t const before[] = {0, 1, 1};
        return kernels::launchPad(stream, 3, x, before, y, {mode, 0.0F}, kernels::output<T>(memory.c, kScale),
                                  kernels::input<T>(memory.a, kScale));
    };
}

template <typename T>
auto pooled(Memory const& memory, Size const& size, kernels::Window const& window)
{
    return [=]
    {
        kernels::Images const images{size.count / size.side / size.side, size.side, size.side, size.side / 2,
                                     size.side / 2};
        return kernels::launchWindows(stream, images, window, Largest{}, kernels::output<T>(memory.c, kScale),
                                      kernels::input<T>(memory.a, kScale));
    };
}

template <typename T>
auto selected(Memory const& memory, Size const& size, float limit)
{
    return [=]
    {
        int64_t const dims[] = {size.count / size.columns, size.columns};
        return kernels::launchSelect(stream, 2, dims, Above{limit}, kernels::input<T>(memory.a, kScale), memory.places,
                                     memory.found, memory.workspace, kernels::selectWorkspace(size.count));
    };
}

double paddedBytes(Size const& size)
{
    auto const side = static_cast<double>(size.side);
    return static_cast<double>(size.count) * (1 + (side + 2) * (side + 2) / side / side);
}

//! Patterns whose curves are drawn, at one size. After: behind a kernel that doesn't let the next one's blocks come.
template <typename T>
void point(Types const& types, Memory const& memory, Size const& size, int repeats, bool after = false)
{
    auto const* type = types.name;
    auto const bytes = static_cast<double>(size.count) * sizeof(T);
    auto const one = [&](char const* what, double moved, auto const& work)
    {
        after ? measureAfter(memory, type, what, size.count, moved, repeats, work)
              : measure(type, what, size.count, size.columns, moved, repeats, work);
    };
    one("leaky", 2 * bytes, leaky<T>(memory, size.count));
    one("softmax", 2 * bytes, softmax<T>(memory, size));
    one("cumsum", 2 * bytes, cumsum<T>(memory, size));
    one("embedding", 2 * bytes, embedding<T>(memory, size));
    one("transpose", 2 * bytes, transposed<T>(memory, size));
    one("pad reflect", paddedBytes(size) * sizeof(T), padded<T>(memory, size, kernels::PadMode::kReflect));
    one("max pool 2x2", 1.25 * bytes, pooled<T>(memory, size, {2, 2, 0}));
    one("nonzero", bytes, selected<T>(memory, size, types.limit));
}

//! What is measured at the usual size alone.
template <typename T>
void large(Types const& types, Memory const& memory)
{
    auto const* type = types.name;
    Size const size = sized(kElements);
    auto const bytes = static_cast<double>(kElements) * sizeof(T);
    auto const one = [&](char const* what, double moved, auto const& work)
    { measure(type, what, kElements, kColumns, moved, 1, work); };
    point<T>(types, memory, size, 1);
    elementwise<T>(types, memory, kElements);
    weighted<T>(type, memory, kElements, kColumns);
    rowMost<T>(types, memory, size);
    measure(type, "cumsum, one row", kElements, kElements, 2 * bytes, 1,
            [&]
            {
                return kernels::launchScan(stream, 1, kElements, kernels::Sum{}, kernels::output<T>(memory.c, kScale),
                                           kernels::input<T>(memory.a, kScale), memory.workspace);
            });
    topK<T>(types, memory, size);
    one("NCHW to NHWC", 2 * bytes,
        [&] { return kernels::launchTranspose<T>(stream, 128, 256, kElements / 128 / 256, memory.a, memory.c); });
    one("pad constant", paddedBytes(size) * sizeof(T), padded<T>(memory, size, kernels::PadMode::kConstant));
    one("pad edge", paddedBytes(size) * sizeof(T), padded<T>(memory, size, kernels::PadMode::kEdge));
    Size const wide{kElements, kColumns, 256};
    one("pad reflect, 256 x 256", paddedBytes(wide) * sizeof(T), padded<T>(memory, wide, kernels::PadMode::kReflect));
    one("max pool 3x3", 1.25 * bytes, pooled<T>(memory, size, {3, 2, 1}));
    one("max pool 3x3, 256 x 256", 1.25 * bytes, pooled<T>(memory, wide, {3, 2, 1}));
}

//! What a launch on 4 KiB takes in a replayed graph, in microseconds.
template <typename Work>
void replay(char const* type, char const* what, Work work)
{
    constexpr int kLaunches = 100;
    if (!asked.has(what) && std::string{what}.find("load and store") == std::string::npos)
    {
        return;
    }
    check(work()); // loads the kernel, which a capture must not
    check(cudaStreamSynchronize(stream));
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t made = nullptr;
    check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    for (int i = 0; i < kLaunches; ++i)
    {
        check(work());
    }
    check(cudaStreamEndCapture(stream, &graph));
    check(cudaGraphInstantiate(&made, graph, 0));
    double const time = seconds([&] { check(cudaGraphLaunch(made, stream)); }) / kLaunches;
    std::printf("{\"replayed\": \"%s\", \"type\": \"%s\", \"us\": %.3f}\n", what, type, time * 1e6);
    check(cudaGraphExecDestroy(made));
    check(cudaGraphDestroy(graph));
}

template <typename T>
void tiny(Types const& types, Memory const& memory)
{
    auto const* type = types.name;
    Size const size = sized(4096 / static_cast<int64_t>(sizeof(T)), 512);
    replay(type, "load and store", [&] { return loadAndStored(memory); });
    replay(type, "load and store, started early",
           [&]
           {
               kernels::detail::launchEarly(loadAndStoreEarly, 1, 256, stream, reinterpret_cast<uint4 const*>(memory.a),
                                            reinterpret_cast<uint4*>(memory.b));
               return cudaGetLastError();
           });
    replay(type, "leaky", leaky<T>(memory, size.count));
    replay(type, "softmax", softmax<T>(memory, size));
    replay(type, "cumsum", cumsum<T>(memory, size));
    replay(type, "embedding", embedding<T>(memory, size));
    replay(type, "transpose", transposed<T>(memory, size));
    replay(type, "pad reflect", padded<T>(memory, size, kernels::PadMode::kReflect));
    replay(type, "max pool 2x2", pooled<T>(memory, size, {2, 2, 0}));
}

template <typename T>
void everything(Types const& types, Memory const& memory)
{
    large<T>(types, memory);
    tiny<T>(types, memory);
    for (int64_t const columns : asked.widths)
    {
        Size const size{kElements - kElements % columns, columns, 64};
        auto const bytes = static_cast<double>(size.count) * sizeof(T);
        measure(types.name, "softmax", size.count, columns, 2 * bytes, 1, softmax<T>(memory, size));
        measure(types.name, "cumsum", size.count, columns, 2 * bytes, 1, cumsum<T>(memory, size));
        weighted<T>(types.name, memory, size.count, columns);
        rowMost<T>(types, memory, size);
        topK<T>(types, memory, size);
    }
    for (int64_t const bytes : asked.bytes)
    {
        int64_t const count = bytes / static_cast<int64_t>(sizeof(T));
        if (count != kElements)
        {
            point<T>(types, memory, sized(count), bytes < (int64_t{1} << 26U) ? 20 : 1);
        }
        if (bytes < (int64_t{1} << 26U))
        {
            point<T>(types, memory, sized(count), 20, true);
        }
    }
}

} // namespace

int main(int count, char** arguments)
{
    if (count != 4)
    {
        std::fprintf(stderr, "usage: %s CASES WIDTHS BYTES\n", arguments[0]);
        return 1;
    }
    asked = {splitAt(arguments[1]), numbersIn(arguments[2]), numbersIn(arguments[3])};
    Memory memory{};
    check(cudaStreamCreate(&stream));
    constexpr size_t kBytes = (size_t{1} << 30U) / 8 * 9; // a tensor of 1 GiB with a rim
    for (char** block : {&memory.a, &memory.b, &memory.c, &memory.row})
    {
        check(cudaMalloc(reinterpret_cast<void**>(block), kBytes));
        fill(*block, kBytes);
    }
    int64_t const many = kElements / kColumns;
    std::vector<int64_t> indices(static_cast<size_t>(many));
    for (int64_t i = 0; i < many; ++i)
    {
        indices[static_cast<size_t>(i)] = i * 12289 % many; // odd, and many is a power of two: each row once
    }
    check(cudaMalloc(reinterpret_cast<void**>(&memory.indices), indices.size() * sizeof(int64_t)));
    check(cudaMemcpy(memory.indices, indices.data(), indices.size() * sizeof(int64_t), cudaMemcpyHostToDevice));
    check(cudaMalloc(reinterpret_cast<void**>(&memory.places), kBytes));
    check(cudaMalloc(reinterpret_cast<void**>(&memory.found), sizeof(int32_t)));
    check(cudaMalloc(&memory.workspace, static_cast<size_t>(kernels::selectWorkspace(int64_t{1} << 30U))));
    cudaDeviceProp device{};
    check(cudaGetDeviceProperties(&device, 0));
    int kilohertz = 0;
    int bits = 0;
    check(cudaDeviceGetAttribute(&kilohertz, cudaDevAttrMemoryClockRate, 0));
    check(cudaDeviceGetAttribute(&bits, cudaDevAttrGlobalMemoryBusWidth, 0));
    // Two transfers a cycle.
    std::printf("{\"gpu\": \"%s\", \"peak_gb_per_s\": %.1f}\n", device.name, 2.0 * kilohertz * bits / 8 / 1e6);
    // What is measured first shall find the clocks that all else finds.
    for (int i = 0; i < 20; ++i)
    {
        copySeconds(memory, int64_t{1} << 28U, 1);
    }
    copies(memory);
    using Precision = my_plugin::Precision;
#if PATTERNS_TYPE == 0
    everything<float>({"float32", Precision::kFLOAT, 0.49F}, memory);
#elif PATTERNS_TYPE == 1
    everything<__half>({"float16", Precision::kHALF, 1.7F}, memory);
#elif PATTERNS_TYPE == 2
    everything<__nv_bfloat16>({"bfloat16", Precision::kBF16, 0.49F}, memory);
#else
    everything<int8_t>({"int8", Precision::kINT8, 1.25F}, memory);
#endif
    copies(memory); // again, since clocks drift
    return 0;
}
