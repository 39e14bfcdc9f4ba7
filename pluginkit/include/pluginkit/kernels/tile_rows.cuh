//! Functions of short rows of one-byte elements that aren't made of packs, of many rows: a warp has a tile of
//! neighbouring rows in shared memory, and the next tile is on its way while it computes; for normalize.cuh.
#pragma once

#include <pluginkit/kernels/launch.cuh>
#include <pluginkit/kernels/row_kernels.cuh>
#include <pluginkit/kernels/row_tiles.cuh>
#include <pluginkit/kernels/staged_rows.cuh>
#include <pluginkit/kernels/warp_copies.cuh>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace pluginkit::kernels
{

namespace detail
{

//! The words that each thread has at least, of a kernel for so many at most.
template <int32_t Words, bool Whole>
constexpr int32_t kLeastWords = Words == 13 ? 10
                                : Whole     ? Words - 2
                                            : 6;

//! A row that some threads of a warp have in registers, each neighbouring words of it: at most Words. Whole: rows are
//! made of words; if they aren't, the first and the last word of one have elements of others, too.
template <int32_t Words, bool Whole, typename In>
struct TileRow
{
    In in;
    int64_t row;
    int32_t columns;
    int32_t skipped; //!< elements of the first word before the row
    int32_t first;   //!< word of this thread
    int32_t mine;    //!< words
    uint32_t lanes;
    bool present; //!< whether there is such a row; if not, it is another one that is not written
    float held[Words][In::kMatrices][4];

    __device__ bool has(int32_t k) const
    {
        return k < kLeastWords<Words, Whole> || k < mine;
    }

    //! Whether word k may be one of which the row hasn't all elements.
    __device__ static constexpr bool mayBePart(int32_t k)
    {
        return !Whole && (k == 0 || k + 1 >= kLeastWords<Words, Whole>);
    }

    __device__ TileWord at(int32_t k) const
    {
        constexpr uint32_t kAll = 0xF;
        uint32_t bits = kAll;
        if (mayBePart(k))
        {
            if (k == 0 && first == 0)
            {
                bits = kAll << static_cast<uint32_t>(skipped) & kAll;
            }
            int32_t const some = skipped + columns - 4 * (first + k);
            bits &= some >= 4 ? kAll : some <= 0 ? 0 : kAll >> static_cast<uint32_t>(4 - some);
        }
        return {first + k, bits};
    }

    __device__ void load()
    {
        loadWords<Words>(*this);
    }

    template <typename Function>
    __device__ void apply(int32_t k, float const (*mine)[4], Function const& function, float (&results)[4]) const
    {
        float numbers[In::kCount][4];
        in.recall(mine, at(k), has(k), numbers);
        applyAll(function, numbers, results);
    }

    template <typename Operation, typename Function>
    __device__ float reduce(Operation operation, Function const& function) const
    {
        float result = Operation::kIdentity;
#pragma unroll
        for (int32_t k = 0; k < Words; ++k)
        {
            float results[4];
            apply(k, held[k], function, results);
            if (mayBePart(k))
            {
                uint32_t const bits = at(k).bits;
#pragma unroll
                for (int32_t j = 0; j < 4; ++j)
                {
                    results[j] = isPresent(bits, j) ? results[j] : Operation::kIdentity;
                }
            }
            float const folded = operation(operation(results[0], results[1]), operation(results[2], results[3]));
            result = has(k) ? operation(result, folded) : result;
        }
        return reduceLanes(result, lanes, operation);
    }

    template <typename Function>
    __device__ auto map(Function const& function) const
    {
        TileRow<Words, Whole, Mapped> mapped{{}, row, columns, skipped, first, mine, lanes, present, {}};
#pragma unroll
        for (int32_t k = 0; k < Words; ++k)
        {
            apply(k, held[k], function, mapped.held[k][0]);
        }
        return mapped;
    }

    template <typename T, typename Function>
    __device__ void write(Output<T> const& out, Function const& function, float factor = 1.0F) const
    {
        if (!present)
        {
            return; // its words may have elements of a row that is there
        }
        auto const scaled = multiplied(out, factor);
#pragma unroll
        for (int32_t k = 0; k < Words; ++k)
        {
            float results[4];
            apply(k, held[k], function, results);
            multiply<T>(factor, results);
            if (!has(k))
            {
                continue;
            }
            auto const word = at(k);
            if (!mayBePart(k) || word.bits == 0xF)
            {
                storeNumbers<4>(scaled.data, word.index, results, scaled.inverse);
                continue;
            }
#pragma unroll
            for (int32_t j = 0; j < 4; ++j)
            {
                if (isPresent(word.bits, j))
                {
                    toElement(scaled.data[4 * word.index + j], results[j], scaled.inverse);
                }
            }
        }
    }

    template <typename T>
    __device__ void writeOne(RowOutput<T> const& out, float number) const
    {
        if (present && first == 0)
        {
            toElement(out.data[row], number, out.inverse);
        }
    }
};

constexpr uint32_t kTileRowThreads = 256; //!< of a block, of which a multiprocessor has three
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
constexpr uint32_t kTileRowBlocks = 1; // it has no such copies, and is never asked for these blocks
#else
constexpr uint32_t kTileRowBlocks = 3;
#endif

} // namespace detail

//! `stride`: bytes of shared memory for a tile of a matrix. A warp has two of the input, and one of each output.
template <int32_t Words, bool Whole, typename Function, typename Outs, typename In>
__global__ void __launch_bounds__(detail::kTileRowThreads, detail::kTileRowBlocks)
    tileRowsKernel(bool early, Function const function, int64_t rows, int32_t columns, uint32_t laneBits,
                   uint32_t stride, Outs const outs, In const in)
{
    constexpr uint32_t kTiles = 2 + detail::stagedOf(static_cast<Outs*>(nullptr));
    constexpr int32_t kShared = detail::sharedByTiles(static_cast<In*>(nullptr));
    extern __shared__ uint4 pluginkitStaged[];
    auto* const shared = reinterpret_cast<float*>(pluginkitStaged);
    uint32_t const lanes = 1U << laneBits;
    detail::TileSharing<Whole> const sharing{columns, laneBits};
    int32_t const apart = detail::TileSharing<Whole>::numbers(columns, laneBits);
    char* const own = reinterpret_cast<char*>(shared + kShared * apart) + threadIdx.x / kLanes * (kTiles * stride);
    char* const results = own + 2 * stride;
    auto const inTile = static_cast<int64_t>(kLanes / lanes);
    auto const lane = static_cast<int32_t>(threadIdx.x % lanes);
    auto const mine = static_cast<int32_t>(threadIdx.x % kLanes / lanes); // the row
    int64_t const warp = int64_t{blockIdx.x} * (detail::kTileRowThreads / kLanes) + threadIdx.x / kLanes;
    int64_t const step = int64_t{gridDim.x} * (detail::kTileRowThreads / kLanes) * inTile;
    auto const partFrom = [&](int64_t first)
    {
        int64_t const behind = first + inTile < rows ? first + inTile : rows;
        return detail::WarpPart{first * columns, behind * columns, rows * columns};
    };
    detail::waitForStream(early);
    int64_t first = warp * inTile;
    if (first < rows)
    {
        detail::loadTile(in, partFrom(first), own);
    }
    detail::endCopies();
    if constexpr (kShared > 0)
    {
        detail::shareRows(in, sharing, shared, apart);
        __syncthreads();
    }
    for (uint32_t turn = 0; first < rows; turn ^= 1U)
    {
        int64_t const next = first + step;
        if (next < rows)
        {
            detail::loadTile(in, partFrom(next), own + (turn ^ 1U) * stride);
        }
        detail::endCopies();
        detail::waitForCopies();
        auto const part = partFrom(first);
        bool const present = first + mine < rows;
        int32_t const begin = part.offset() + (present ? mine * columns : 0);
        int32_t const skipped = Whole ? 0 : begin % 4;
        detail::TileShares const shares{sharing.wordsOf(skipped), laneBits};
        int32_t const from = shares.first(lane);
        auto const inputs = detail::inTile(in, own + turn * stride + (begin - skipped),
                                           sharing.from(shared, skipped, lane, from), apart);
        detail::TileRow<Words, Whole, std::remove_const_t<decltype(inputs)>> row{
            inputs, first + mine,        columns, skipped, from, shares.each + (lane < shares.more ? 1 : 0),
            lanes,  first + mine < rows, {}};
        row.load();
        detail::callOnRow(function, row, detail::staged(outs, results + (begin - skipped), stride));
        __syncwarp();
        detail::storeTile(outs, part, results, stride);
        __syncwarp(); // nobody writes there again before all have read it
        first = next;
    }
}

namespace detail
{

template <int32_t Words, bool Whole, typename Work>
bool launchTileRowsOf(Work const& work, uint32_t laneBits, int64_t least) noexcept
{
    constexpr uint32_t kTiles = 2 + stagedOf(static_cast<decltype(work.outs)*>(nullptr));
    constexpr int32_t kShared = sharedByTiles(static_cast<decltype(work.in)*>(nullptr));
    constexpr uint32_t kWarps = kTileRowThreads / kLanes;
    auto* const kernel = tileRowsKernel<Words, Whole, decltype(work.function), decltype(work.outs), decltype(work.in)>;
    auto const columns = static_cast<int32_t>(work.columns);
    // A tile may begin within a pack, and a row within a word.
    auto const stride = static_cast<uint32_t>(((kLanes >> laneBits) * work.columns / kPackBytes + 3) * kPackBytes);
    auto const numbers = static_cast<size_t>(kShared * TileSharing<Whole>::numbers(columns, laneBits));
    size_t const bytes = size_t{kWarps} * kTiles * stride + sizeof(float) * numbers;
    // What the widest rows of this kernel take, whatever these take: it is the kernel's, and another thread's launch of
    // other rows may come between this and the launch.
    constexpr uint32_t kMostLaneBits = 5;
    constexpr uint32_t kMostColumns = kLanes * Words * 4;
    auto const most =
        kWarps * kTiles * (kMostColumns + 3 * kPackBytes) +
        sizeof(float) * static_cast<size_t>(kShared * TileSharing<Whole>::numbers(kMostColumns, kMostLaneBits));
    int device = 0;
    int processors = 0;
    int blocks = 0;
    if (cudaGetDevice(&device) != cudaSuccess ||
        cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device) != cudaSuccess ||
        cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(most)) !=
            cudaSuccess ||
        cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, static_cast<int>(kTileRowThreads), bytes) !=
            cudaSuccess)
    {
        static_cast<void>(cudaGetLastError()); // the next launch's error isn't this one
        return false;
    }
    int64_t const inBlock = kTileRowThreads >> laneBits;
    int64_t const needed = (work.rows + inBlock - 1) / inBlock;
    int64_t const resident = int64_t{blocks} * processors;
    if (blocks < static_cast<int>(kTileRowBlocks) || 2 * needed < least * resident)
    {
        return false;
    }
    launchEarlyIfFew(kernel, static_cast<uint32_t>(std::min(needed, resident)), {kTileRowThreads, bytes}, work.stream,
                     work.function, work.rows, columns, laneBits, stride, work.outs, work.in);
    return true;
}

