//! Which kernel runs for rows, and with how many threads: the only place where that is decided. Plain C++, so that
//! a test can print docs/kernels.md's table by it.
//!
//! Three loaders have a row in registers while its function runs, and a fourth reads it again in each step:
//!
//! - direct: threads of a warp, or a block, load a row's chunks of 16 bytes from global memory. Rows that aren't made
//! of
//!   whole chunks have chunks of 8 bytes if they are made of those; if not, some threads have one of the elements
//!   before and behind the row's chunks each.
//! - staged: a block copies neighbouring rows, which are one piece of memory wherever a row begins, into shared memory
//!   by 16 bytes, and back; a thread has single elements.
//! - cluster: a cluster of blocks (compute capability 9.0), or a block, has one row after another, and the next one's
//!   chunks are on their way while it computes.
//! - again: what no cluster holds, and tensors that don't begin at multiples of 16 bytes.
#pragma once

#include <cstdint>

namespace pluginkit::kernels::detail
{

enum class RowLoader : int32_t
{
    kDirect,
    kStaged,
    kCluster,
    kAgain,
};

//! What the policy looks at of a launch's tensors.
struct RowTypes
{
    int32_t chunk;    //!< elements of 16 bytes of the smallest element type
    int32_t matrices; //!< inputs that aren't the same for all rows
    int32_t largest;  //!< bytes of the largest element of inputs and outputs that are matrices
    int32_t tiles;    //!< bytes of an element in all of them
    int32_t wide;     //!< inputs of elements of four bytes or more that all rows share
    int32_t weights;  //!< inputs that all rows share
    int32_t threads;  //!< of a block that has several rows; 0: the usual ones
    int32_t packs;    //!< chunks of a thread, at most; 0: as usual
};

struct RowPlan
{
    RowLoader loader;
    int32_t size;     //!< elements of a chunk
    bool whole;       //!< whether rows are made of chunks
    int32_t chunks;   //!< of a thread, at most
    uint32_t threads; //!< of a row, in a block
    uint32_t block;   //!< threads of a block
    uint32_t blocks;  //!< of a row
    int32_t rows;     //!< of a block's tile
};

//! How many numbers a thread has at most: more don't leave registers for the others.
constexpr int32_t kMostNumbers = 64;

//! Chunks of `size` elements that a thread of a block that has a row has at most.
constexpr int32_t directChunks(RowTypes const& types, int32_t size)
{
    int32_t const fit = kMostNumbers / (size * types.matrices);
    int32_t const most = types.packs > 0 ? types.packs : 4;
    return fit > most ? most : fit < 1 ? 1 : fit;
}

//! The same of a cluster, whose threads have the next row's, too. Of rows with several wide rows of weights fewer: what
//! counts then is how many threads read those from shared memory.
constexpr int32_t clusterChunks(RowTypes const& types)
{
    if (types.chunk <= 4)
    {
        return types.matrices > 1 ? 4 : 8;
    }
    int32_t const fit = directChunks(types, types.chunk);
    return types.chunk >= 16 && types.wide > 1 && fit > 1 ? fit / 2 : fit;
}

constexpr uint32_t kDirectThreads = 512;
constexpr uint32_t kClusterBlocks = 8;    //!< of a cluster: what every GPU of compute capability 9.0 can start together
constexpr int64_t kFewRows = 512;         //!< what a launch waits for is then one row's time, and not the memory
constexpr int64_t kFewThreads = 1 << 16U; //!< a GPU has more
constexpr int64_t kRowTileBytes = 48 << 10U; //!< of shared memory that a block has without asking
constexpr int32_t kRowTileElements = 16;     //!< elements of a row, of a thread of a tile, at most
constexpr uint32_t kRowTileThreads = 256;

//! Threads of a cluster's block, at most.
constexpr uint32_t clusterThreads(RowTypes const& types)
{
    return types.chunk >= 16 && types.wide > 1 ? 256 : 512;
}

constexpr int64_t dividedUp(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

//! So many threads of a warp that each has at most `each` of a row's chunks, a power of two; or whole warps.
constexpr uint32_t threadsFor(int64_t chunks, int64_t each)
{
    int64_t const wanted = dividedUp(chunks, each);
    if (wanted > 32)
    {
        return static_cast<uint32_t>(dividedUp(wanted, 32) * 32);
    }
    uint32_t threads = 1;
    while (threads < wanted)
    {
        threads *= 2;
    }
    return threads;
}

//! Threads of a block, of which `threads` have a row.
constexpr uint32_t blockOf(RowTypes const& types, int64_t rows, uint32_t threads)
{
    return threads > 32        ? threads
           : types.threads > 0 ? static_cast<uint32_t>(types.threads)
                               : (rows * threads < kFewThreads ? 32U : 256U);
}

constexpr RowPlan directPlan(RowTypes const& types, int64_t rows, int64_t columns, int32_t size, bool whole)
{
    int64_t const chunks = columns / size;
    int32_t most = directChunks(types, size);
    int32_t const fewer = size >= 16 ? 1 : 16 / size;
    if (rows <= kFewRows && most > fewer && whole && chunks <= fewer * int64_t{kDirectThreads} && types.packs == 0)
    {
        most = fewer; // few rows take less time by more threads
    }
    uint32_t threads = threadsFor(chunks, most);
    // So that neighbours read what is side by side; single elements before and behind the chunks have a thread each.
    uint32_t const least = !whole ? 2 * static_cast<uint32_t>(size) : chunks <= 1 ? 1 : chunks <= 2 ? 2 : 4;
    threads = threads < least ? least : threads;
    auto const each = static_cast<int32_t>(dividedUp(chunks, threads));
    return {RowLoader::kDirect, size, whole, each, threads, blockOf(types, rows, threads), 1, 1};
}

//! Threads of a block that has a row, at most: longer rows have a cluster, which loads the next one ahead. Kernels for
//! bytes are compiled for blocks of 256 threads, but for those of one chunk a thread.
constexpr uint32_t directThreads(RowTypes const& types, RowPlan const& plan)
{
    if (types.chunk >= 16)
    {
        return plan.whole && plan.chunks > 1 ? 128 : plan.whole ? kDirectThreads : 256;
    }
    return types.chunk <= 4 || types.weights > 0 ? kDirectThreads : 256;
}

//! Elements of a row that isn't made of chunks, for which a tile is the faster way.
constexpr int64_t mostStaged(RowTypes const& types)
{
    return types.chunk >= 16 ? (types.weights > 0 ? 4096 : 768) : types.chunk >= 8 ? 256 : 512;
}

constexpr RowPlan stagedPlan(RowTypes const& types, int64_t rows, int64_t columns)
{
    uint32_t lanes = 1;
    while (lanes * kRowTileElements < columns)
    {
        lanes *= 2;
    }
    auto const each = static_cast<int32_t>(dividedUp(columns, lanes)); // 9 to 16
    uint32_t const usual = blockOf(types, rows, lanes);
    uint32_t const block = types.threads == 0 && lanes <= 32 && usual > 128 ? 128 : usual; // they wait for one another
    // A thread's part of what is on its way to a multiprocessor: 32 bytes or more.
    bool const few = rows * lanes < kFewThreads;
    int32_t const turns = few || types.largest > 1 ? 1 : 2;
    return {RowLoader::kStaged, 1, true, each, lanes, block, 1, static_cast<int32_t>(block / lanes) * turns};
}

//! Bytes of a block's tiles, of all matrices.
constexpr int64_t rowTileBytes(RowTypes const& types, RowPlan const& plan, int64_t columns)
{
    return plan.rows * columns * types.tiles + 32 * 6;
}

//! Of the ways to share a row out among the blocks of a cluster the one that leaves the fewest threads without
//! elements; of equal ones that with the most blocks, but of bytes one block, of which a multiprocessor then has
//! several.
constexpr RowPlan clusterPlan(int32_t architecture, RowTypes const& types, int64_t columns)
{
    int32_t const each = clusterChunks(types);
    bool const whole = columns % types.chunk == 0;
    bool const bytes = types.chunk >= 16;
    int64_t const chunks = columns / types.chunk;
    RowPlan plan{RowLoader::kAgain, types.chunk, false, 0, kDirectThreads, kDirectThreads, 1, 1};
    for (uint32_t most = bytes ? 256 : clusterThreads(types); plan.loader == RowLoader::kAgain; most *= 2)
    {
        for (uint32_t blocks = 1; blocks <= (architecture >= 90 ? kClusterBlocks : 1); blocks *= 2)
        {
            auto const threads = static_cast<uint32_t>(dividedUp(dividedUp(dividedUp(chunks, blocks), each), 32) * 32);
            bool const possible = threads <= most && (blocks == 1 || threads >= 64);
            uint32_t const before = plan.blocks * plan.threads;
            bool const better =
                blocks * threads < before || (blocks * threads == before && !(bytes && plan.blocks == 1));
            if (possible && (plan.loader == RowLoader::kAgain || better))
            {
                plan = {RowLoader::kCluster, types.chunk, whole, each, threads, threads, blocks, 1};
            }
        }
        if (most >= clusterThreads(types))
        {
            break;
        }
    }
    return plan;
}

//! Architecture: 90 for compute capability 9.0. Packed: all tensors begin at multiples of 16 bytes.
constexpr RowPlan planRows(int32_t architecture, RowTypes const& types, int64_t rows, int64_t columns, bool packed)
{
    int32_t const size = types.chunk;
    bool const whole = columns % size == 0;
    if (!packed || size < 4 || (!whole && columns <= 8))
    {
        uint32_t const threads = threadsFor(columns < 256 ? columns : 256, 1);
        return {RowLoader::kAgain, 1, true, 0, threads, threads > 32 ? threads : 256, 1, 1};
    }
    bool const bytes = size >= 16;
    // Chunks of 8 bytes are worth it from 64 elements on, and not for those of four bytes.
    if (!whole && size > 4 && columns % (size / 2) == 0 && columns >= 64)
    {
        RowPlan const plan = directPlan(types, rows, columns, size / 2, true);
        if (plan.threads <= kDirectThreads)
        {
            return plan;
        }
    }
    else if (!whole && columns <= mostStaged(types))
    {
        RowPlan const plan = stagedPlan(types, rows, columns);
        if (rowTileBytes(types, plan, columns) <= kRowTileBytes)
        {
            return plan;
        }
    }
    if (!whole && columns < 2 * int64_t{size})
    {
        return {RowLoader::kAgain, size, false, 0, 32, 256, 1, 1}; // it may have no chunk
    }
    // One-byte elements beside several wide rows of weights: those are read from shared memory.
    bool const shared = bytes && types.wide > 1 && whole && columns >= 1024 && rows > kFewRows;
    RowPlan const plan = directPlan(types, rows, columns, size, whole);
    return !shared && plan.threads <= directThreads(types, plan) ? plan : clusterPlan(architecture, types, columns);
}

} // namespace pluginkit::kernels::detail
