//! For topk.cuh: rows that fit into registers, read once.
//!
//! Of each thread's elements the largest is known soon. k elements are at least as large as the k-th largest of those,
//! so that it is a bound: few elements are not below it, which are put in order one against another. Where there are
//! more than `kTopKCandidates` (many equal ones, or a large k), the bound is narrowed by counting, a bit of it at a
//! time.
#pragma once

#include <pluginkit/kernels/order.cuh>
#include <pluginkit/kernels/tensors.cuh>
#include <pluginkit/kernels/rows.cuh>

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace pluginkit::kernels::detail
{

//! Size neighbouring elements of a matrix. Whole: rows are made of chunks. If they aren't, a row's first and last chunk
//! are its neighbours', too.
template <int32_t Size, bool Whole>
struct TopKChunk
{
    int64_t index;    //!< in the matrix, counted in chunks
    int64_t column;   //!< of its first element; below 0, where that is of the row before
    int64_t columns;  //!< of a row
    bool last = true; //!< whether no row follows this one

    //! Whether all its elements are the row's.
    __device__ bool full() const
    {
        return Whole || (column >= 0 && column + Size <= columns);
    }

    __device__ bool has(int32_t j) const
    {
        return Whole || (column + j >= 0 && column + j < columns);
    }

    //! Whether all its elements are the tensor's.
    __device__ bool within() const
    {
        return Whole || !last || column + Size <= columns;
    }

    //! A bit for each element that is the row's: tested one by one, in far fewer instructions than columns compared.
    __device__ uint32_t present() const
    {
        constexpr uint32_t kAll = (uint32_t{1} << static_cast<uint32_t>(Size)) - 1;
        auto const before = static_cast<uint32_t>(Whole || column >= 0 ? 0 : -column);
        int64_t const over = Whole ? 0 : column + Size - columns;
        auto const behind = static_cast<uint32_t>(over <= 0 ? 0 : over < Size ? over : Size);
        return kAll << before & kAll >> behind;
    }
};

//! Whether a chunk's element j is among those whose bits are set.
inline __device__ bool isPresent(uint32_t present, int32_t j)
{
    return (present >> static_cast<uint32_t>(j) & 1U) != 0;
}

//! The most chunks that a row of so many elements has: one that isn't made of them may begin within a chunk, and end
//! within another.
template <int32_t Size, bool Whole>
__host__ __device__ constexpr int64_t topKChunks(int64_t columns)
{
    return Whole ? columns / Size : (columns + Size - 2) / Size + 1;
}

//! A row of a matrix.
template <int32_t Size, bool Whole>
struct TopKPlace
{
    int64_t row;     //!< its number
    int64_t columns; //!< its elements
    int64_t first;   //!< its first chunk
    int64_t chunks;  //!< 0 where there is no such row: then a thread only takes part in exchanges
    int32_t skipped; //!< elements of the first chunk before the row
    bool last;       //!< of the matrix

    __device__ TopKChunk<Size, Whole> at(int64_t chunk) const
    {
        return {first + chunk, chunk * Size - skipped, columns, last};
    }
};

template <int32_t Size, bool Whole>
__device__ TopKPlace<Size, Whole> topKPlace(int64_t row, int64_t rows, int64_t columns)
{
    int64_t const begin = row * columns;
    int64_t const first = begin / Size;
    auto const skipped = static_cast<int32_t>(Whole ? 0 : begin - first * Size);
    int64_t const chunks = Whole ? columns / Size : (skipped + columns + Size - 1) / Size;
    return {row, columns, Whole ? row * chunks : first, row < rows ? chunks : 0, skipped, row + 1 >= rows};
}

//! A chunk of a matrix as it is in memory. All of a thread's chunks are loaded before the first is converted: so many
//! loads are under way at once.
template <int32_t Size, typename T>
struct TopKElements
{
    static constexpr int32_t kPacks = kPacksOf<Size, T>;

    Pack<T> packs[kPacks];

    template <typename Chunk>
    __device__ void load(Input<T> const& in, Chunk const& chunk)
    {
        if (chunk.within())
        {
            loadPacks<Size>(in.data, chunk.index, packs); // what is of other rows in it counts for nothing
            return;
        }
        uint32_t const present = chunk.present();
        T elements[kPacks * Pack<T>::kSize] = {};
#pragma unroll
        for (int32_t j = 0; j < Size; ++j)
        {
            elements[j] = isPresent(present, j) ? in.data[chunk.index * Size + j] : T{};
        }
        memcpy(&packs, &elements, sizeof packs);
    }

    __device__ void unpack(float scale, float* numbers) const
    {
        unpackNumbers<Size>(packs, scale, numbers);
    }
};

template <typename T>
struct TopKElements<1, T>
{
    T element;

    template <bool Whole>
    __device__ void load(Input<T> const& in, TopKChunk<1, Whole> const& chunk)
    {
        if (chunk.full())
        {
            element = in.data[chunk.index];
        }
    }

    __device__ void unpack(float scale, float* numbers) const
    {
        numbers[0] = toNumber(element, scale);
    }
};

//! Some elements of a pack: those whose bits are set.
template <typename T>
__device__ void storeSome(T* tensor, int64_t index, Pack<T> const& pack, uint32_t present)
{
    T elements[Pack<T>::kSize];
    memcpy(&elements, &pack, sizeof elements);
    constexpr int32_t kInWord = static_cast<int32_t>(sizeof(uint32_t) / sizeof(T));
    constexpr uint32_t kAll = (uint32_t{1} << static_cast<uint32_t>(kInWord)) - 1;
#pragma unroll
    for (int32_t w = 0; w < kPackWords; ++w)
    {
        uint32_t const here = present >> static_cast<uint32_t>(w * kInWord) & kAll;
        if (here == kAll)
        {
            reinterpret_cast<uint32_t*>(tensor)[index * kPackWords + w] = pack.words[w];
        }
        else if (here != 0)
        {
#pragma unroll
            for (int32_t j = 0; j < kInWord; ++j)
            {
                if ((here >> static_cast<uint32_t>(j) & 1U) != 0)
                {
                    tensor[index * Pack<T>::kSize + w * kInWord + j] = elements[w * kInWord + j];
                }
            }
        }
    }
}

//! A chunk's results; elements that are of other rows stay as they are.
template <int32_t Size, bool Whole, typename T>
__device__ void storeTopK(Output<T> const& out, TopKChunk<Size, Whole> const& chunk, float const* numbers)
{
    if (chunk.full())
    {
        out.template store<Size>(chunk.index, numbers);
        return;
    }
    uint32_t const present = chunk.present();
    if constexpr (Size % Pack<T>::kSize == 0 && sizeof(T) <= sizeof(uint32_t))
    {
        constexpr int32_t kSize = Pack<T>::kSize;
#pragma unroll
        for (int32_t j = 0; j < Size; j += kSize)
        {
            Pack<T> pack;
            Conversion<T>::pack(pack, numbers + j, out.inverse);
            storeSome(out.data, (chunk.index * Size + j) / kSize, pack, present >> static_cast<uint32_t>(j));
        }
    }
    else
    {
#pragma unroll
        for (int32_t j = 0; j < Size; ++j)
        {
            if (isPresent(present, j))
            {
                out.set(chunk.index * Size + j, numbers[j]);
            }
        }
    }
}

//! What comes before this thread's number in its block of Warps warps; `total` is that of all.
template <int32_t Warps>
__device__ int32_t countBefore(int32_t number, int32_t& total, int32_t (&scratch)[Warps])
{
    auto const lane = static_cast<int32_t>(threadIdx.x % kLanes);
    auto const warp = static_cast<int32_t>(threadIdx.x / kLanes);
    int32_t const sum = warpCount(number);
    if (lane == static_cast<int32_t>(kLanes) - 1)
    {
        scratch[warp] = sum;
    }
    __syncthreads();
    int32_t before = 0;
    total = 0;
#pragma unroll
    for (int32_t w = 0; w < Warps; ++w)
    {
        before += w < warp ? scratch[w] : 0;
        total += scratch[w];
    }
    __syncthreads(); // nobody writes to scratch again before all have read it
    return before + sum - number;
}

constexpr int32_t kTopKRows = 4;      //!< of a block whose warps have a row each
constexpr int32_t kTopKResident = 28; //!< of those, on a multiprocessor
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
constexpr int32_t kTopKShortResident = 32; //!< of short ones: a multiprocessor has 1024 threads at most
#else
constexpr int32_t kTopKShortResident = 48;
#endif

//! Elements that are put in order, each compared with all others, by a warp or by a block.
template <bool Alone>
constexpr int32_t kTopKCandidates = Alone ? 96 : 256;

constexpr int32_t kLanesOf = static_cast<int32_t>(kLanes);

//! The numbers of a warp's lanes, the largest in the first lane.
inline __device__ uint32_t sortedDown(uint32_t number)
{
    uint32_t const lane = threadIdx.x % kLanes;
#pragma unroll
    for (uint32_t size = 2; size <= kLanes; size *= 2)
    {
#pragma unroll
        for (uint32_t distance = size / 2; distance > 0; distance /= 2)
        {
            uint32_t const other = __shfl_xor_sync(kWholeWarp, number, static_cast<int>(distance));
            bool const larger = ((lane & size) == 0) == ((lane & distance) == 0);
            number = larger ? max(number, other) : min(number, other);
        }
    }
    return number;
}

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
//! Over a warp's lanes, each of which gets the result: there is no instruction for it yet.
template <typename Number, typename Operation>
__device__ Number foldedWarp(Number number, Operation operation)
{
#pragma unroll
    for (uint32_t distance = kLanes / 2; distance > 0; distance /= 2)
    {
        number = operation(number, __shfl_xor_sync(kWholeWarp, number, static_cast<int>(distance)));
    }
    return number;
}
#endif

inline __device__ uint32_t leastOfWarp(uint32_t number)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
    return foldedWarp(number, [](uint32_t a, uint32_t b) { return min(a, b); });
#else
    return __reduce_min_sync(kWholeWarp, number);
#endif
}

