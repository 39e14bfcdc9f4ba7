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
//! is found bit by bit; where they are more than the block's threads (many equal ones, or a large k), and of elements
//! of one byte, by counting all elements, eight bits at a time.
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

constexpr int32_t kTopKThreads = 1024; //!< of a block, at most
constexpr auto kLanesOf = static_cast<int32_t>(kLanes);

//! The k-th largest of some numbers in shared memory, by a warp.
template <typename T>
__device__ uint32_t largestOfSome(uint32_t const* numbers, int32_t count, int32_t k)
{
    return largestOf(k, Order<T>::kBits,
                     [&](uint32_t least)
                     {
                         int32_t mine = 0;
                         for (auto i = static_cast<int32_t>(threadIdx.x % kLanes); i < count; i += kLanesOf)
                         {
                             mine += numbers[i] >= least ? 1 : 0;
                         }
                         return sumOfWarp(mine);
                     });
}

constexpr int32_t kDigits = 256;

//! What the threads of a block that has a row write for one another.
struct TopKMemory
{
    uint32_t numbers[kTopKThreads]; //!< the threads' largest ones, then those that are not below the bound
    int32_t counts[kDigits];
    int32_t found;
    uint32_t bound;
    Threshold threshold;
};

//! A row's numbers, as a block reads them: thread by thread, one after another.
template <typename T>
struct TopKRow
{
    T const* data;
    int32_t columns;
    Order<T> order;
    TopKMemory& memory;

    template <typename Visit>
    __device__ void each(Visit const& visit) const
    {
        for (auto c = static_cast<int32_t>(threadIdx.x); c < columns; c += static_cast<int32_t>(blockDim.x))
        {
            visit(order.of(data[c]));
        }
    }

    //! k elements are not below the k-th largest of the largest ones of as many parts of the row, and in most rows few
    //! others, which are searched without the rest. False where they are more than there are threads.
    __device__ bool search(int32_t k) const
    {
        constexpr int32_t kPart = 8; // threads
        auto const threads = static_cast<int32_t>(blockDim.x);
        auto const thread = static_cast<int32_t>(threadIdx.x);
        bool const parts = 2 * kPart * k <= threads;
        uint32_t mine = 0;
        each([&](uint32_t number) { mine = max(mine, number); });
        for (int32_t distance = 1; parts && distance < kPart; distance *= 2)
        {
            mine = max(mine, __shfl_xor_sync(kWholeWarp, mine, distance));
        }
        if (!parts || thread % kPart == 0)
        {
            memory.numbers[parts ? thread / kPart : thread] = mine;
        }
        __syncthreads();
        if (thread < kLanesOf)
        {
            memory.bound = largestOfSome<T>(memory.numbers, parts ? threads / kPart : threads, k);
            memory.found = 0;
        }
        __syncthreads();
        uint32_t const bound = memory.bound;
        each(
            [&](uint32_t number)
            {
                int32_t const at = number >= bound ? atomicAdd(&memory.found, 1) : threads;
                if (at < threads)
                {
                    memory.numbers[at] = number;
                }
            });
        __syncthreads();
        int32_t const found = memory.found;
        if (found <= threads && thread < kLanesOf)
        {
            uint32_t const number = largestOfSome<T>(memory.numbers, found, k);
            int32_t above = 0;
            int32_t same = 0;
            for (int32_t i = thread; i < found; i += kLanesOf)
            {
                above += memory.numbers[i] > number ? 1 : 0;
                same += memory.numbers[i] == number ? 1 : 0;
            }
            memory.threshold = {number, k - sumOfWarp(above), sumOfWarp(same)};
        }
        __syncthreads();
        return found <= threads;
    }

    //! Eight bits of the number at a time: of how many elements have each value of them.
    __device__ void count(int32_t k) const
    {
        auto const threads = static_cast<int32_t>(blockDim.x);
        auto const thread = static_cast<int32_t>(threadIdx.x);
        Threshold threshold{0, k, columns};
        uint32_t known = 0;
        for (uint32_t shift = Order<T>::kBits; shift > 0;)
        {
            shift -= 8;
            for (int32_t i = thread; i < kDigits; i += threads)
            {
                memory.counts[i] = 0;
            }
            __syncthreads();
            each(
                [&](uint32_t number)
                {
                    if ((number & known) == threshold.number)
                    {
                        atomicAdd(&memory.counts[number >> shift & 0xFFU], 1);
                    }
                });
            __syncthreads();
            if (thread < kLanesOf)
            {
                findDigit(threshold, shift);
            }
            __syncthreads();
            threshold = memory.threshold;
            known |= 0xFFU << shift;
        }
    }

