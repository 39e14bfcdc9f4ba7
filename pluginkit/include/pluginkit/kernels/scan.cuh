//! Running sums and the like along each row of a matrix, at the speed of the memory: element i of a row's result is the
//! operation over elements 0 to i.
//!
//!     kernels::launchScan(stream, rows, columns, kernels::Sum{}, kernels::output<__half>(y),
//!     kernels::input<__half>(x));
//!
//! Rows that are made of packs are loaded straight into registers, by a part of a warp or by a block each. Others go
//! through shared memory. Where there are few rows and they are long, blocks share them if they are given a workspace.
#pragma once

#include <pluginkit/kernels/launch.cuh>
#include <pluginkit/kernels/rows.cuh>
#include <pluginkit/kernels/tensors.cuh>
#include <pluginkit/kernels/tuning.cuh>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace pluginkit::kernels
{

namespace detail
{

//! The operation over the values of a group's threads up to this one, `lane` of `lanes` neighbours in a warp.
template <typename Operation>
__device__ float scanOfLanes(float value, Operation operation, uint32_t lane, uint32_t lanes)
{
#pragma unroll
    for (uint32_t distance = 1; distance < kLanes; distance *= 2)
    {
        if (distance >= lanes)
        {
            break;
        }
        float const other = __shfl_up_sync(kWholeWarp, value, distance);
        value = lane >= distance ? operation(other, value) : value;
    }
    return value;
}

//! What comes before this thread, of what `scanOfLanes` gave.
template <typename Operation>
__device__ float beforeLane(float sum, uint32_t lane, Operation /*operation*/)
{
    float const before = __shfl_up_sync(kWholeWarp, sum, 1);
    return lane > 0 ? before : Operation::kIdentity;
}

} // namespace detail

//! What comes before this thread's value in its group of Lanes neighbouring threads: `operation` over the values of the
//! group's threads below. `total` is that of all in the group. All 32 threads of the warp must call it.
template <uint32_t Lanes, typename Operation>
__device__ float warpScan(float value, Operation operation, float& total)
{
    uint32_t const lane = threadIdx.x % Lanes;
    float const sum = detail::scanOfLanes(value, operation, lane, Lanes);
    total = __shfl_sync(kWholeWarp, sum, static_cast<int>(Lanes - 1), static_cast<int>(Lanes));
    return detail::beforeLane(sum, lane, operation);
}

namespace detail
{

//! What comes before a warp in its block, whose value each of its threads gives; `total` is that of the block. One
//! barrier: nobody may write to `scratch` again before the next one.
template <typename Operation>
__device__ float scanBeforeWarp(float ofWarp, Operation operation, float* scratch, float& total)
{
    uint32_t const lane = threadIdx.x % kLanes;
    uint32_t const warp = threadIdx.x / kLanes;
    uint32_t const warps = blockDim.x / kLanes;
    total = ofWarp;
    if (warps == 1)
    {
        return Operation::kIdentity;
    }
    if (lane == 0)
    {
        scratch[warp] = ofWarp;
    }
    __syncthreads();
    float const mine = lane < warps ? scratch[lane] : Operation::kIdentity;
    float const before = warpScan<kLanes>(mine, operation, total);
    return __shfl_sync(kWholeWarp, before, static_cast<int>(warp));
}

} // namespace detail

//! The same in a block of one dimension, a multiple of 32 threads, all of which must call it. `scratch` is shared
//! memory of `kWarps` floats; it may be used again at once.
template <typename Operation>
__device__ float blockScan(float value, Operation operation, float* scratch, float& total)
{
    float ofWarp = 0.0F;
    float const before = warpScan<kLanes>(value, operation, ofWarp);
    float const start = detail::scanBeforeWarp(ofWarp, operation, scratch, total);
    __syncthreads(); // nobody writes to scratch again before all have read it
    return operation(start, before);
}

namespace detail
{

constexpr int32_t kScanThreads = 512;               //!< of a block that has a row, at most
constexpr int32_t kScanStagedThreads = 128;         //!< of a block whose rows go through shared memory
constexpr int32_t kScanStagedBytes = 32768;         //!< of those, at most
constexpr int32_t kScanLongBytes = 16384;           //!< of rows of which a block has twice as many threads
constexpr int32_t kScanThreadBytes = 256;           //!< of a row that a thread has, at most
constexpr int32_t kScanTileChunks = 1024;           //!< of a block that has a tile of a row
constexpr int64_t kScanManyRows = 1024;             //!< enough for all multiprocessors, a block each
constexpr int64_t kScanVeryManyRows = 65536;        //!< enough for them, a thread each
constexpr int64_t kLongColumns = 32768;             //!< of rows that are worth to be shared
constexpr int64_t kMostColumns = int64_t{1} << 31U; //!< of rows that can be

//! How a row is loaded: in chunks, whole packs, straight into registers, by some threads of a warp or by a block; or by
//! way of shared memory.
enum class ScanLoader : int32_t
{
    kGroup,
    kBlock,
    kStaged,
};

struct ScanPolicy
{
    ScanLoader loader;
    int32_t threads; //!< that have a row
    int32_t each;    //!< chunks of a thread, or units of staged ones; of longer rows in a turn
};

//! What runs for rows that are made of chunks.
constexpr ScanPolicy scanPolicy(int64_t rows, int64_t chunks, int32_t size) noexcept
{
    constexpr int32_t kWarp = static_cast<int32_t>(kLanes);
    int32_t threads = 1;
    while (threads < kWarp && threads < chunks)
    {
        threads *= 2;
    }
    // More chunks of 16 elements don't fit into registers.
    int32_t const ofGroup = chunks <= kWarp ? 1 : chunks <= 2 * kWarp ? 2 : size < 16 && chunks <= 4 * kWarp ? 4 : 0;
    if (ofGroup == 1 || (ofGroup > 1 && rows > kScanManyRows))
    {
        return {ScanLoader::kGroup, threads, ofGroup};
    }
    int32_t const each = size >= 16 || chunks <= kScanThreads ? 1 : chunks <= 2 * kScanThreads ? 2 : 4;
    int64_t const needed = (chunks + each * kWarp - 1) / (each * kWarp) * kWarp;
    return {ScanLoader::kBlock, static_cast<int32_t>(std::min<int64_t>(needed, kScanThreads)), each};
}

//! What runs for others. Unit: elements that are read together from shared memory; `bytes` of an element there. A
//! thread has an odd number of units, so that threads side by side read different banks.
constexpr ScanPolicy stagedScanPolicy(int64_t rows, int64_t columns, int32_t unit, int32_t bytes) noexcept
{
    constexpr int32_t kShort = 32; // elements of a thread, unless that takes more than a warp
    constexpr int32_t kWarp = static_cast<int32_t>(kLanes);
    int64_t const units = columns / unit;
    if (unit > 1 && rows >= kScanVeryManyRows && columns * bytes <= kScanThreadBytes)
    {
        return {ScanLoader::kStaged, 1, static_cast<int32_t>(units) | 1};
    }
    int32_t threads = 1;
    while (threads < kWarp && units > int64_t{threads} * (kShort / unit))
    {
        threads *= 2;
    }
    int32_t const block = columns * bytes > kScanLongBytes ? 2 * kScanStagedThreads : kScanStagedThreads;
    int64_t most = std::min(2 * kShort, kScanStagedBytes / kScanStagedThreads / bytes) / unit;
    if (units > most * threads)
    {
        threads = block;
        most = std::min(2 * kShort, kScanStagedBytes / block / bytes) / unit;
    }
    int64_t const turns = (units + most * threads - 1) / (most * threads);
    return {ScanLoader::kStaged, threads, static_cast<int32_t>((units + turns * threads - 1) / (turns * threads)) | 1};
}

template <int32_t Size, typename Operation>
__device__ void scanChunk(Operation operation, float (&numbers)[Size])
{
#pragma unroll
    for (int32_t j = 1; j < Size; ++j)
    {
        numbers[j] = operation(numbers[j - 1], numbers[j]);
    }
}

//! Stores a chunk's numbers, each behind `start`.
template <int32_t Size, typename Operation, typename Out>
__device__ void storeScanned(Output<Out> const& out, int64_t chunk, Operation operation, float start,
                             float (&numbers)[Size])
{
#pragma unroll
    for (int32_t j = 0; j < Size; ++j)
    {
        numbers[j] = operation(start, numbers[j]);
    }
    out.template store<Size>(chunk, numbers);
}

//! Loads and scans a thread's chunks of a row, `first` and those `lanes` further on, of a group of so many threads;
//! `before` is what comes before each in the group's. Chunks that the row hasn't count for nothing. Returns what all
//! are, if Total says that it is wanted.
template <bool Total, int32_t Size, int32_t Chunks, typename Operation, typename In>
__device__ float scanChunks(Input<In> const& in, int64_t row, int64_t chunks, int64_t first, uint32_t lane,
                            uint32_t lanes, Operation operation, float (&numbers)[Chunks][Size],
                            float (&before)[Chunks])
{
#pragma unroll
    for (int32_t k = 0; k < Chunks; ++k)
    {
        int64_t const chunk = min(first + k * int64_t{lanes}, chunks - 1); // loads without branches
        in.template load<Size>(row * chunks + chunk, numbers[k]);
    }
    float all = Operation::kIdentity;
#pragma unroll
    for (int32_t k = 0; k < Chunks; ++k)
    {
        scanChunk(operation, numbers[k]);
        bool const there = first + k * int64_t{lanes} < chunks;
        float const sum = scanOfLanes(there ? numbers[k][Size - 1] : Operation::kIdentity, operation, lane, lanes);
        before[k] = beforeLane(sum, lane, operation);
        before[k] = k > 0 ? operation(all, before[k]) : before[k];
        if (Total || k + 1 < Chunks)
        {
            float const total = __shfl_sync(kWholeWarp, sum, static_cast<int>((threadIdx.x | (lanes - 1)) % kLanes));
            all = k > 0 ? operation(all, total) : total;
        }
    }
    return all;
}

//! A row is that of 2^shift threads of a warp.
template <int32_t Size, int32_t Chunks, typename Operation, typename Out, typename In>
__global__ void __launch_bounds__(kScanThreads)
    groupScanKernel(bool early, int64_t rows, int64_t chunks, uint32_t shift, Operation const operation,
                    Output<Out> const out, Input<In> const in)
{
    uint32_t const lane = threadIdx.x & ((1U << shift) - 1U);
    int64_t const row = static_cast<int64_t>(blockIdx.x) * (blockDim.x >> shift) + (threadIdx.x >> shift);
    float numbers[Chunks][Size];
    float before[Chunks];
    waitForStream(early);
    scanChunks<false>(in, min(row, rows - 1), chunks, lane, lane, 1U << shift, operation, numbers, before);
#pragma unroll
    for (int32_t k = 0; k < Chunks; ++k)
    {
        int64_t const chunk = lane + (static_cast<int64_t>(k) << shift);
        if (chunk < chunks && row < rows)
        {
            storeScanned(out, row * chunks + chunk, operation, before[k], numbers[k]);
        }
    }
}

//! What a tile tells those behind it, in one word, so that one access has both: which number it is, and the number.
//! First that of the tile itself, as soon as it is known, then that of the row up to the tile's end.
constexpr uint32_t kOfTile = 1;
constexpr uint32_t kOfRow = 2;
using TileState = unsigned long long;

inline __device__ void tell(TileState* state, uint32_t what, float number)
{
    atomicExch(state, static_cast<TileState>(what) << 32U | __float_as_uint(number));
}

//! The word as another block has written it last.
inline __device__ TileState heard(TileState* state)
{
#ifdef PLUGINKIT_TARGET_CPU
    return atomicOr(state, 0ULL);
#else
    TileState word = 0;
    asm volatile("ld.volatile.global.u64 %0, [%1];" : "=l"(word) : "l"(state) : "memory");
    return word;
#endif
}

//! What comes before a tile in its row, whose number `part` is; `state` is that of the row's first tile, `own` the
//! tile's number. For the lanes of one warp. A lane has one of the 32 tiles before, lane 0 the nearest.
template <typename Operation>
__device__ float numberBefore(TileState* state, int64_t part, float own, Operation operation)
{
    uint32_t const lane = threadIdx.x % kLanes;
    float before = Operation::kIdentity;
    if (part > 0 && lane == 0)
    {
        tell(state + part, kOfTile, own);
    }
    for (int64_t nearest = part - 1; nearest >= 0; nearest -= kLanes)
    {
        int64_t const mine = nearest - lane;
        TileState word = mine < 0 ? static_cast<TileState>(kOfRow) << 32U : 0;
        while (__any_sync(kWholeWarp, word >> 32U == 0) != 0)
        {
            word = mine < 0 ? word : heard(state + mine);
        }
        uint32_t const ends = __ballot_sync(kWholeWarp, word >> 32U == kOfRow);
        // Tiles behind the first that has its row's number count for nothing.
        auto const last = static_cast<uint32_t>(ends != 0 ? __ffs(static_cast<int>(ends)) - 1 : kLanes - 1);
        float number = lane <= last && mine >= 0 ? __uint_as_float(static_cast<uint32_t>(word)) : Operation::kIdentity;
#pragma unroll
        for (uint32_t distance = 1; distance < kLanes; distance *= 2)
        {
            float const further = __shfl_down_sync(kWholeWarp, number, distance);
            number = lane + distance < kLanes ? operation(further, number) : number;
        }
        before = operation(__shfl_sync(kWholeWarp, number, 0), before);
        if (ends != 0)
        {
            break;
        }
    }
    if (lane == 0)
    {
        tell(state + part, kOfRow, operation(before, own));
    }
    return before;
}

//! A block scans a row, or, if Shared, a tile of one; a warp has neighbouring chunks. What the turns before gave is
//! carried on, or what the tiles before did. Blocks take tiles in the order in which they start: so those before are
//! under way at least, and waiting for them ends. `states` begins with the number of tiles that are taken, all zeros
//! when the kernel starts.
template <int32_t Size, int32_t Chunks, bool Shared, typename Operation, typename Out, typename In>
__global__ void __launch_bounds__(kScanThreads)
    blockScanKernel(bool early, int64_t chunks, uint32_t tilesOfRow, Operation const operation, Output<Out> const out,
                    Input<In> const in, TileState* states)
{
    __shared__ float totals[2][kWarps];
    __shared__ uint32_t taken;
    __shared__ float inRow;
    uint32_t const lane = threadIdx.x % kLanes;
    uint32_t const warp = threadIdx.x / kLanes;
    int64_t const tile = blockDim.x * Chunks;
    int64_t row = blockIdx.x;
    int64_t begin = 0;
    int64_t end = chunks;
    waitForStream(early);
    if constexpr (Shared)
    {
        if (threadIdx.x == 0)
        {
            taken = static_cast<uint32_t>(atomicAdd(states, 1ULL));
        }
        __syncthreads();
        row = taken / tilesOfRow;
        begin = taken % tilesOfRow * tile;
        end = min(begin + tile, chunks);
    }
    float carried = Operation::kIdentity;
    for (uint32_t turn = 0; begin < end; begin += tile, turn ^= 1U)
    {
        int64_t const first = begin + warp * (Chunks * kLanes) + lane;
        float numbers[Chunks][Size];
        float before[Chunks];
        float const ofWarp = scanChunks<true>(in, row, chunks, first, lane, kLanes, operation, numbers, before);
        float total = 0.0F;
        float const ofWarps = scanBeforeWarp(ofWarp, operation, totals[turn], total);
        if constexpr (Shared)
        {
            if (warp == 0)
            {
                inRow = numberBefore(states + 1 + row * tilesOfRow, begin / tile, total, operation);
            }
            __syncthreads();
            carried = inRow;
        }
        float const start = operation(carried, ofWarps);
        carried = operation(carried, total);
#pragma unroll
        for (int32_t k = 0; k < Chunks; ++k)
        {
            int64_t const chunk = first + k * int64_t{kLanes};
            if (chunk < chunks)
            {
                storeScanned(out, row * chunks + chunk, operation, operation(start, before[k]), numbers[k]);
            }
        }
    }
}

//! Elements begin to end - 1 of a tensor of `count`, and their place in shared memory. Packed: the tensor begins at a
//! multiple of 16 bytes, and whole packs are copied.
template <typename T>
struct ScanSpan
{
    static constexpr int32_t kSize = Pack<T>::kSize;

    int64_t begin;
    int64_t end;
    int64_t count;
    bool packed;

    //! Where element `begin` is in shared memory.
    __device__ int32_t offset() const
    {
        return packed ? static_cast<int32_t>(begin % kSize) : 0;
    }

    //! By all threads of a block; a barrier must follow.
    __device__ void load(T const* tensor, T* memory) const
    {
        int64_t const first = begin - offset();
        auto const size = static_cast<int32_t>(end - first);
        auto const whole = packed ? static_cast<int32_t>((min(first + size + kSize - 1, count) - first) / kSize) : 0;
#pragma unroll 4
        for (auto p = static_cast<int32_t>(threadIdx.x); p < whole; p += static_cast<int32_t>(blockDim.x))
        {
            storePack(memory, p, loadPack(tensor + first, p));
        }
        for (int32_t i = whole * kSize + static_cast<int32_t>(threadIdx.x); i < size;
             i += static_cast<int32_t>(blockDim.x))
        {
            memory[i] = tensor[first + i];
        }
    }

    //! The same, written; other elements stay as they are.
    __device__ void store(T* tensor, T const* memory) const
    {
        int64_t const first = begin - offset();
        auto const size = static_cast<int32_t>(end - first);
        int32_t const wholeFrom = offset() == 0 ? 0 : 1;
        int32_t const wholeTo = packed ? max(size / kSize, wholeFrom) : 0;
        for (int32_t p = wholeFrom + static_cast<int32_t>(threadIdx.x); p < wholeTo;
             p += static_cast<int32_t>(blockDim.x))
        {
            storePack(tensor + first, p, loadPack(memory, p));
        }
        // Before and behind the whole packs, a thread an element.
        int32_t const head = min(wholeFrom * kSize, size) - offset();
        int32_t const tail = max(size - wholeTo * kSize, 0);
        for (auto i = static_cast<int32_t>(threadIdx.x); i < head + tail; i += static_cast<int32_t>(blockDim.x))
        {
            int32_t const at = i < head ? offset() + i : wholeTo * kSize + i - head;
            tensor[first + at] = memory[at];
        }
    }
};

//! Rows of any width, by way of shared memory. A row is that of `lanes` threads, `each` times Unit neighbouring
//! elements of each. A block has neighbouring rows,
//! or one, which it scans in turns. Unit: 1, or the elements of a word of one-byte elements, of which rows are made.
template <int32_t Unit, typename Operation, typename Out, typename In>
__global__ void __launch_bounds__(2 * kScanStagedThreads)
    stagedScanKernel(bool early, int64_t rows, int64_t columns, uint32_t lanes, int32_t each, int32_t resultsAt,
                     bool packed, Operation const operation, Output<Out> const out, Input<In> const in)
{
    extern __shared__ uint4 pluginkitScan[];
    __shared__ float scratch[kWarps];
    auto* const elements = reinterpret_cast<In*>(pluginkitScan);
    auto* const results = reinterpret_cast<Out*>(pluginkitScan + resultsAt);
    uint32_t const lane = threadIdx.x % lanes;
    auto const group = static_cast<int32_t>(threadIdx.x / lanes);
    int64_t const inBlock = blockDim.x / lanes;
    int64_t const first = blockIdx.x * inBlock;
    auto const some = static_cast<int32_t>(min(inBlock, rows - first));
    int64_t const ofTurn = static_cast<int64_t>(lanes) * each * Unit;
    float carried = Operation::kIdentity;
    waitForStream(early);
    for (int64_t column = 0; column < columns; column += ofTurn)
    {
        int64_t const width = min(columns - column, ofTurn);
        int64_t const begin = first * columns + column;
        int64_t const end = begin + (some - 1) * columns + width;
        ScanSpan<In> const span{begin, end, rows * columns, packed};
        ScanSpan<Out> const written{begin, end, rows * columns, packed};
        span.load(in.data, elements);
        __syncthreads();
        int32_t const from = static_cast<int32_t>(lane) * each; // counted in units, as all below
        int32_t const mine = group < some ? min(static_cast<int32_t>(width) / Unit - from, each) : 0;
        int32_t const at = mine > 0 ? group * static_cast<int32_t>(columns) + from * Unit : 0;
        In const* const x = elements + span.offset() + at;
        Out* const y = results + written.offset() + at;
        float sum = Operation::kIdentity;
#pragma unroll 4
        for (int32_t j = 0; lanes > 1 && j < mine; ++j) // before a thread that has a row nothing comes
        {
            float numbers[Unit];
            loadNumbers<Unit>(x, j, in.scale, numbers);
#pragma unroll
            for (int32_t u = 0; u < Unit; ++u)
            {
                sum = operation(sum, numbers[u]);
            }
        }
        float total = 0.0F;
        float running = lanes > kLanes ? operation(carried, blockScan(sum, operation, scratch, total))
                                       : beforeLane(scanOfLanes(sum, operation, lane, lanes), lane, operation);
        carried = operation(carried, total);
#pragma unroll 4
        for (int32_t j = 0; j < mine; ++j)
        {
            float numbers[Unit];
            loadNumbers<Unit>(x, j, in.scale, numbers);
#pragma unroll
            for (int32_t u = 0; u < Unit; ++u)
            {
                running = operation(running, numbers[u]);
                numbers[u] = running;
            }
            storeNumbers<Unit>(y, j, numbers, out.inverse);
        }
        __syncthreads();
        written.store(out.data, results);
        __syncthreads(); // nobody loads the next turn's elements before all are written
    }
}

template <int32_t Unit, typename Operation, typename Out, typename In>
void launchStagedScan(cudaStream_t stream, int64_t rows, int64_t columns, bool packed, Operation operation,
                      Output<Out> out, Input<In> in) noexcept
{
    constexpr bool kInPlace = sizeof(In) == sizeof(Out); // results take the elements' place
    constexpr int32_t kBytes = static_cast<int32_t>(kInPlace ? sizeof(In) : sizeof(In) + sizeof(Out));
    ScanPolicy const policy = stagedScanPolicy(rows, columns, Unit, kBytes);
    int64_t const block = std::max(policy.threads, kScanStagedThreads);
    int64_t const inBlock = block / policy.threads;
    int64_t const ofBlock = std::min(int64_t{policy.threads} * policy.each * Unit, columns) * inBlock;
    auto const packs = [&](size_t bytes) { return static_cast<size_t>(ofBlock) * bytes / kPackBytes + 2; };
    size_t const resultsAt = kInPlace ? 0 : packs(sizeof(In));
    launchEarlyIfFew(stagedScanKernel<Unit, Operation, Out, In>, static_cast<uint32_t>((rows + inBlock - 1) / inBlock),
                     {static_cast<uint32_t>(block), (resultsAt + packs(sizeof(Out))) * kPackBytes}, stream, rows,
                     columns, static_cast<uint32_t>(policy.threads), policy.each, static_cast<int32_t>(resultsAt),
                     packed, operation, out, in);
}

//! Of whole chunks: Chunks of a thread.
template <int32_t Size, int32_t Chunks, int32_t Threads, typename Operation, typename Out, typename In>
void launchChunkScan(cudaStream_t stream, int64_t rows, int64_t chunks, ScanPolicy const& policy, Operation operation,
                     Output<Out> out, Input<In> in) noexcept
{
    if (policy.loader == ScanLoader::kGroup)
    {
        constexpr int32_t kInBlock = Threads > 0 ? Threads : kScanThreads / 2;
        uint32_t shift = 0;
        while ((1 << shift) < policy.threads)
        {
            ++shift;
        }
        int64_t const inBlock = kInBlock >> shift;
        launchEarlyIfFew(groupScanKernel<Size, Chunks, Operation, Out, In>,
                         static_cast<uint32_t>((rows + inBlock - 1) / inBlock), kInBlock, stream, rows, chunks, shift,
                         operation, out, in);
    }
    else if constexpr (Size < 16 || Chunks == 1)
    {
        auto const threads = static_cast<uint32_t>(Threads > 0 ? std::min(policy.threads, Threads) : policy.threads);
        launchEarlyIfFew(blockScanKernel<Size, Chunks, false, Operation, Out, In>, static_cast<uint32_t>(rows), threads,
                         stream, chunks, 1U, operation, out, in, static_cast<TileState*>(nullptr));
    }
}

//! Rows that are each that of a block, or of a part of it.
template <typename Values, typename Operation, typename Out, typename In>
cudaError_t scanRows(cudaStream_t stream, int64_t rows, int64_t columns, Operation operation, Output<Out> out,
                     Input<In> in) noexcept
{
    constexpr int32_t kSize = largest(Output<Out>::kSize, Input<In>::kSize);
    constexpr int32_t kThreads = std::min(Values::kThreads, kScanThreads);
    constexpr int32_t kSeveral = kSize < 16 ? 4 : 2;
    constexpr int32_t kWord = sizeof(In) == 1 && sizeof(Out) == 1 ? 4 : 1;
    bool const packed = canPack(out.data, in.data);
    if (!packed || columns % kSize != 0)
    {
        packed&& columns % kWord == 0 ? launchStagedScan<kWord>(stream, rows, columns, packed, operation, out, in)
                                      : launchStagedScan<1>(stream, rows, columns, packed, operation, out, in);
        return cudaGetLastError();
    }
    int64_t const chunks = columns / kSize;
    ScanPolicy const policy = scanPolicy(rows, chunks, kSize);
    policy.each == 1   ? launchChunkScan<kSize, 1, kThreads>(stream, rows, chunks, policy, operation, out, in)
    : policy.each == 2 ? launchChunkScan<kSize, 2, kThreads>(stream, rows, chunks, policy, operation, out, in)
                       : launchChunkScan<kSize, kSeveral, kThreads>(stream, rows, chunks, policy, operation, out, in);
    return cudaGetLastError();
}

template <int32_t Size, typename Operation, typename Out, typename In>
cudaError_t scanShared(cudaStream_t stream, int64_t rows, int64_t columns, Operation operation, Output<Out> out,
                       Input<In> in, void* workspace) noexcept
{
    int64_t const tiles = (columns / Size + kScanTileChunks - 1) / kScanTileChunks;
    auto const bytes = static_cast<size_t>(1 + rows * tiles) * sizeof(TileState);
    if (cudaError_t const error = cudaMemsetAsync(workspace, 0, bytes, stream); error != cudaSuccess)
    {
        return error;
    }
    constexpr int32_t kEach = 4;
    blockScanKernel<Size, kEach, true><<<static_cast<uint32_t>(rows * tiles), kScanTileChunks / kEach, 0, stream>>>(
        false, columns / Size, static_cast<uint32_t>(tiles), operation, out, in, static_cast<TileState*>(workspace));
    return cudaGetLastError();
}

} // namespace detail

//! Bytes of a workspace for `launchScan`, aligned to 8: enough for so many rows and columns and for fewer, since
//! TensorRT gives what the profile's largest shapes take. Where no row is long enough to be shared it takes none.
inline int64_t scanWorkspace(int64_t rows, int64_t columns) noexcept
{
    if (columns < detail::kLongColumns)
    {
        return 0;
    }
    int64_t const tiles = std::min(columns, detail::kMostColumns) / detail::kScanTileChunks + 1;
    return (1 + std::min(rows, detail::kScanManyRows - 1) * tiles) * static_cast<int64_t>(sizeof(detail::TileState));
}

//! Starts the kernel on a stream, which may be `tuned` (tuning.cuh), and returns at once; without elements it starts
//! nothing.
//!
//! `operation(a, b)` is associative, and `kIdentity` the number that changes no other one: Sum, Max (rows.cuh), or one
//! of your own. The output may be the input. What is summed up stays a float until it is written.
template <typename Stream, typename Operation, typename Out, typename In>
cudaError_t launchScan(Stream const& stream, int64_t rows, int64_t columns, Operation operation, Output<Out> out,
                       Input<In> in) noexcept
{
    if (rows < 0 || columns < 0 || rows > 0x7FFFFFFF)
    {
        return cudaErrorInvalidValue;
    }
    if (rows == 0 || columns == 0)
    {
        return cudaSuccess; // a launch of no blocks is an error
    }
    return launchWith(stream, [&](cudaStream_t on, auto values)
                      { return detail::scanRows<decltype(values)>(on, rows, columns, operation, out, in); });
}

//! The same with a workspace, by which blocks share rows where there are few and long ones; which partial sums are
//! added up first then depends on the run.
template <typename Stream, typename Operation, typename Out, typename In>
cudaError_t launchScan(Stream const& stream, int64_t rows, int64_t columns, Operation operation, Output<Out> out,
                       Input<In> in, void* workspace) noexcept
{
    constexpr int32_t kSize = detail::largest(Output<Out>::kSize, Input<In>::kSize);
    if (workspace == nullptr || rows <= 0 || rows >= detail::kScanManyRows || columns < detail::kLongColumns ||
        columns > detail::kMostColumns)
    {
        return launchScan(stream, rows, columns, operation, out, in);
    }
    return launchWith(stream,
                      [&](cudaStream_t on, auto /*values*/)
                      {
                          return canPack(out.data, in.data) && columns % kSize == 0
                                     ? detail::scanShared<kSize>(on, rows, columns, operation, out, in, workspace)
                                     : detail::scanShared<1>(on, rows, columns, operation, out, in, workspace);
                      });
}

} // namespace pluginkit::kernels