inline __device__ uint32_t largestOfWarp(uint32_t number)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
    return foldedWarp(number, [](uint32_t a, uint32_t b) { return max(a, b); });
#else
    return __reduce_max_sync(kWholeWarp, number);
#endif
}

//! The threads that have a row: a block, or a warp of it.
template <bool Alone>
struct TopKGroup
{
    int32_t* scratch; //!< kWarps numbers

    __device__ static int32_t thread()
    {
        return static_cast<int32_t>(Alone ? threadIdx.x % kLanes : threadIdx.x);
    }

    __device__ static int32_t threads()
    {
        return static_cast<int32_t>(Alone ? kLanes : blockDim.x);
    }

    __device__ static int32_t warps()
    {
        return threads() / kLanesOf;
    }

    __device__ static void wait()
    {
        if constexpr (Alone)
        {
            __syncwarp();
        }
        else
        {
            __syncthreads();
        }
    }

    //! What the threads before this one have; `total` is what all have.
    __device__ int32_t before(int32_t number, int32_t& total) const
    {
        int32_t const sum = warpCount(number);
        int32_t const ofWarp = __shfl_sync(kWholeWarp, sum, kLanesOf - 1);
        total = ofWarp;
        int32_t first = 0;
        if constexpr (!Alone)
        {
            auto const lane = static_cast<int32_t>(threadIdx.x % kLanes);
            auto const warp = static_cast<int32_t>(threadIdx.x / kLanes);
            if (lane == 0)
            {
                scratch[warp] = ofWarp;
            }
            __syncthreads();
            int32_t const other = lane < warps() ? scratch[lane] : 0;
            total = sumOfWarp(other);
            first = sumOfWarp(lane < warp ? other : 0);
            __syncthreads(); // nobody writes to scratch again before all have read it
        }
        return first + sum - number;
    }

