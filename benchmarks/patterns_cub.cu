// What CUB's device-wide algorithms take for the patterns of patterns.cu: a JSON object a line on stdout. For comparing
// only; `python benchmarks/patterns.py --cub` compiles it once for each type (PATTERNS_TYPE) and runs it.
#include "measuring.cuh"

#include <cub/device/device_scan.cuh>
#include <cub/device/device_segmented_reduce.cuh>
#include <cub/device/device_select.cuh>

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>

namespace
{

constexpr int64_t kElements = int64_t{1} << 27U;
constexpr int64_t kColumns = 4096;

#if PATTERNS_TYPE == 0
using T = float;
constexpr char kType[] = "float32";
constexpr float kLimit = 0.49F; // above it are the elements whose last byte is 63
#elif PATTERNS_TYPE == 1
using T = __half;
constexpr char kType[] = "float16";
constexpr float kLimit = 1.7F;
#elif PATTERNS_TYPE == 2
using T = __nv_bfloat16;
constexpr char kType[] = "bfloat16";
constexpr float kLimit = 0.49F;
#else
using T = int8_t;
constexpr char kType[] = "int8";
constexpr float kLimit = 62.5F;
#endif

struct Above
{
    __device__ bool operator()(T x) const
    {
        return static_cast<float>(x) > kLimit;
    }
};

//! Where a row begins.
struct Begin
{
    __host__ __device__ int64_t operator()(int64_t row) const
    {
        return row * kColumns;
    }
};

//! One of CUB's algorithms, which is called twice: first for the size of its storage.
template <typename Work>
void measure(char const* what, int64_t columns, double moved, Work work)
{
    size_t bytes = 0;
    check(work(nullptr, bytes));
    void* storage = nullptr;
    check(cudaMalloc(&storage, std::max<size_t>(bytes, 1)));
    double const time = seconds([&] { check(work(storage, bytes)); });
    check(cudaFree(storage));
    std::printf("{\"type\": \"%s\", \"case\": \"%s\", \"elements\": %lld, \"columns\": %lld, \"us\": %.2f, "
                "\"gb_per_s\": %.1f}\n",
                kType, what, static_cast<long long>(kElements), static_cast<long long>(columns), time * 1e6,
                moved / time / 1e9);
    std::fflush(stdout);
}

} // namespace

int main()
{
    check(cudaStreamCreate(&stream));
    T* x = nullptr;
    T* y = nullptr;
    int64_t* places = nullptr;
    int64_t* found = nullptr;
    check(cudaMalloc(reinterpret_cast<void**>(&x), kElements * sizeof(T)));
    check(cudaMalloc(reinterpret_cast<void**>(&y), kElements * sizeof(T)));
    check(cudaMalloc(reinterpret_cast<void**>(&places), kElements * sizeof(int64_t)));
    check(cudaMalloc(reinterpret_cast<void**>(&found), sizeof(int64_t)));
    fill(reinterpret_cast<char*>(x), kElements * sizeof(T));
    double const bytes = static_cast<double>(kElements) * sizeof(T);
    int64_t const rows = kElements / kColumns;
    measure("cumsum, one row", kElements, 2 * bytes, [&](void* storage, size_t& size)
            { return cub::DeviceScan::InclusiveSum(storage, size, x, y, kElements, stream); });
    // What the places of the selected elements are in one dimension; `nonzero` of patterns.cu writes two numbers each.
    auto const flags = thrust::make_transform_iterator(x, Above{});
    measure("nonzero", kColumns, bytes,
            [&](void* storage, size_t& size)
            {
                return cub::DeviceSelect::Flagged(storage, size, thrust::counting_iterator<int64_t>(0), flags, places,
                                                  found, kElements, stream);
            });
    auto const begins = thrust::make_transform_iterator(thrust::counting_iterator<int64_t>(0), Begin{});
    measure("row max", kColumns, bytes + static_cast<double>(rows) * sizeof(T), [&](void* storage, size_t& size)
            { return cub::DeviceSegmentedReduce::Max(storage, size, x, y, rows, begins, begins + 1, stream); });
    return 0;
}