template <bool Whole, typename Work>
bool launchTileRowsIn(Work const& work, int64_t least) noexcept
{
    constexpr int64_t kLeast = 7; // words of a thread
    constexpr int64_t kMost = 13;
    int64_t const words = (work.columns + (Whole ? 0 : 6)) / 4; // at most
    if (words < kLeast)
    {
        return false;
    }
    uint32_t laneBits = 0;
    while (words > kMost << laneBits)
    {
        ++laneBits;
    }
    int64_t const each = (words + (1 << laneBits) - 1) >> laneBits;
    if constexpr (Whole) // of others there is one kernel less to compile
    {
        if (each <= 8)
        {
            return launchTileRowsOf<8, Whole>(work, laneBits, least);
        }
    }
    return each <= 10 ? launchTileRowsOf<10, Whole>(work, laneBits, least)
                      : launchTileRowsOf<13, Whole>(work, laneBits, least);
}

//! False for rows that are launched as others are: of other elements, of several matrices, of few rows, and of widths
//! for which another kernel has few threads without elements, and was faster on an H100.
template <int32_t Size, typename Work>
bool launchTileRows([[maybe_unused]] Work const& work) noexcept
{
    using In = decltype(work.in);
    if constexpr (Size == 16 && In::kMatrices == 1 && canStage(static_cast<In*>(nullptr)) &&
                  canStage(static_cast<decltype(work.outs)*>(nullptr)))
    {
        constexpr bool kShared = sharedByTiles(static_cast<In*>(nullptr)) > 0;
        constexpr bool kNarrow = kShared && !In::kWide; // rows of one-byte elements
        constexpr int64_t kShort = 64;
        constexpr int64_t kMost = kNarrow ? 832 : kShared ? 512 : 416;
        int64_t const columns = work.columns;
        if (columns % 4 != 0)
        {
            // Longer ones lose more by their first and last words than they gain.
            return columns < kShort && launchTileRowsIn<false>(work, 1);
        }
        bool const packs = columns % Size == 0 && !(kNarrow && columns <= kShort);
        bool const halves = columns % 8 == 0 && columns > 224 && columns <= 256; // most threads have a chunk of 8
        bool const quarters = columns % 8 == 4 && columns > 460 && columns <= 512;
        if (packs || halves || quarters || columns > kMost)
        {
            return false;
        }
        // Chunks of four or eight elements for at least two thirds of the threads are as fast for less than 16 MiB.
        int64_t const chunks = columns % 8 == 0 ? columns / 8 : columns / 4;
        int64_t const slots = chunks <= kLanes ? kLanes : 4 * kLanes;
        return launchTileRowsIn<true>(work, 3 * chunks < 2 * slots ? 1 : 6);
    }
    return false;
}

} // namespace detail

} // namespace pluginkit::kernels
