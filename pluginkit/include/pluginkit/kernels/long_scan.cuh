//! Scans of rows that are too long for a block, each by many blocks; for scan.cuh.
#pragma once

#include <pluginkit/kernels/scan_pieces.cuh>

#include <cstdint>

namespace pluginkit::kernels::detail
{

constexpr uint32_t kTileThreads = 256;
constexpr int32_t kTileTurns =
    kLanes * kLanes / kTileThreads; //!< chunks of a thread: so a warp has a number of each warp's

//! Elements of a tile. A row is divided into tiles; a block has one.
template <int32_t Size>
constexpr int64_t kTileElements = int64_t{Size} * kTileTurns * kTileThreads;

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

//! A block scans a tile. Blocks take tiles in the order in which they start: so those before are under way at least,
//! and waiting for them ends. `states` begins with the number of tiles that are taken, all zeros when the kernel
//! starts.
template <int32_t Size, bool Whole, typename Operation, typename Out, typename In>
__global__ void __launch_bounds__(kTileThreads)
    longScanKernel(int64_t rows, int64_t columns, uint32_t tilesOfRow, Operation const operation, Output<Out> const out,
                   Input<In> const in, TileState* states)
{
    constexpr uint32_t kWarpsOfTile = kTileThreads / kLanes;
    __shared__ uint32_t taken;
    __shared__ float sums[kLanes];
    uint32_t const warp = threadIdx.x / kLanes;
    uint32_t const lane = threadIdx.x % kLanes;
    if (threadIdx.x == 0)
    {
        taken = static_cast<uint32_t>(atomicAdd(states, 1ULL));
    }
    __syncthreads();
    int64_t const row = taken / tilesOfRow;
    int64_t const part = taken % tilesOfRow;
    auto const place = placeOfRow<Size, Whole>(row, rows, columns);
    int64_t const first = part * kTileTurns * kTileThreads + threadIdx.x;
    float numbers[kTileTurns][Size];
#pragma unroll
    for (int32_t k = 0; k < kTileTurns; ++k)
    {
        loadForScan(in, place, first + k * int64_t{kTileThreads}, operation, numbers[k]);
    }
    float before[kTileTurns];
#pragma unroll
    for (int32_t k = 0; k < kTileTurns; ++k)
    {
        scanChunk(operation, numbers[k]);
        float total = 0.0F;
        before[k] = warpScan<kLanes>(numbers[k][Size - 1], operation, total);
        if (lane == 0)
        {
            sums[static_cast<uint32_t>(k) * kWarpsOfTile + warp] = total;
        }
    }
    __syncthreads();
    if (warp == 0)
    {
        float total = 0.0F;
        float const inTile = warpScan<kLanes>(sums[lane], operation, total);
        float const inRow = numberBefore(states + 1 + row * tilesOfRow, part, total, operation);
        sums[lane] = operation(inRow, inTile);
    }
    __syncthreads();
#pragma unroll
    for (int32_t k = 0; k < kTileTurns; ++k)
    {
        float const start = operation(sums[static_cast<uint32_t>(k) * kWarpsOfTile + warp], before[k]);
        storeScanned(out, place, first + k * int64_t{kTileThreads}, operation, start, numbers[k]);
    }
}

} // namespace pluginkit::kernels::detail