    __device__ int32_t sum(int32_t number) const
    {
        int32_t total = sumOfWarp(number);
        if constexpr (!Alone)
        {
            auto const lane = static_cast<int32_t>(threadIdx.x % kLanes);
            if (lane == 0)
            {
                scratch[threadIdx.x / kLanes] = total;
            }
            __syncthreads();
            total = sumOfWarp(lane < warps() ? scratch[lane] : 0);
            __syncthreads();
        }
        return total;
    }

    //! A number that k elements at least are not below, of each thread's largest one; 0 where that is not known.
    __device__ uint32_t bound(uint32_t most, int32_t k) const
    {
        int32_t const each = (k + warps() - 1) / warps(); // as many in each warp are k, too
        if (each > kLanesOf)
        {
            return 0;
        }
        uint32_t const sorted = sortedDown(most);
        uint32_t const some = __shfl_sync(kWholeWarp, sorted, each - 1);
        if constexpr (Alone)
        {
            return some;
        }
        else
        {
            uint32_t const all = k <= kLanesOf ? __shfl_sync(kWholeWarp, sorted, k - 1) : 0;
            auto const lane = static_cast<int32_t>(threadIdx.x % kLanes);
            auto* const pairs = reinterpret_cast<uint32_t*>(scratch);
            if (lane == 0)
            {
                pairs[threadIdx.x / kLanes] = some;
                pairs[kWarps + threadIdx.x / kLanes] = all;
            }
            __syncthreads();
            uint32_t const least = leastOfWarp(lane < warps() ? pairs[lane] : 0xFFFFFFFFU);
            uint32_t const largest = largestOfWarp(lane < warps() ? pairs[kWarps + lane] : 0);
            __syncthreads();
            return max(least, largest);
        }
    }
};

