//! Sorts by CUB and by Thrust on the whole device: a stable radix sort of pairs, and radix and merge sorts of numbers.

#include <cub/device/device_radix_sort.cuh>
#include <thrust/device_ptr.h>
#include <thrust/functional.h>
#include <thrust/sort.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

namespace
{

template <typename T>
struct Memory
{
    explicit Memory(size_t count) : size{count}
    {
        cudaMalloc(&data, count * sizeof(T));
    }
    explicit Memory(std::vector<T> const& values) : Memory{values.size()}
    {
        cudaMemcpy(data, values.data(), size * sizeof(T), cudaMemcpyHostToDevice);
    }
    Memory(Memory const&) = delete;
    Memory& operator=(Memory const&) = delete;
    ~Memory()
    {
        cudaFree(data);
    }
    std::vector<T> back() const
    {
        std::vector<T> values(size);
        cudaMemcpy(values.data(), data, size * sizeof(T), cudaMemcpyDeviceToHost);
        return values;
    }
    size_t size;
    T* data{nullptr};
};

std::vector<float> numbers(size_t count)
{
    std::vector<float> values(count);
    uint32_t state = 12345;
    for (float& one : values)
    {
        state = state * 1664525U + 1013904223U;
        one = static_cast<float>(static_cast<int32_t>(state)) / 65536.0F;
    }
    return values;
}

bool pairs(size_t count)
{
    std::vector<float> const keys = numbers(count);
    std::vector<int> places(count);
    std::iota(places.begin(), places.end(), 0);
    Memory<float> const from{keys};
    Memory<float> const to{count};
    Memory<int> const values{places};
    Memory<int> const moved{count};
    size_t bytes = 0;
    auto const sorts = [&](void* scratch)
    {
        return cub::DeviceRadixSort::SortPairs(scratch, bytes, from.data, to.data, values.data, moved.data,
                                               static_cast<int>(count));
    };
    if (sorts(nullptr) != cudaSuccess)
    {
        return false;
    }
    Memory<char> const scratch{bytes};
    if (sorts(scratch.data) != cudaSuccess || cudaDeviceSynchronize() != cudaSuccess)
    {
        return false;
    }
    std::stable_sort(places.begin(), places.end(),
                     [&](int a, int b) { return keys[static_cast<size_t>(a)] < keys[static_cast<size_t>(b)]; });
    std::vector<float> sorted = keys;
    std::sort(sorted.begin(), sorted.end());
    return to.back() == sorted && moved.back() == places;
}

template <typename Order>
bool thrusts(size_t count, Order order)
{
    std::vector<float> values = numbers(count);
    Memory<float> const memory{values};
    thrust::device_ptr<float> const first = thrust::device_pointer_cast(memory.data);
    thrust::sort(first, first + static_cast<int64_t>(count), order);
    std::sort(values.begin(), values.end(), order);
    return memory.back() == values;
}

struct ByMagnitude
{
    __host__ __device__ bool operator()(float a, float b) const
    {
        return a * a < b * b || (a * a == b * b && a < b);
    }
};

} // namespace

//! Which of the sorts gave something wrong, as bits.
extern "C" __attribute__((visibility("default"))) int sorts(int count)
{
    auto const n = static_cast<size_t>(count);
    return (pairs(n) ? 0 : 1) + (thrusts(n, thrust::less<float>{}) ? 0 : 2) + (thrusts(n, ByMagnitude{}) ? 0 : 4);
}
