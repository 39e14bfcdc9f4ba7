//! The k largest elements of each row of a matrix: a function of each element, and of whether it is one of them.
//!
//!     struct Kept
//!     {
//!         __device__ float operator()(float x, bool among) const
//!         {
//!             return among ? x : 0.0F; // a mask: among ? 1.0F : 0.0F
//!         }
//!     };
//!     kernels::launchTopK(stream, rows, columns, k, Kept{}, kernels::output<__half>(y), kernels::input<__half>(x));
//!
//! Rows that fit into registers are read once (topk_rows.cuh). Of others the k-th largest element is found by its bits,
//! eight at a time: as many are counted as have each of their 256 values. Such a row is read again for each eight bits
//! and once for the results, from the caches where it fits into them.
#pragma once

#include <pluginkit/kernels/order.cuh>
#include <pluginkit/kernels/rows.cuh>
#include <pluginkit/kernels/tensors.cuh>
#include <pluginkit/kernels/topk_rows.cuh>
#include <pluginkit/kernels/tuning.cuh>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace pluginkit::kernels
{

namespace detail
{



constexpr uint32_t kDigitBits = 8;
constexpr int32_t kDigits = 1 << kDigitBits;

//! What is known of a row's k-th largest element, as a number of `Order`.
struct Threshold
{
    uint32_t mask;   //!< the bits that are known
    uint32_t number; //!< those bits
    int32_t wanted;  //!< of the elements that have these bits, how many are among the k
    int32_t have;    //!< how many have them
};

//! The next digit of the threshold, by one warp: of how many elements have each digit. All 32 lanes must call it, and
//! the one that knows it writes it.
inline __device__ void findDigit(int32_t const (&counts)[kDigits], uint32_t shift, Threshold& threshold)
{
    constexpr int32_t kEach = kDigits / static_cast<int32_t>(kLanes);
    auto const lane = static_cast<int32_t>(threadIdx.x % kLanes);
    int32_t const last = kDigits - 1 - lane * kEach; // from the largest digit down
    int32_t mine = 0;
#pragma unroll
    for (int32_t j = 0; j < kEach; ++j)
    {
        mine += counts[last - j];
    }
    int32_t above = warpCount(mine) - mine;
    Threshold const before = threshold;
    __syncwarp(); // nobody writes it before all have read it
    for (int32_t j = 0; j < kEach; ++j)
    {
        int32_t const count = counts[last - j];
        if (above < before.wanted && before.wanted <= above + count)
        {
            threshold.mask = before.mask | static_cast<uint32_t>(kDigits - 1) << shift;
            threshold.number = before.number | static_cast<uint32_t>(last - j) << shift;
            threshold.wanted = before.wanted - above;
            threshold.have = count;
        }
        above += count;
    }
}

//! A chunk's elements, one by one.
template <int32_t Size, typename T>
__device__ void spread(TopKElements<Size, T> const& loaded, T (&elements)[Size])
{
    if constexpr (Size == 1)
    {
        elements[0] = loaded.element;
    }
    else
    {
        memcpy(&elements, &loaded.packs, sizeof elements);
    }
}

//! A block has a row. Whole: rows are made of chunks of Size elements.
template <int32_t Threads, int32_t Size, bool Whole, typename Function, typename T, typename Out>
__global__ void __launch_bounds__(Threads)
    topKKernel(int64_t columns, int32_t k, Function const function, Output<Out> const y, Input<T> const x)
{
    __shared__ int32_t counts[kDigits];
    __shared__ int32_t scratch[Threads / static_cast<int32_t>(kLanes)];
    __shared__ Threshold shared;
    auto const thread = static_cast<int32_t>(threadIdx.x);
    auto const row = topKPlace<Size, Whole>(blockIdx.x, gridDim.x, columns);
    auto const order = Order<T>::make();
    // Nothing is known: all elements have those bits. If as many are wanted, or none, nothing else need be known.
    Threshold threshold{0, 0, k, static_cast<int32_t>(columns)};
    for (uint32_t shift = Order<T>::kBits; shift > 0 && threshold.wanted > 0 && threshold.wanted < threshold.have;)
    {
        shift -= kDigitBits;
        for (int32_t i = thread; i < kDigits; i += Threads)
        {
            counts[i] = 0;
        }
        if (thread == 0)
        {
            shared = threshold;
        }
        __syncthreads();
        for (int64_t chunk = thread; chunk < row.chunks; chunk += Threads)
        {
            auto const at = row.at(chunk);
            TopKElements<Size, T> loaded;
            loaded.load(x, at);
            T elements[Size];
            spread(loaded, elements);
#pragma unroll
            for (int32_t j = 0; j < Size; ++j)
            {
                uint32_t const number = order.of(elements[j]);
                if (at.has(j) && (number & threshold.mask) == threshold.number)
                {
                    atomicAdd(&counts[(number >> shift) % kDigits], 1);
                }
            }
        }
        __syncthreads();
        if (thread < static_cast<int32_t>(kLanes))
        {
            findDigit(counts, shift, shared);
        }
        __syncthreads();
        threshold = shared;
        __syncthreads(); // nobody clears the counts before all have read what was made of them
    }
    // Of equal elements the first ones are taken. Where all of them are, they need not be counted.
    bool const counted = threshold.wanted < threshold.have;
    int32_t equalBefore = 0;
    for (int64_t first = 0; first < row.chunks; first += Threads)
    {
        int64_t const chunk = first + thread;
        auto const at = row.at(chunk);
        TopKElements<Size, T> loaded{};
        T elements[Size]{};
        float numbers[Size]{};
        if (chunk < row.chunks)
        {
            loaded.load(x, at);
            loaded.unpack(x.scale, numbers);
        }
        spread(loaded, elements);
        int32_t equal = 0; // of the chunk
#pragma unroll
        for (int32_t j = 0; j < Size; ++j)
        {
            bool const is = chunk < row.chunks && at.has(j);
            equal += is && (order.of(elements[j]) & threshold.mask) == threshold.number ? 1 : 0;
        }
        int32_t total = 0;
        int32_t left = threshold.wanted; // of equal ones that are taken from this chunk on
        if (counted)
        {
            left -= equalBefore + countBefore(equal, total, scratch);
            equalBefore += total;
        }
        if (chunk >= row.chunks)
        {
            continue;
        }
        float results[Size];
#pragma unroll
        for (int32_t j = 0; j < Size; ++j)
        {
            uint32_t const number = order.of(elements[j]) & threshold.mask;
            bool const same = number == threshold.number && at.has(j);
            results[j] = function(numbers[j], number > threshold.number || (same && left > 0));
            left -= counted && same ? 1 : 0;
        }
        storeTopK(y, at, results);
    }
}

constexpr int32_t kTopKThreads = 256;

//! A block for each row, whose elements are read again.
template <typename Values, int32_t Size, bool Whole, typename Function, typename T, typename Out>
void launchTopKOf(cudaStream_t stream, uint32_t rows, int64_t columns, int32_t k, Function const& function,
                  Output<Out> y, Input<T> x) noexcept
{
    constexpr int32_t kThreads = Values::kThreads > 0 ? Values::kThreads : kTopKThreads;
    topKKernel<kThreads, Size, Whole><<<rows, kThreads, 0, stream>>>(columns, k, function, y, x);
}

template <typename Values, typename Function, typename T, typename Out>
void launchTopKBy(cudaStream_t stream, int64_t rows, int64_t columns, int32_t k, Function const& function,
                  Output<Out> y, Input<T> x) noexcept
{
    constexpr int32_t kSize = largest(Pack<T>::kSize, Pack<Out>::kSize);
    auto const blocks = static_cast<uint32_t>(rows);
    bool const packed = canPack(y.data, x.data);
    if (packed && columns % Pack<T>::kSize == 0 &&
        launchTopKRows<Values, true>(stream, rows, columns, k, function, y, x))
    {
        return;
    }
    if (packed && columns > Pack<T>::kSize && launchTopKRows<Values, false>(stream, rows, columns, k, function, y, x))
    {
        return;
    }
    packed&& columns % kSize == 0 ? launchTopKOf<Values, kSize, true>(stream, blocks, columns, k, function, y, x)
    : packed && columns > kSize   ? launchTopKOf<Values, kSize, false>(stream, blocks, columns, k, function, y, x)
                                  : launchTopKOf<Values, 1, true>(stream, blocks, columns, k, function, y, x);
}

} // namespace detail

//! Starts the kernel on a stream, which may be `tuned` (tuning.cuh), and returns at once; without elements it starts
//! nothing.
//!
//! x and y are matrices of rows x columns elements; y may be of another type than x, and is other memory. The function
//! gets each element's number and whether it is one of its row's k largest: all are where a row has no more, and of
//! equal ones the first are. A NaN is larger than infinity. At most 2^31 - 1 rows, and as many columns.
template <typename Function, typename T, typename Out, typename Stream>
cudaError_t launchTopK(Stream const& stream, int64_t rows, int64_t columns, int64_t k, Function const& function,
                       Output<Out> y, Input<T> x) noexcept
{
    constexpr int64_t kMost = 0x7FFFFFFF;
    if (rows < 0 || columns < 0 || k < 0 || rows > kMost || columns > kMost)
    {
        return cudaErrorInvalidValue;
    }
    if (rows == 0 || columns == 0)
    {
        return cudaSuccess; // a launch of no blocks is an error
    }
    auto const wanted = static_cast<int32_t>(k < columns ? k : columns);
    return launchWith(stream,
                      [&](cudaStream_t on, auto values)
                      {
                          detail::launchTopKBy<decltype(values)>(on, rows, columns, wanted, function, y, x);
                          return cudaGetLastError();
                      });
}

} // namespace pluginkit::kernels