//! A thread's part of a row: some packs, and a bit for each of their elements.
template <typename T, int32_t Packs, bool Whole>
struct TopKPart
{
    static constexpr int32_t kSize = Pack<T>::kSize;
    static constexpr auto kIn = static_cast<int32_t>(PackedOrder<T>::kIn);
    static constexpr int32_t kWords = 32 / kIn; //!< whose bits are in one word
    static constexpr int32_t kMarks = (Packs * kPackWords + kWords - 1) / kWords;

    TopKElements<kSize, T> packs[Packs];
    uint32_t marks[kMarks];

    //! Where the bit of element j of a pack is.
    __device__ static constexpr int32_t bitOf(int32_t pack, int32_t j)
    {
        return j % kIn * kWords + (pack * kPackWords + j / kIn) % kWords;
    }

    //! Where those of all of a pack's elements are.
    __device__ static constexpr uint32_t bitsOf(int32_t pack)
    {
        uint32_t bits = 0;
        for (int32_t j = 0; j < kSize; ++j)
        {
            bits |= 1U << static_cast<uint32_t>(bitOf(pack, j));
        }
        return bits;
    }

    __device__ bool has(int32_t pack, int32_t j) const
    {
        return (marks[pack * kPackWords / kWords] >> static_cast<uint32_t>(bitOf(pack, j)) & 1U) != 0;
    }

    //! Marks the elements that are not below a number.
    __device__ void mark(Order<T> const& order, uint32_t number)
    {
        uint32_t bound = order.bitsAt(number);
#pragma unroll
        for (int32_t copies = 1; copies < kIn; copies *= 2)
        {
            bound |= bound << static_cast<uint32_t>(32 / kIn * copies);
        }
        if (number <= order.largest())
        {
            markBy<false>(bound);
        }
        else
        {
            markBy<true>(bound);
        }
    }

    template <bool Nan>
    __device__ void markBy(uint32_t bound)
    {
#pragma unroll
        for (uint32_t& some : marks)
        {
            some = 0;
        }
#pragma unroll
        for (int32_t word = 0; word < Packs * kPackWords; ++word)
        {
            PackedOrder<T>::template mark<Nan>(marks[word / kWords],
                                               packs[word / kPackWords].packs[0].words[word % kPackWords], bound,
                                               static_cast<uint32_t>(word % kWords));
        }
    }

    __device__ int32_t marked() const
    {
        int32_t number = 0;
#pragma unroll
        for (uint32_t const some : marks)
        {
            number += __popc(some);
        }
        return number;
    }
};

//! A group of threads has a row.
template <typename T, int32_t Packs, bool Whole, bool Alone>
struct TopKRow
{
    using Part = TopKPart<T, Packs, Whole>;
    static constexpr int32_t kSize = Part::kSize;

    TopKGroup<Alone> group;
    TopKPlace<kSize, Whole> row;
    Order<T> order;
    uint64_t* candidates; //!< kTopKCandidates: an element's number, and below it the complement of its column
    bool* among;          //!< of each, whether it is one of the k largest
    Part part;

