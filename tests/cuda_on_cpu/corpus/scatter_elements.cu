// ScatterElements along the first axis with add, multiply, minimum and maximum: atomics by CAS for float, half and
// int64.
#include "corpus.h"

#include <cuda_fp16.h>

#include <cstdint>

namespace scatter_elements
{
/// Changes *address by a loop of compare-and-swap on the word of its size.
template <typename T, std::size_t SIZE>
struct AtomicLoop;

template <typename T>
struct AtomicLoop<T, 4>
{
    template <typename Function>
    static __device__ void apply(T* address, Function const& function)
    {
        unsigned int* const word = reinterpret_cast<unsigned int*>(address);
        unsigned int old = *word;
        unsigned int assumed;
        do
        {
            assumed = old;
            union
            {
                unsigned int bits;
                T value;
            } next;
            next.bits = assumed;
            next.value = function(next.value);
            old = atomicCAS(word, assumed, next.bits);
        } while (assumed != old);
    }
};

template <typename T>
struct AtomicLoop<T, 8>
{
    template <typename Function>
    static __device__ void apply(T* address, Function const& function)
    {
        auto* const word = reinterpret_cast<unsigned long long*>(address);
        unsigned long long old = *word, assumed;
        do
        {
            assumed = old;
            T const next = function(static_cast<T>(assumed));
            old = atomicCAS(word, assumed, static_cast<unsigned long long>(next));
        } while (assumed != old);
    }
};

template <typename T>
struct AtomicLoop<T, 2>
{
    template <typename Function>
    static __device__ void apply(T* address, Function const& function)
    {
        unsigned short* const word = reinterpret_cast<unsigned short*>(address);
        unsigned short old = *word, assumed;
        do
        {
            assumed = old;
            T const next = function(__ushort_as_half(assumed));
            old = atomicCAS(word, assumed, __half_as_ushort(next));
        } while (assumed != old);
    }
};

struct Add
{
    template <typename T>
    __device__ T operator()(T a, T b) const
    {
        return a + b;
    }
};
struct Multiply
{
    template <typename T>
    __device__ T operator()(T a, T b) const
    {
        return a * b;
    }
};
struct Minimum
{
    template <typename T>
    __device__ T operator()(T a, T b) const
    {
        return b < a ? b : a;
    }
};
struct Maximum
{
    template <typename T>
    __device__ T operator()(T a, T b) const
    {
        return a < b ? b : a;
    }
};

template <typename T, class Reduction>
__global__ void kernel(T* data, int64_t const* indices, T const* updates, int rows, int columns, int count)
{
    Reduction const reduce{};
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += blockDim.x * gridDim.x)
    {
        int64_t row = indices[i];
        row += row < 0 ? rows : 0;
        T const update = updates[i];
        AtomicLoop<T, sizeof(T)>::apply(data + row * columns + i % columns,
                                        [&](T value) { return reduce(value, update); });
    }
}

template <typename T>
int run(void* data, int64_t const* indices, void const* updates, int rows, int columns, int updateRows, int reduction)
{
    int const count = updateRows * columns;
    corpus::Device<T> const dData(static_cast<T*>(data), static_cast<size_t>(rows) * columns);
    corpus::Device<T> const dUpdates(static_cast<T const*>(updates), count);
    corpus::Device<int64_t> const dIndices(indices, count);
    auto const launch = [&](auto chosen)
    {
        using Reduction = decltype(chosen);
        kernel<T, Reduction><<<3, 128>>>(dData.get(), dIndices.get(), dUpdates.get(), rows, columns, count);
    };
    switch (reduction)
    {
    case 0:
        launch(Add{});
        break;
    case 1:
        launch(Multiply{});
        break;
    case 2:
        launch(Minimum{});
        break;
    default:
        launch(Maximum{});
        break;
    }
    return dData.copyTo(static_cast<T*>(data));
}
} // namespace scatter_elements

CORPUS_EXPORT int run_scatter_elements(void* data, int64_t const* indices, void const* updates, int rows, int columns,
                                       int updateRows, int reduction, int type)
{
    using namespace scatter_elements;
    switch (type)
    {
    case 0:
        return run<float>(data, indices, updates, rows, columns, updateRows, reduction);
    case 1:
        return run<__half>(data, indices, updates, rows, columns, updateRows, reduction);
    default:
        return run<int64_t>(data, indices, updates, rows, columns, updateRows, reduction);
    }
}
