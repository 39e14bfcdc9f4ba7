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
__device__ float beforeWarp(float ofWarp, Operation operation, float* scratch, float& total)
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
    float const start = detail::beforeWarp(ofWarp, operation, scratch, total);
    __syncthreads(); // nobody writes to scratch again before all have read it
    return operation(start, before);
}

namespace detail
{

constexpr int32_t kScanThreads = 512;               //!< of a block that has a row, at most
constexpr int32_t kStagedThreads = 128;             //!< of a block whose rows go through shared memory
constexpr int32_t kStagedBytes = 32768;             //!< of those, at most
constexpr int32_t kSharedChunks = 1024;             //!< of a block that has a tile of a row
constexpr int64_t kManyRows = 1024;                 //!< enough for all multiprocessors, a block each
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
    int32_t each;    //!< chunks of a thread, or words of staged ones; of longer rows in a turn
};

//! What runs for rows of so many columns. Size: elements of a chunk. Whole: rows are made of chunks. Unit: elements
//! that are read together from shared memory. Bytes: of an element there.
constexpr ScanPolicy scanPolicy(int64_t columns, int32_t size, bool whole, int32_t unit, int32_t bytes) noexcept
{
    constexpr int32_t kWarp = static_cast<int32_t>(kLanes);
    int32_t threads = 1;
    if (whole)
    {
        int64_t const chunks = columns / size;
        if (chunks <= kWarp)
        {
            while (threads < chunks)
            {
                threads *= 2;
            }
            return {ScanLoader::kGroup, threads, 1};
        }
        // More chunks of 16 elements don't fit into registers.
        int32_t const each = size >= 16 || chunks <= kScanThreads ? 1 : chunks <= 2 * kScanThreads ? 2 : 4;
        int64_t const needed = (chunks + each * kWarp - 1) / (each * kWarp) * kWarp;
        return {ScanLoader::kBlock, static_cast<int32_t>(std::min<int64_t>(needed, kScanThreads)), each};
    }
    constexpr int32_t kShort = 32; // elements of a thread, unless that takes more than a warp
    // Rows that aren't made of words begin and end within one.
    int64_t const words = columns % unit == 0 ? columns / unit : (columns + unit - 2) / unit + 1;
    int64_t const most = std::min(2 * kShort, kStagedBytes / kStagedThreads / bytes) / unit;
    while (threads < kWarp && words > int64_t{threads} * (kShort / unit))
    {
        threads *= 2;
    }
    threads = words > most * threads ? kStagedThreads : threads;
    int64_t const turns = (words + most * threads - 1) / (most * threads);
    // Odd, so that threads side by side read different banks.
    return {ScanLoader::kStaged, threads, static_cast<int32_t>((words + turns * threads - 1) / (turns * threads)) | 1};
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

//! A row is that of `lanes` threads of a warp, a power of two, of a chunk each.
template <int32_t Size, typename Operation, typename Out, typename In>
__global__ void __launch_bounds__(kScanThreads)
    groupScanKernel(bool early, int64_t rows, uint32_t chunks, uint32_t lanes, Operation const operation,
                    Output<Out> const out, Input<In> const in)
{
    uint32_t const lane = threadIdx.x % lanes;
    int64_t const row = static_cast<int64_t>(blockIdx.x) * (blockDim.x / lanes) + threadIdx.x / lanes;
    bool const mine = lane < chunks && row < rows;
    float numbers[Size] = {};
    waitForStream(early);
    if (mine)
    {
        in.template load<Size>(row * chunks + lane, numbers);
    }
    scanChunk(operation, numbers);
    float const before = beforeLane(scanOfLanes(numbers[Size - 1], operation, lane, lanes), lane, operation);
    if (mine)
    {
        storeScanned(out, row * chunks + lane, operation, before, numbers);
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
    __shared__ float scratch[2][kWarps];
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
#pragma unroll
        for (int32_t k = 0; k < Chunks; ++k)
        {
            int64_t const chunk = min(first + k * int64_t{kLanes}, chunks - 1); // loads without branches
            in.template load<Size>(row * chunks + chunk, numbers[k]);
        }
        float before[Chunks] = {}; // in the warp
        float ofWarp = Operation::kIdentity;
#pragma unroll
        for (int32_t k = 0; k < Chunks; ++k)
        {
            scanChunk(operation, numbers[k]);
            bool const there = first + k * int64_t{kLanes} < chunks;
            float total = 0.0F;
            float const inChunks =
                warpScan<kLanes>(there ? numbers[k][Size - 1] : Operation::kIdentity, operation, total);
            before[k] = k > 0 ? operation(ofWarp, inChunks) : inChunks;
            ofWarp = k > 0 ? operation(ofWarp, total) : total;
        }
        float total = 0.0F;
        float const ofWarps = beforeWarp(ofWarp, operation, scratch[turn], total);
        if constexpr (Shared)
        {
            if (warp == 0)
            {
                carried = numberBefore(states + 1 + row * tilesOfRow, begin / tile, total, operation);
                inRow = carried;
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
struct StagedSpan
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
        for (auto p = static_cast<int32_t>(threadIdx.x); p < whole; p += kStagedThreads)
        {
            storePack(memory, p, loadPack(tensor + first, p));
        }
        for (int32_t i = whole * kSize + static_cast<int32_t>(threadIdx.x); i < size; i += kStagedThreads)
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
        for (int32_t p = wholeFrom + static_cast<int32_t>(threadIdx.x); p < wholeTo; p += kStagedThreads)
        {
            storePack(tensor + first, p, loadPack(memory, p));
        }
        // Before and behind the whole packs, a thread an element.
        int32_t const head = min(wholeFrom * kSize, size) - offset();
        int32_t const tail = max(size - wholeTo * kSize, 0);
        for (auto i = static_cast<int32_t>(threadIdx.x); i < head + tail; i += kStagedThreads)
        {
            int32_t const at = i < head ? offset() + i : wholeTo * kSize + i - head;
            tensor[first + at] = memory[at];
        }
    }
};

//! Elements of a word of four bytes, if both tensors have as many; else 1.
template <typename Out, typename In>
constexpr int32_t kScanWord = sizeof(In) == sizeof(Out) && sizeof(In) < 4 ? 4 / static_cast<int32_t>(sizeof(In)) : 1;

//! Word `word` of a row that is elements begin to end - 1 of shared memory: its first and last may be other rows', too.
template <int32_t Unit, typename Operation, typename In>
__device__ void loadWord(In const* x, float scale, int32_t word, int32_t begin, int32_t end, Operation /*operation*/,
                         float (&numbers)[Unit])
{
    if (word * Unit >= begin && word * Unit + Unit <= end)
    {
        loadNumbers<Unit>(x, word, scale, numbers);
        return;
    }
#pragma unroll
    for (int32_t u = 0; u < Unit; ++u)
    {
        bool const mine = word * Unit + u >= begin && word * Unit + u < end;
        numbers[u] = mine ? toNumber(x[word * Unit + u], scale) : Operation::kIdentity;
    }
}

template <int32_t Unit, typename Out>
__device__ void storeWord(Out* y, float inverse, int32_t word, int32_t begin, int32_t end, float const (&numbers)[Unit])
{
    if (word * Unit >= begin && word * Unit + Unit <= end)
    {
        storeNumbers<Unit>(y, word, numbers, inverse);
        return;
    }
#pragma unroll
    for (int32_t u = 0; u < Unit; ++u)
    {
        if (word * Unit + u >= begin && word * Unit + u < end)
        {
            toElement(y[word * Unit + u], numbers[u], inverse);
        }
    }
}

//! Rows of any width, by way of shared memory. A row is that of `lanes` threads, `each` neighbouring words of each. A
//! block has neighbouring rows, or one, which it scans in turns.
template <typename Operation, typename Out, typename In>
__global__ void __launch_bounds__(kStagedThreads)
    stagedScanKernel(bool early, int64_t rows, int64_t columns, uint32_t lanes, int32_t each, int32_t resultsAt,
                     bool packed, Operation const operation, Output<Out> const out, Input<In> const in)
{
    constexpr int32_t kUnit = kScanWord<Out, In>;
    extern __shared__ uint4 pluginkitScan[];
    __shared__ float scratch[kWarps];
    auto* const elements = reinterpret_cast<In*>(pluginkitScan);
    auto* const results = reinterpret_cast<Out*>(pluginkitScan + resultsAt);
    uint32_t const lane = threadIdx.x % lanes;
    auto const group = static_cast<int32_t>(threadIdx.x / lanes);
    int64_t const inBlock = kStagedThreads / lanes;
    int64_t const firstRow = blockIdx.x * inBlock;
    auto const some = static_cast<int32_t>(min(inBlock, rows - firstRow));
    int64_t const last = (firstRow + some) * columns;
    int64_t const ofTurn = inBlock > 1 ? last : static_cast<int64_t>(lanes) * each * kUnit;
    int64_t begin = firstRow * columns;
    float carried = Operation::kIdentity;
    waitForStream(early);
    while (begin < last)
    {
        // A turn ends where a word does.
        int64_t const end = min(last, packed ? begin / kUnit * kUnit + ofTurn : begin + ofTurn);
        StagedSpan<In> const span{begin, end, rows * columns, packed};
        StagedSpan<Out> const written{begin, end, rows * columns, packed};
        span.load(in.data, elements);
        __syncthreads();
        auto const width = static_cast<int32_t>(inBlock > 1 ? columns : end - begin);
        int32_t const from = group < some ? span.offset() + group * width : 0;
        int32_t const to = group < some ? from + width : 0;
        int32_t const firstWord = from / kUnit + static_cast<int32_t>(lane) * each;
        int32_t const lastWord = min(firstWord + each, (to + kUnit - 1) / kUnit);
        int32_t const shifted = written.offset() - span.offset(); // of tensors whose elements differ in size
        float sum = Operation::kIdentity;
#pragma unroll 4
        for (int32_t word = firstWord; word < lastWord; ++word)
        {
            float numbers[kUnit];
            loadWord(elements, in.scale, word, from, to, operation, numbers);
#pragma unroll
            for (int32_t u = 0; u < kUnit; ++u)
            {
                sum = operation(sum, numbers[u]);
            }
        }
        float total = 0.0F;
        float running = lanes > kLanes ? operation(carried, blockScan(sum, operation, scratch, total))
                                       : beforeLane(scanOfLanes(sum, operation, lane, lanes), lane, operation);
        carried = operation(carried, total);
#pragma unroll 4
        for (int32_t word = firstWord; word < lastWord; ++word)
        {
            float numbers[kUnit];
            loadWord(elements, in.scale, word, from, to, operation, numbers);
#pragma unroll
            for (int32_t u = 0; u < kUnit; ++u)
            {
                running = operation(running, numbers[u]);
                numbers[u] = running;
            }
            storeWord(results, out.inverse, word + shifted, from + shifted, to + shifted, numbers);
        }
        __syncthreads();
        written.store(out.data, results);
        __syncthreads(); // nobody loads the next turn's elements before all are written
        begin = end;
    }
}

template <typename Operation, typename Out, typename In>
void launchStagedScan(cudaStream_t stream, int64_t rows, int64_t columns, bool packed, Operation operation,
                      Output<Out> out, Input<In> in) noexcept
{
    constexpr int32_t kUnit = kScanWord<Out, In>;
    constexpr bool kInPlace = sizeof(In) == sizeof(Out); // results take the elements' place
    constexpr int32_t kBytes = static_cast<int32_t>(kInPlace ? sizeof(In) : sizeof(In) + sizeof(Out));
    ScanPolicy const policy = scanPolicy(columns, 1, false, kUnit, kBytes);
    int64_t const inBlock = kStagedThreads / policy.threads;
    int64_t const ofBlock = std::min(int64_t{policy.threads} * policy.each * kUnit, columns) * inBlock;
    auto const packs = [&](size_t bytes) { return static_cast<size_t>(ofBlock) * bytes / kPackBytes + 2; };
    size_t const resultsAt = kInPlace ? 0 : packs(sizeof(In));
    launchEarlyIfFew(stagedScanKernel<Operation, Out, In>, static_cast<uint32_t>((rows + inBlock - 1) / inBlock),
                     {kStagedThreads, (resultsAt + packs(sizeof(Out))) * kPackBytes}, stream, rows, columns,
                     static_cast<uint32_t>(policy.threads), policy.each, static_cast<int32_t>(resultsAt), packed,
                     operation, out, in);
}

//! Of whole chunks: Chunks of a thread.
template <int32_t Size, int32_t Chunks, typename Operation, typename Out, typename In>
void launchBlockScan(cudaStream_t stream, int64_t rows, int64_t chunks, int32_t threads, Operation operation,
                     Output<Out> out, Input<In> in) noexcept
{
    launchEarlyIfFew(blockScanKernel<Size, Chunks, false, Operation, Out, In>, static_cast<uint32_t>(rows),
                     static_cast<uint32_t>(threads), stream, chunks, 1U, operation, out, in,
                     static_cast<TileState*>(nullptr));
}

//! Rows that are each that of a block, or of a part of it.
template <typename Values, typename Operation, typename Out, typename In>
cudaError_t scanRows(cudaStream_t stream, int64_t rows, int64_t columns, Operation operation, Output<Out> out,
                     Input<In> in) noexcept
{
    constexpr int32_t kSize = largest(Output<Out>::kSize, Input<In>::kSize);
    constexpr int32_t kSeveral = kSize < 16 ? 1 : 0; // whether a thread may have more than one chunk
    constexpr int32_t kThreads = Values::kThreads > 0 ? std::min(Values::kThreads, kScanThreads) : 0;
    bool const packed = canPack(out.data, in.data);
    if (!packed || columns % kSize != 0)
    {
        launchStagedScan(stream, rows, columns, packed, operation, out, in);
        return cudaGetLastError();
    }
    int64_t const chunks = columns / kSize;
    ScanPolicy const policy = scanPolicy(columns, kSize, true, 1, 1);
    if (policy.loader == ScanLoader::kGroup)
    {
        constexpr int32_t kInBlock = kThreads > 0 ? kThreads : kScanThreads / 2;
        int64_t const inBlock = kInBlock / policy.threads;
        launchEarlyIfFew(groupScanKernel<kSize, Operation, Out, In>,
                         static_cast<uint32_t>((rows + inBlock - 1) / inBlock), kInBlock, stream, rows,
                         static_cast<uint32_t>(chunks), static_cast<uint32_t>(policy.threads), operation, out, in);
        return cudaGetLastError();
    }
    int32_t const threads = kThreads > 0 ? std::min(policy.threads, kThreads) : policy.threads;
    policy.each == 1   ? launchBlockScan<kSize, 1>(stream, rows, chunks, threads, operation, out, in)
    : policy.each == 2 ? launchBlockScan<kSize, 1 + kSeveral>(stream, rows, chunks, threads, operation, out, in)
                       : launchBlockScan<kSize, 1 + 3 * kSeveral>(stream, rows, chunks, threads, operation, out, in);
    return cudaGetLastError();
}

template <int32_t Size, typename Operation, typename Out, typename In>
cudaError_t scanShared(cudaStream_t stream, int64_t rows, int64_t columns, Operation operation, Output<Out> out,
                       Input<In> in, void* workspace) noexcept
{
    int64_t const tiles = (columns / Size + kSharedChunks - 1) / kSharedChunks;
    auto const bytes = static_cast<size_t>(1 + rows * tiles) * sizeof(TileState);
    if (cudaError_t const error = cudaMemsetAsync(workspace, 0, bytes, stream); error != cudaSuccess)
    {
        return error;
    }
    constexpr int32_t kEach = 4;
    blockScanKernel<Size, kEach, true><<<static_cast<uint32_t>(rows * tiles), kSharedChunks / kEach, 0, stream>>>(
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
    int64_t const tiles = std::min(columns, detail::kMostColumns) / detail::kSharedChunks + 1;
    return (1 + std::min(rows, detail::kManyRows - 1) * tiles) * static_cast<int64_t>(sizeof(detail::TileState));
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
    if (workspace == nullptr || rows <= 0 || rows >= detail::kManyRows || columns < detail::kLongColumns ||
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