    __device__ TopKChunk<kSize, Whole> at(int32_t pack) const
    {
        return row.at(static_cast<int64_t>(pack) * group.threads() + group.thread());
    }

    __device__ bool has(int32_t pack) const
    {
        return static_cast<int64_t>(pack) * group.threads() + group.thread() < row.chunks;
    }

    //! All packs; what isn't the row's is the least number.
    __device__ void load(Input<T> const& x, T least)
    {
        T none[kSize];
#pragma unroll
        for (T& element : none)
        {
            element = least;
        }
#pragma unroll
        for (int32_t c = 0; c < Packs; ++c)
        {
            memcpy(&part.packs[c].packs, &none, sizeof none);
            if (has(c))
            {
                part.packs[c].load(x, at(c));
            }
        }
        if constexpr (!Whole)
        {
#pragma unroll
            for (int32_t c = 0; c < Packs; ++c)
            {
                if (has(c) && !at(c).full())
                {
                    uint32_t const present = at(c).present();
                    T elements[kSize];
                    memcpy(&elements, &part.packs[c].packs, sizeof elements);
#pragma unroll
                    for (int32_t j = 0; j < kSize; ++j)
                    {
                        elements[j] = isPresent(present, j) ? elements[j] : least;
                    }
                    memcpy(&part.packs[c].packs, &elements, sizeof elements);
                }
            }
        }
    }

    //! Marks what is not below a number; how many elements of the row that are.
    __device__ int32_t mark(uint32_t number, uint32_t least)
    {
        part.mark(order, number);
        if (number <= least) // rarely: all elements, and what isn't the row's
        {
#pragma unroll
            for (int32_t c = 0; c < Packs; ++c)
            {
                keep(c, has(c) ? at(c).present() : 0);
            }
        }
        return part.marked();
    }

    //! Leaves the marks of those elements of a pack whose bits are set.
    __device__ void keep(int32_t pack, uint32_t elements)
    {
        uint32_t& marks = part.marks[pack * kPackWords / Part::kWords];
#pragma unroll
        for (int32_t j = 0; j < kSize; ++j)
        {
            marks &= isPresent(elements, j) ? ~0U : ~(1U << static_cast<uint32_t>(Part::bitOf(pack, j)));
        }
    }

    //! The column of a marked element.
    __device__ int32_t column(int32_t marks, int32_t bit) const
    {
        int32_t const word = marks * Part::kWords + bit % Part::kWords;
        int32_t const chunk = word / kPackWords * group.threads() + group.thread();
        return chunk * kSize + word % kPackWords * Part::kIn + bit / Part::kWords - row.skipped;
    }

    //! Leaves the marks of the k largest of `count` candidates, of which `before` are of threads before this one.
    __device__ void rank(Input<T> const& x, int32_t before, int32_t count, int32_t k)
    {
        int32_t slot = before;
#pragma unroll
        for (int32_t m = 0; m < Part::kMarks; ++m)
        {
            for (uint32_t left = part.marks[m]; left != 0; left &= left - 1)
            {
                int32_t const place = column(m, __ffs(static_cast<int>(left)) - 1);
                uint32_t const number = order.of(x.data[row.row * row.columns + place]);
                candidates[slot++] = uint64_t{number} << 32U | ~static_cast<uint32_t>(place);
            }
        }
        group.wait();
#pragma unroll 1
        for (int32_t own = group.thread(); own < count; own += group.threads())
        {
            uint64_t const mine = candidates[own];
            int32_t larger = 0;
#pragma unroll 4
            for (int32_t other = 0; other < count; ++other)
            {
                larger += candidates[other] > mine ? 1 : 0;
            }
            among[own] = larger < k;
        }
        group.wait();
        slot = before;
#pragma unroll
        for (int32_t m = 0; m < Part::kMarks; ++m)
        {
            for (uint32_t left = part.marks[m]; left != 0; left &= left - 1)
            {
                part.marks[m] &= among[slot++] ? ~0U : ~(left & (~left + 1));
            }
        }
        group.wait(); // nobody writes the next row's candidates before all have read these
    }

