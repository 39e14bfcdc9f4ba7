//! Functions of short rows of one-byte elements that aren't made of packs, of many rows: a warp has a tile of
//! neighbouring rows in shared memory, and the next tile is on its way while it computes; for normalize.cuh.
#pragma once

#include <pluginkit/kernels/launch.cuh>
#include <pluginkit/kernels/row_kernels.cuh>
#include <pluginkit/kernels/staged_rows.cuh>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace pluginkit::kernels
{

namespace detail
{

//! 16 bytes from global into shared memory, without registers on the way; `waitForCopies` must follow.
inline __device__ void startCopy(uint4* to, uint4 const* from)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    auto const address = static_cast<uint32_t>(__cvta_generic_to_shared(to));
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(address), "l"(from) : "memory");
#else
    *to = *from;
#endif
}

//! The copies since the last call are one group.
inline __device__ void endCopies()
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}

//! Waits until all of the warp's groups of copies but the last one are there, for all of the warp.
inline __device__ void waitForCopies()
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_group 1;" ::: "memory");
#endif
    __syncwarp();
}

//! Bytes begin to end - 1 of a tensor of `count` that begins at a multiple of 16; at least one. By a warp.
struct WarpPart
{
    int64_t begin;
    int64_t end;
    int64_t count;

    //! Where byte `begin` is in shared memory that `load` fills.
    __device__ int32_t offset() const
    {
        return static_cast<int32_t>(begin % kPackBytes);
    }

    __device__ uint32_t packs() const
    {
        return static_cast<uint32_t>((end - 1) / kPackBytes + 1 - begin / kPackBytes);
    }

    __device__ void load(char const* tensor, char* memory) const
    {
        int64_t const first = begin / kPackBytes;
        for (uint32_t p = threadIdx.x % kLanes; p < packs(); p += kLanes)
        {
            int64_t const at = (first + p) * kPackBytes;
            if (at + kPackBytes <= count)
            {
                startCopy(reinterpret_cast<uint4*>(memory) + p, reinterpret_cast<uint4 const*>(tensor) + first + p);
                continue;
            }
            for (uint32_t i = 0; i < kPackBytes; ++i) // behind the tensor's last whole pack
            {
                memory[p * kPackBytes + i] = at + i < count ? tensor[at + i] : 0;
            }
        }
    }

    //! Copies the bytes back, no others.
    __device__ void store(char* tensor, char const* memory) const
    {
        int64_t const first = begin / kPackBytes;
        uint32_t const last = packs() - 1;
        uint32_t const wholeFrom = offset() == 0 ? 0 : 1;
        uint32_t const wholeTo = end % kPackBytes == 0 ? last + 1 : last;
        for (uint32_t p = wholeFrom + threadIdx.x % kLanes; p < wholeTo; p += kLanes)
        {
            reinterpret_cast<uint4*>(tensor)[first + p] = reinterpret_cast<uint4 const*>(memory)[p];
        }
        // A thread a byte of the two packs that are other parts', too.
        uint32_t const half = threadIdx.x % kLanes / kPackBytes;
        uint32_t const p = half == 0 ? 0 : last;
        int64_t const at = (first + p) * kPackBytes + threadIdx.x % kPackBytes;
        bool const whole = p >= wholeFrom && p < wholeTo;
        if (!whole && (half == 0 || last > 0) && at >= begin && at < end)
        {
            tensor[at] = memory[at - first * kPackBytes];
        }
    }
};

//! Four elements of memory, of which a row has some: all of them, but for the first and the last word of it.
struct TileWord
{
    int32_t index; //!< from the row's first word on
    uint32_t bits; //!< a bit for each element that is the row's
};

//! A row of a matrix in shared memory, from its first word on.
template <typename T>
struct TileInput
{
    T const* data;
    float scale;
};

template <typename T>
constexpr int32_t kIsMatrix<TileInput<T>> = 1;

template <typename T>
struct HeldElements<4, TileInput<T>>
{
    Pack<T> packs[1];

