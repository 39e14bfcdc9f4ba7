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
//! A block has a row, in shared memory where it fits there (of 40 KiB at most), else in the caches. k elements are at
//! least as large as the k-th largest of the threads' largest ones, and few others, among which the row's k-th largest
//! is found bit by bit; where they are more than the block's threads (many equal ones, or a large k), among all of the
//! row's elements.
#pragma once

#include <pluginkit/kernels/launch.cuh>
#include <pluginkit/kernels/row_staged.cuh>
#include <pluginkit/kernels/rows.cuh>
#include <pluginkit/kernels/tuning.cuh>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace pluginkit::kernels
{

namespace detail
{

//! Elements as unsigned numbers in the same order. Both zeros are the same number, and all NaNs the largest.
template <typename T>
struct Order
{
    static_assert(sizeof(T) <= sizeof(uint32_t), "elements have at most 32 bits");
    static constexpr uint32_t kBits = 8 * sizeof(T);
    static constexpr uint32_t kSign = 1U << (kBits - 1);

    static constexpr uint32_t kMost = kSign | (kSign - 1); //!< a NaN's number

    uint32_t infinity; //!< its bits, or those of the largest number

    __device__ static uint32_t bitsOf(T element)
    {
        uint32_t bits = 0;
        memcpy(&bits, &element, sizeof element);
        return bits;
    }

    __device__ static Order make()
    {
        T most;
        toElement(most, INFINITY, 1.0F);
        return {bitsOf(most)};
    }

    __device__ uint32_t of(T element) const
    {
        uint32_t const bits = bitsOf(element);
        if constexpr (std::is_integral_v<T>)
        {
            return bits ^ kSign;
        }
        uint32_t const magnitude = bits & (kSign - 1);
        uint32_t const number = (bits & kSign) != 0 ? kSign - magnitude : kSign + magnitude;
        return magnitude > infinity ? 2 * kSign - 1 : number;
    }
};

//! The largest number of `bits` bits of which `count` says that at least k are not below it; bit by bit. All threads of
//! the block must call it, and get the same.
template <typename Count>
__device__ uint32_t largestOf(int32_t k, uint32_t bits, Count const& count)
{
    uint32_t number = 0;
    for (uint32_t bit = 1U << (bits - 1); bit > 0; bit >>= 1U)
    {
        number |= count(number | bit) >= k ? bit : 0U;
    }
    return number;
}

//! A row's k-th largest number. `wanted`: how many of those that equal it are among the k, of `have`.
struct Threshold
{
    uint32_t number;
    int32_t wanted;
    int32_t have;
};

//! A row's numbers, as a block of at most Threads threads reads them: thread by thread, one after another.
template <int32_t Threads, typename T>
struct TopKRow
{
    T const* data;
    int32_t columns;
    Order<T> order;
    int32_t (&counts)[2];
    uint32_t (&candidates)[Threads];

    template <typename Visit>
    __device__ void each(Visit const& visit) const
    {
        for (auto c = static_cast<int32_t>(threadIdx.x); c < columns; c += static_cast<int32_t>(blockDim.x))
        {
            visit(order.of(data[c]));
        }
    }

    //! How many are not below a number.
    __device__ int32_t count(uint32_t least) const
    {
        int32_t mine = 0;
        each([&](uint32_t number) { mine += number >= least ? 1 : 0; });
        mine = sumOfWarp(mine);
        if (threadIdx.x == 0)
        {
            counts[0] = 0;
        }
        __syncthreads();
        if (threadIdx.x % kLanes == 0)
        {
            atomicAdd(&counts[0], mine);
        }
        __syncthreads();
        int32_t const all = counts[0];
        __syncthreads(); // nobody clears it before all have read it
        return all;
    }

    //! k elements are not below the k-th largest of the threads' largest ones, and in most rows few others: as many as
    //! there are threads are searched without the rest.
    __device__ Threshold threshold(int32_t k) const
    {
        constexpr uint32_t kBits = Order<T>::kBits;
        auto const threads = static_cast<int32_t>(blockDim.x);
        int32_t found = threads + 1;
        if (k <= threads)
        {
            uint32_t mine = 0;
            each([&](uint32_t number) { mine = max(mine, number); });
            uint32_t const bound = largestOf(
                k, kBits, [&](uint32_t least) { return __syncthreads_count(mine >= least ? 1 : 0); });
            if (threadIdx.x == 0)
            {
                counts[1] = 0;
            }
            __syncthreads();
            each(
                [&](uint32_t number)
                {
                    int32_t const at = number >= bound ? atomicAdd(&counts[1], 1) : threads;
                    if (at < threads)
                    {
                        candidates[at] = number;
                    }
                });
            __syncthreads();
            found = counts[1];
        }
        if (found > threads)
        {
            uint32_t const number = largestOf(k, kBits, [&](uint32_t least) { return count(least); });
            int32_t const above = number == Order<T>::kMost ? 0 : count(number + 1);
            return {number, k - above, count(number) - above};
        }
        bool const has = static_cast<int32_t>(threadIdx.x) < found;
        uint32_t const mine = has ? candidates[threadIdx.x] : 0;
        uint32_t const number = largestOf(
            k, kBits, [&](uint32_t least) { return __syncthreads_count(mine >= least ? 1 : 0); });
        int32_t const above = __syncthreads_count(mine > number ? 1 : 0);
        return {number, k - above, __syncthreads_count(has && mine == number ? 1 : 0)};
    }
};

//! A block has a row, in shared memory where it fits there.
template <int32_t Threads, typename Function, typename T, typename Out>
__global__ void __launch_bounds__(Threads) topKKernel(int32_t columns, int32_t k, bool shared, Function const function,
                                                      Output<Out> const y, Input<T> const x)
{
    constexpr auto kInBlock = Threads / static_cast<int32_t>(kLanes);
    __shared__ int32_t counts[2];
    __shared__ uint32_t candidates[Threads];
    __shared__ int32_t scratch[kInBlock];
    extern __shared__ uint4 pluginkitStaged[];
    auto const thread = static_cast<int32_t>(threadIdx.x);
    int64_t const begin = int64_t{blockIdx.x} * columns;
    T const* data = x.data + begin;
    if (thread < kInBlock)
    {
        scratch[thread] = 0; // a block may have fewer warps
    }
    waitForStream();
    if (shared)
    {
        auto* const memory = reinterpret_cast<char*>(pluginkitStaged);
        RowTile const tile{begin, columns, int64_t{gridDim.x} * columns, columns};
        tile.load(x.data, memory);
        data = reinterpret_cast<T const*>(memory + tile.offset(sizeof(T)));
    }
    waitForTiles();
    TopKRow<Threads, T> const row{data, columns, Order<T>::make(), counts, candidates};
    Threshold threshold{0, 0, 0}; // all
    if (k < columns)
    {
        threshold = k > 0 ? row.threshold(k) : Threshold{Order<T>::kMost, 0, 1};
    }
    // Of equal elements the first ones are taken. Where all of them are, they need not be counted.
    bool const counted = threshold.wanted < threshold.have;
    int32_t left = threshold.wanted;
    for (int32_t first = 0; first < columns; first += static_cast<int32_t>(blockDim.x))
    {
        int32_t const c = first + thread;
        bool const has = c < columns;
        T const element = has ? data[c] : T{};
        uint32_t const number = row.order.of(element);
        bool const equal = has && number == threshold.number;
        bool among = number >= threshold.number;
        if (counted)
        {
            int32_t total = 0;
            int32_t const before = countBefore(equal ? 1 : 0, total, scratch);
            among = number > threshold.number || (equal && before < left);
            left -= total;
        }
        if (has)
        {
            y.set(begin + c, function(toNumber(element, x.scale), among));
        }
    }
}

template <typename Values, typename Function, typename T, typename Out>
void launchTopKBy(cudaStream_t stream, int64_t rows, int64_t columns, int32_t k, Function const& function,
                  Output<Out> y, Input<T> x) noexcept
{
    constexpr int64_t kEach = 16; // elements of a thread, unless the row has too many, or k is larger
    constexpr int64_t kMost = Values::kThreads > 0 ? Values::kThreads : 512;
    int64_t const wanted = Values::kThreads > 0 ? kMost : std::max<int64_t>(dividedUp(columns, kEach), k);
    auto const threads = static_cast<uint32_t>(std::min(dividedUp(wanted, kLanes) * kLanes, kMost));
    int64_t const bytes = columns * static_cast<int64_t>(sizeof(T)) + 2 * kPackBytes;
    bool const shared = canPack(x.data) && bytes <= kRowTileBytes - 8192;
    launchEarly(topKKernel<kMost, Function, T, Out>, static_cast<uint32_t>(rows),
                {threads, static_cast<size_t>(shared ? bytes : 0)}, stream, static_cast<int32_t>(columns), k, shared,
                function, y, x);
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