    //! Leaves the marks of the first `wanted` marked elements, and sets those of `above`.
    __device__ void keepFirst(int32_t wanted, uint32_t const (&above)[Part::kMarks])
    {
#pragma unroll
        for (int32_t c = 0; c < Packs; ++c)
        {
            uint32_t& marks = part.marks[c * kPackWords / Part::kWords];
            uint32_t const bits = Part::bitsOf(c);
            if (wanted <= 0)
            {
                marks &= ~bits;
                continue;
            }
            int32_t total = 0;
            int32_t const mine = __popc(marks & bits);
            int32_t left = wanted - group.before(mine, total);
            if (total > wanted && left < mine)
            {
#pragma unroll
                for (int32_t j = 0; j < kSize; ++j)
                {
                    uint32_t const bit = 1U << static_cast<uint32_t>(Part::bitOf(c, j));
                    left -= (marks & bit) != 0 ? 1 : 0;
                    marks &= left < 0 ? ~bit : ~0U;
                }
            }
            wanted -= total;
        }
#pragma unroll
        for (int32_t m = 0; m < Part::kMarks; ++m)
        {
            part.marks[m] |= above[m];
        }
    }

    //! Leaves the marks of the first k elements that are not below `low`, after all that are not below `high`, the next
    //! number, of which there are `above`, less than k.
    __device__ void keepEqual(uint32_t low, uint32_t high, int32_t above, uint32_t least, int32_t k)
    {
        uint32_t larger[Part::kMarks] = {};
        if (above > 0)
        {
            mark(high, least);
#pragma unroll
            for (int32_t m = 0; m < Part::kMarks; ++m)
            {
                larger[m] = part.marks[m];
            }
        }
        mark(low, least);
#pragma unroll
        for (int32_t m = 0; m < Part::kMarks; ++m)
        {
            part.marks[m] &= ~larger[m];
        }
        keepFirst(k - above, larger);
    }

    //! Marks the k largest elements; 0 < k < columns.
    __device__ void select(Input<T> const& x, T leastElement, int32_t k)
    {
        uint32_t const least = order.of(leastElement);
        auto largest = PackedOrder<T>::begin(part.packs[0].packs[0].words[0]);
#pragma unroll
        for (int32_t word = 0; word < Packs * kPackWords; ++word)
        {
            largest.larger(part.packs[word / kPackWords].packs[0].words[word % kPackWords]);
        }
        uint32_t low = group.bound(largest.number(order), k);
        low = min(max(low, least), order.largest() + 1); // that of NaNs
        int32_t count = 0;
        int32_t before = group.before(mark(low, least), count);
        bool const many = count > kTopKCandidates<Alone> || (count > kLanesOf && count > 2 * k);
        if (many && count > k)
        {
            // k elements or more are not below `low`, fewer than k not below `high`, of which there are `above`. Most
            // often many are equal to `low`, so that its next number is tried first.
            uint32_t high = order.largest() + 2;
            int32_t above = 0;
            for (uint32_t number = low + 1; high - low > 1; number = low + (high - low) / 2)
            {
                int32_t const found = group.sum(mark(number, least));
                if (found < k)
                {
                    high = number;
                    above = found;
                    continue;
                }
                low = number;
                count = found;
                if (count <= kTopKCandidates<Alone> || count == k)
                {
                    break;
                }
            }
            if (high - low == 1 && count > k)
            {
                keepEqual(low, high, above, least, k);
                return;
            }
            before = group.before(mark(low, least), count);
        }
        if (count > k)
        {
            rank(x, before, count, k);
        }
    }
};

//! Blocks of Rows rows, on a multiprocessor.
template <int32_t Rows, int32_t Packs>
constexpr int32_t kTopKBlocks = std::max((Packs > 2 ? kTopKResident : kTopKShortResident) / Rows, 1);