    __device__ void load(TileInput<T> const& in, TileWord const& word)
    {
        loadPacks<4>(in.data, word.index, packs);
    }

    __device__ void unpack(float scale, float* numbers) const
    {
        unpackNumbers<4>(packs, scale, numbers);
    }
};

//! A row that all rows share, as numbers in shared memory.
struct TileWeights
{
    float const* numbers;
};

inline __device__ void loadOne(TileWeights const& in, TileWord const& word, float* numbers)
{
    loadNumbers<4>(in.numbers, word.index, 1.0F, numbers);
}

template <typename T>
__device__ void loadOne(Scalar<T> const& in, TileWord const& /*word*/, float* numbers)
{
    in.template load<4>(0, numbers);
}

//! Who has which words of a row: threads have as many as one another, or one more.
struct TileShares
{
    int32_t words;
    int32_t each;
    int32_t more; //!< threads that have one more

    __device__ TileShares(int32_t words_, uint32_t laneBits)
        : words(words_), each(words_ >> laneBits), more(words_ - (each << laneBits))
    {
    }

    __device__ int32_t first(int32_t lane) const
    {
        return lane * each + min(lane, more);
    }

    __device__ int32_t laneOf(int32_t word) const
    {
        int32_t const inLonger = more * (each + 1);
        return word < inLonger ? word / (each + 1) : more + (word - inLonger) / each;
    }
};

//! How a shared row lies in shared memory: each thread's words apart from the next one's by an odd number of 16 bytes,
//! so that neighbouring threads read from other banks. Where rows aren't made of words there is a copy for each place
//! of a word at which a row can begin.
template <bool Whole>
struct TileSharing
{
    int32_t columns;
    uint32_t laneBits; //!< of as many threads, binary logarithm

    static constexpr int32_t kCopies = Whole ? 1 : 4;

    //! Of a thread's words, in words of four numbers.
    __host__ __device__ static int32_t apart(int32_t columns, uint32_t laneBits)
    {
        return (((columns + 6) / 4 >> laneBits) + 1) | 1;
    }

    //! Numbers of a row, with its copies.
    __host__ __device__ static int32_t numbers(int32_t columns, uint32_t laneBits)
    {
        return 4 * kCopies * (apart(columns, laneBits) << laneBits);
    }

    __device__ int32_t wordsOf(int32_t skipped) const
    {
        return (skipped + columns + 3) / 4;
    }

    //! From which the thread's words are found by their index.
    __device__ float const* from(float const* memory, int32_t skipped, int32_t lane, int32_t first) const
    {
        int32_t const before = Whole ? 0 : skipped << laneBits; // threads of the copies before
        return memory + 4 * ((before + lane) * apart(columns, laneBits) - first);
    }

    //! By all threads of a block.
    template <typename T>
    __device__ void copy(kernels::Row<T> const& in, float* memory) const
    {
        for (int32_t skipped = 0; skipped < kCopies; ++skipped)
        {
            TileShares const shares{wordsOf(skipped), laneBits};
            int32_t const numbers = 4 * shares.words; // some before the row and behind it, which are loaded in vain
            for (auto i = static_cast<int32_t>(threadIdx.x); i < numbers; i += static_cast<int32_t>(blockDim.x))
            {
                int32_t const column = i - skipped;
                int32_t const lane = shares.laneOf(i / 4);
                int32_t const place = ((skipped << laneBits) + lane) * apart(columns, laneBits);
                memory[4 * (place - shares.first(lane)) + i] =
                    column >= 0 && column < columns ? toNumber(in.data[column], in.scale) : 0.0F;
            }
        }
    }
};

//! What tensors are to a warp that has rows of them in shared memory.
template <typename Tensor>
struct TileType
{
    using Type = Tensor;
    static constexpr int32_t kShared = 0; //!< rows that all rows share

    __device__ static Type of(Tensor const& tensor, char const* /*row*/, float const* /*shared*/)
    {
        return tensor;
    }