    //! By a warp, the lane that knows it writes it.
    __device__ void findDigit(Threshold const& before, uint32_t shift) const
    {
        constexpr int32_t kEach = kDigits / kLanesOf;
        int32_t const last = kDigits - 1 - static_cast<int32_t>(threadIdx.x) * kEach; // from the largest digit down
        int32_t mine = 0;
#pragma unroll
        for (int32_t j = 0; j < kEach; ++j)
        {
            mine += memory.counts[last - j];
        }
        int32_t above = warpCount(mine) - mine;
        for (int32_t j = 0; j < kEach; ++j)
        {
            int32_t const count = memory.counts[last - j];
            if (above < before.wanted && before.wanted <= above + count)
            {
                memory.threshold = {before.number | static_cast<uint32_t>(last - j) << shift, before.wanted - above,
                                    count};
            }
            above += count;
        }
    }

    //! Of k elements, at least one and not all.
    __device__ Threshold threshold(int32_t k) const
    {
        if (Order<T>::kBits == 8 || k > static_cast<int32_t>(blockDim.x) || !search(k))
        {
            count(k);
        }
        return memory.threshold;
    }
};

//! A block has a row, in shared memory where it fits there.
template <int32_t Threads, typename Function, typename T, typename Out>
__global__ void __launch_bounds__(Threads)
    topKKernel(int32_t columns, int32_t k, bool shared, Function const function, Output<Out> const y, Input<T> const x)
{
    constexpr auto kInBlock = Threads / static_cast<int32_t>(kLanes);
    __shared__ TopKMemory shares;
    __shared__ int32_t scratch[kInBlock];
    extern __shared__ uint4 pluginkitStaged[];
    int64_t const begin = int64_t{blockIdx.x} * columns;
    T const* data = x.data + begin;
    waitForStream();
    if (shared)
    {
        auto* const memory = reinterpret_cast<char*>(pluginkitStaged);
        RowTile const tile{begin, columns, int64_t{gridDim.x} * columns, columns};
        tile.load(x.data, memory);
        data = reinterpret_cast<T const*>(memory + tile.offset(sizeof(T)));
    }
    waitForTiles();
    TopKRow<T> const row{data, columns, Order<T>::make(), shares};
    Threshold threshold{0, 0, 0}; // all
    if (k < columns)
    {
        threshold = k > 0 ? row.threshold(k) : Threshold{Order<T>::kMost, 0, 1};
    }
    // A warp has neighbouring elements. Of equal ones the first are taken; where all of them are, they need not be
    // counted.
    bool const counted = threshold.wanted < threshold.have;
    auto const lane = static_cast<int32_t>(threadIdx.x % kLanes);
    auto const warp = static_cast<int32_t>(threadIdx.x / kLanes);
    int32_t const each = (columns + static_cast<int32_t>(blockDim.x) - 1) / static_cast<int32_t>(blockDim.x) * kLanesOf;
    int32_t const from = warp * each;
    int32_t const to = min(from + each, columns);
    auto const equals = [&](int32_t c)
    { return __ballot_sync(kWholeWarp, c < to && row.order.of(data[c]) == threshold.number ? 1 : 0); };
    int32_t before = 0; // equal ones
    if (counted)
    {
        int32_t mine = 0;
        for (int32_t c = from + lane; c - lane < to; c += kLanesOf)
        {
            mine += __popc(equals(c));
        }
        if (lane == 0)
        {
            scratch[warp] = mine;
        }
        __syncthreads();
        for (int32_t w = 0; w < warp; ++w)
        {
            before += scratch[w];
        }
    }
    for (int32_t c = from + lane; c - lane < to; c += kLanesOf)
    {
        T const element = data[c < to ? c : 0];
        uint32_t const number = row.order.of(element);
        bool among = number >= threshold.number;
        if (counted)
        {
            uint32_t const equal = equals(c);
            int32_t const rank = before + __popc(equal & ((1U << static_cast<uint32_t>(lane)) - 1U));
            among = number > threshold.number || (number == threshold.number && rank < threshold.wanted);
            before += __popc(equal);
        }
        if (c < to)
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