//! Alone: each of a block's warps has a row. Else Rows is 1.
template <int32_t Rows, int32_t Packs, bool Whole, bool Alone, typename Function, typename T, typename Out>
__global__ void __launch_bounds__(Alone ? Rows * kLanesOf : 1024, Alone ? kTopKBlocks<Rows, Packs> : 1)
    topKRowsKernel(int64_t rows, int64_t columns, int32_t k, Function const function, Output<Out> const y,
                   Input<T> const x)
{
    __shared__ uint64_t candidates[Rows][kTopKCandidates<Alone>];
    __shared__ bool among[Rows][kTopKCandidates<Alone>];
    __shared__ int32_t scratch[2 * kWarps];
    int32_t const own = Alone ? static_cast<int32_t>(threadIdx.x / kLanes) : 0;
    int64_t const number = static_cast<int64_t>(blockIdx.x) * Rows + own;
    if (number >= rows)
    {
        return; // all threads of the group do
    }
    TopKRow<T, Packs, Whole, Alone> group{{scratch},        topKPlace<Pack<T>::kSize, Whole>(number, rows, columns),
                                          Order<T>::make(), candidates[own],
                                          among[own],       {}};
    T least;
    toElement(least, -INFINITY, 1.0F);
    group.load(x, least);
    if (k > 0 && k < columns)
    {
        group.select(x, least, k);
    }
#pragma unroll
    for (int32_t c = 0; c < Packs; ++c)
    {
        if (group.has(c))
        {
            float numbers[Pack<T>::kSize];
            float results[Pack<T>::kSize];
            group.part.packs[c].unpack(x.scale, numbers);
#pragma unroll
            for (int32_t j = 0; j < Pack<T>::kSize; ++j)
            {
                results[j] = function(numbers[j], k > 0 && (k >= columns || group.part.has(c, j)));
            }
            storeTopK(y, group.at(c), results);
        }
    }
}

//! A block for each row, in which a thread has at most Packs packs; false where a row is too long for it.
template <int32_t Packs, bool Whole, typename Function, typename T, typename Out>
bool launchTopKRow(cudaStream_t stream, int64_t rows, int64_t columns, int32_t k, Function const& function,
                   Output<Out> y, Input<T> x) noexcept
{
    int64_t const chunks = topKChunks<Pack<T>::kSize, Whole>(columns);
    int64_t const warps = (chunks + Packs * kLanesOf - 1) / (Packs * kLanesOf);
    if (warps > static_cast<int64_t>(kWarps))
    {
        return false;
    }
    topKRowsKernel<1, Packs, Whole, false>
        <<<static_cast<uint32_t>(rows), static_cast<uint32_t>(warps) * kLanes, 0, stream>>>(rows, columns, k, function,
                                                                                            y, x);
    return true;
}

//! Starts the kernel for rows that fit into registers; false where they don't.
template <typename Values, bool Whole, typename Function, typename T, typename Out>
bool launchTopKRows(cudaStream_t stream, int64_t rows, int64_t columns, int32_t k, Function const& function,
                    Output<Out> y, Input<T> x) noexcept
{
    constexpr int32_t kFew = 2; // packs of a thread
    constexpr int32_t kMany = 8;
    if constexpr (!PackedOrder<T>::kKnown)
    {
        return false;
    }
    else
    {
        constexpr int32_t kRows = Values::kThreads > 0 ? Values::kThreads / kLanesOf : kTopKRows;
        auto const blocks = static_cast<uint32_t>((rows + kRows - 1) / kRows);
        constexpr uint32_t kThreads = kRows * kLanes;
        int64_t const chunks = topKChunks<Pack<T>::kSize, Whole>(columns);
        if constexpr (Values::kPacks > 0)
        {
            constexpr int32_t kPacks = std::min(Values::kPacks, kMany);
            if (chunks > kPacks * kLanesOf && launchTopKRow<kPacks, Whole>(stream, rows, columns, k, function, y, x))
            {
                return true;
            }
        }
        if (chunks <= kFew * kLanesOf)
        {
            topKRowsKernel<kRows, kFew, Whole, true><<<blocks, kThreads, 0, stream>>>(rows, columns, k, function, y, x);
            return true;
        }
        if (chunks <= kMany * kLanesOf)
        {
            topKRowsKernel<kRows, kMany, Whole, true>
                <<<blocks, kThreads, 0, stream>>>(rows, columns, k, function, y, x);
            return true;
        }
        return launchTopKRow<kMany, Whole>(stream, rows, columns, k, function, y, x);
    }
}

} // namespace pluginkit::kernels::detail