    template <typename Sharing>
    __device__ static void share(Tensor const& /*tensor*/, Sharing const& /*sharing*/, float* /*shared*/)
    {
    }
};

template <typename T>
struct TileType<Input<T>>
{
    using Type = TileInput<T>;
    static constexpr int32_t kShared = 0;

    __device__ static Type of(Input<T> const& in, char const* row, float const* /*shared*/)
    {
        return {reinterpret_cast<T const*>(row), in.scale};
    }

    template <typename Sharing>
    __device__ static void share(Input<T> const& /*in*/, Sharing const& /*sharing*/, float* /*shared*/)
    {
    }
};

template <typename T>
struct TileType<kernels::Row<T>>
{
    using Type = TileWeights;
    static constexpr int32_t kShared = 1;

    __device__ static Type of(kernels::Row<T> const& /*in*/, char const* /*row*/, float const* shared)
    {
        return {shared};
    }

    template <typename Sharing>
    __device__ static void share(kernels::Row<T> const& in, Sharing const& sharing, float* shared)
    {
        sharing.copy(in, shared);
    }
};

//! `row` is where the thread's row of the matrix is, `shared` where its words of the first shared row are, and `apart`
//! how far from them those of the next one.
inline __device__ Inputs<> inTile(Inputs<> const& /*in*/, char const* /*row*/, float const* /*shared*/,
                                  int32_t /*apart*/)
{
    return {};
}

template <typename First, typename... Rest>
__device__ auto inTile(Inputs<First, Rest...> const& in, char const* row, float const* shared, int32_t apart)
    -> Inputs<typename TileType<First>::Type, typename TileType<Rest>::Type...>
{
    return {TileType<First>::of(in.first, row, shared),
            inTile(in.rest, row, shared + TileType<First>::kShared * apart, apart)};
}

//! Converts the rows that all rows share, by all threads of a block.
template <typename Sharing>
__device__ void shareRows(Inputs<> const& /*in*/, Sharing const& /*sharing*/, float* /*shared*/, int32_t /*apart*/)
{
}

template <typename Sharing, typename First, typename... Rest>
__device__ void shareRows(Inputs<First, Rest...> const& in, Sharing const& sharing, float* shared, int32_t apart)
{
    TileType<First>::share(in.first, sharing, shared);
    shareRows(in.rest, sharing, shared + TileType<First>::kShared * apart, apart);
}

template <typename... In>
__host__ __device__ constexpr int32_t sharedByTiles(Inputs<In...> const* /*in*/)
{
    return (0 + ... + TileType<In>::kShared);
}

inline __device__ void loadTile(Inputs<> const& /*in*/, WarpPart const& /*part*/, char* /*memory*/) {}

template <typename First, typename... Rest>
__device__ void loadTile(Inputs<First, Rest...> const& in, WarpPart const& part, char* memory)
{
    if constexpr (Staging<First>::kStaged)
    {
        part.load(reinterpret_cast<char const*>(in.first.data), memory);
    }
    loadTile(in.rest, part, memory);
}

template <typename First, typename... Rest>
__device__ void storeTile(Outputs<First, Rest...> const& outs, WarpPart const& part, char const* memory, size_t stride)
{
    if constexpr (Staging<First>::kStaged)
    {
        part.store(reinterpret_cast<char*>(outs.first.data), memory);
    }
    if constexpr (sizeof...(Rest) > 0)
    {
        storeTile(outs.rest, part, Staging<First>::kStaged ? memory + stride : memory, stride);
    }
}

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
        typename In::template Raw<4> raw[Words] = {};
#pragma unroll
        for (int32_t k = 0; k < Words; ++k)
        {
            if (has(k))
            {
                in.load(at(k), raw[k]);
            }
        }
#pragma unroll
        for (int32_t k = 0; k < Words; ++k)
        {
            in.unpack(raw[k], held[k]);
        }
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
        for (uint32_t distance = lanes / 2; distance > 0; distance /= 2)
        {
            result = operation(result, __shfl_xor_sync(kWholeWarp, result, static_cast<int>(distance)));
        }
        return result;
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
