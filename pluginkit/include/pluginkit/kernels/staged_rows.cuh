//! Functions of rows of one-byte elements that aren't made of words, by way of shared memory; for normalize.cuh. A
//! block has neighbouring rows, loaded and stored in packs, and a thread words of four elements of its row, put
//! together by shifts wherever the row begins.
#pragma once

#include <pluginkit/kernels/row_kernels.cuh>
#include <pluginkit/kernels/staged.cuh>

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace pluginkit::kernels
{

namespace detail
{

//! A row of a matrix in shared memory, from any byte on.
template <typename T>
struct StagedInput
{
    uint32_t const* words; //!< the first has the row's first element
    uint32_t shift;        //!< bits before it
    float scale;
};

template <typename T>
constexpr int32_t kIsMatrix<StagedInput<T>> = 1;

//! A row that all rows share, in words of four elements.
template <typename T>
struct StagedWeights
{
    T const* data;
    float scale;
};

//! Words are chunks of four elements; `last`: of the row, which may end within it.
using Word = Chunk<4, false>;

template <typename T>
struct HeldElements<4, StagedInput<T>>
{
    Pack<T> pack;

    __device__ void load(StagedInput<T> const& in, Word const& word)
    {
        auto const* const words = in.words + word.index;
        pack.words[0] = __funnelshift_r(words[0], words[1], in.shift);
        pack.words[1] = 0;
        pack.words[2] = 0;
        pack.words[3] = 0;
    }

    __device__ void unpack(float scale, float* numbers) const
    {
        unpackNumbers<4>(&pack, scale, numbers);
    }
};

template <typename T>
__device__ void loadOne(StagedWeights<T> const& in, Word const& word, float* numbers)
{
    if (word.within())
    {
        loadNumbers<4>(in.data, word.index, in.scale, numbers);
        return;
    }
    uint32_t const present = word.present();
#pragma unroll
    for (int32_t j = 0; j < 4; ++j)
    {
        numbers[j] = isPresent(present, j) ? toNumber(in.data[word.column + j], in.scale) : 0.0F;
    }
}

//! What tensors are to a block that has rows of them in shared memory: themselves, unless they are matrices there.
template <typename Tensor>
struct Staging
{
    using Type = Tensor;
    static constexpr bool kStaged = false;
    static constexpr bool kCan = true; //!< whether there is a kernel for it

    __device__ static Tensor of(Tensor const& tensor, char const* /*row*/)
    {
        return tensor;
    }
};

template <typename T>
struct Staging<Input<T>>
{
    using Type = StagedInput<T>;
    static constexpr bool kStaged = true;
    static constexpr bool kCan = sizeof(T) == 1;

    __device__ static Type of(Input<T> const& in, char const* row)
    {
        auto const skipped = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(row) % sizeof(uint32_t));
        return {reinterpret_cast<uint32_t const*>(row - skipped), 8 * skipped, in.scale};
    }
};

template <typename T>
struct Staging<kernels::Row<T>>
{
    using Type = StagedWeights<T>;
    static constexpr bool kStaged = false;
    static constexpr bool kCan = sizeof(T) <= 4;

    __device__ static Type of(kernels::Row<T> const& in, char const* /*row*/)
    {
        return {in.data, in.scale};
    }
};

template <typename T>
struct Staging<Output<T>>
{
    using Type = Output<T>;
    static constexpr bool kStaged = true;
    static constexpr bool kCan = sizeof(T) == 1;

    __device__ static Type of(Output<T> const& out, char* row)
    {
        return {reinterpret_cast<T*>(row), out.inverse};
    }
};

//! Of each tensor what it is to the block: `row` is where the thread's row of the first is, those of the others
//! `stride` bytes behind one another.
inline __device__ Inputs<> staged(Inputs<> const& /*in*/, char const* /*row*/, size_t /*stride*/)
{
    return {};
}

template <typename First, typename... Rest>
__device__ auto staged(Inputs<First, Rest...> const& in, char const* row, size_t stride)
    -> Inputs<typename Staging<First>::Type, typename Staging<Rest>::Type...>
{
    return {Staging<First>::of(in.first, row), staged(in.rest, Staging<First>::kStaged ? row + stride : row, stride)};
}

template <typename First>
__device__ Outputs<First> staged(Outputs<First> const& outs, char* row, size_t /*stride*/)
{
    return {Staging<First>::of(outs.first, row)};
}

template <typename First, typename Second, typename... Rest>
__device__ Outputs<First, Second, Rest...> staged(Outputs<First, Second, Rest...> const& outs, char* row, size_t stride)
{
    return {Staging<First>::of(outs.first, row),
            staged(outs.rest, Staging<First>::kStaged ? row + stride : row, stride)};
}

//! Loads a part of each matrix into shared memory.
inline __device__ void stage(Inputs<> const& /*in*/, Part<int8_t> const& /*part*/, char* /*memory*/, size_t /*stride*/)
{
}

template <typename First, typename... Rest>
__device__ void stage(Inputs<First, Rest...> const& in, Part<int8_t> const& part, char* memory, size_t stride)
{
    if constexpr (Staging<First>::kStaged)
    {
        part.load(reinterpret_cast<int8_t const*>(in.first.data), reinterpret_cast<uint4*>(memory));
        if (threadIdx.x == blockDim.x - 1)
        {
            // The last word is put together of two, the second of which may be behind the part.
            reinterpret_cast<uint4*>(memory)[(part.end - 1) / part.kSize + 1 - part.firstPack()] =
                make_uint4(0, 0, 0, 0);
        }
    }
    stage(in.rest, part, Staging<First>::kStaged ? memory + stride : memory, stride);
}

//! Stores it back.
template <typename First, typename... Rest>
__device__ void unstage(Outputs<First, Rest...> const& outs, Part<int8_t> const& part, char const* memory,
                        size_t stride)
{
    if constexpr (Staging<First>::kStaged)
    {
        part.store(reinterpret_cast<int8_t*>(outs.first.data), reinterpret_cast<uint4 const*>(memory));
    }
    if constexpr (sizeof...(Rest) > 0)
    {
        unstage(outs.rest, part, Staging<First>::kStaged ? memory + stride : memory, stride);
    }
}

template <typename... Tensor>
__host__ __device__ constexpr int32_t stagedOf(Inputs<Tensor...> const* /*in*/)
{
    return (0 + ... + (Staging<Tensor>::kStaged ? 1 : 0));
}

template <typename... Tensor>
__host__ __device__ constexpr int32_t stagedOf(Outputs<Tensor...> const* /*outs*/)
{
    return (0 + ... + (Staging<Tensor>::kStaged ? 1 : 0));
}

template <typename... Tensor>
constexpr bool canStage(Inputs<Tensor...> const* /*in*/)
{
    return (Staging<Tensor>::kCan && ...);
}

template <typename... Tensor>
constexpr bool canStage(Outputs<Tensor...> const* /*outs*/)
{
    return (Staging<Tensor>::kCan && ...);
}

//! A row of which each of some lanes of a warp has Words words, every one its whole row but for the last.
template <int32_t Words, typename In>
struct StagedRow
{
    In in;
    int64_t row;
    int32_t columns;
    uint32_t lane;
    uint32_t lanes;
    bool present; //!< whether there is such a row; if not, what is written is not stored
    float held[Words][In::kMatrices][4];

    __device__ Word at(int32_t k) const
    {
        auto const word = static_cast<int32_t>(lane + static_cast<uint32_t>(k) * lanes);
        return {word, 4 * word, columns, k + 1 == Words};
    }

    //! A bit for each element of word k that is the row's.
    __device__ uint32_t elementsOf(int32_t k) const
    {
        constexpr uint32_t kAll = 0xF;
        int32_t const some = columns - 4 * static_cast<int32_t>(lane + static_cast<uint32_t>(k) * lanes);
        return k + 1 < Words || some >= 4 ? kAll : some <= 0 ? 0 : kAll >> static_cast<uint32_t>(4 - some);
    }

    __device__ bool has(int32_t k) const
    {
        return elementsOf(k) != 0;
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
            if (k + 1 == Words)
            {
                uint32_t const elements = elementsOf(k);
#pragma unroll
                for (int32_t j = 0; j < 4; ++j)
                {
                    results[j] = isPresent(elements, j) ? results[j] : Operation::kIdentity;
                }
            }
            result = operation(result, operation(operation(results[0], results[1]), operation(results[2], results[3])));
        }
        return reduceLanes(result, lanes, operation);
    }

    template <typename Function>
    __device__ auto map(Function const& function) const
    {
        StagedRow<Words, Mapped> mapped{{}, row, columns, lane, lanes, present, {}};
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
        auto const scaled = multiplied(out, factor);
#pragma unroll
        for (int32_t k = 0; k < Words; ++k)
        {
            float results[4];
            apply(k, held[k], function, results);
            multiply<T>(factor, results);
            float all[Pack<T>::kSize] = {results[0], results[1], results[2], results[3]};
            Pack<T> pack;
            Conversion<T>::pack(pack, all, scaled.inverse);
            uint32_t const elements = elementsOf(k);
            auto* const bytes = reinterpret_cast<uint8_t*>(scaled.data) + at(k).column;
#pragma unroll
            for (int32_t j = 0; j < 4; ++j)
            {
                if (isPresent(elements, j))
                {
                    bytes[j] = static_cast<uint8_t>(pack.words[0] >> static_cast<uint32_t>(8 * j));
                }
            }
        }
    }

    template <typename T>
    __device__ void writeOne(RowOutput<T> const& out, float number) const
    {
        if (present && lane == 0)
        {
            toElement(out.data[row], number, out.inverse);
        }
    }
};

constexpr uint32_t kStagedRowThreads = 128; //!< of a block

} // namespace detail

//! A block has neighbouring rows, `lanes` threads of a warp each, and a thread Words words. `stride`: bytes of shared
//! memory for each matrix, inputs and then outputs.
template <int32_t Words, typename Function, typename Outs, typename In>
__global__ void __launch_bounds__(detail::kStagedRowThreads)
    stagedRowsKernel(Function const function, int64_t rows, int32_t columns, uint32_t lanes, uint32_t stride,
                     Outs const outs, In const in)
{
    extern __shared__ uint4 pluginkitStaged[];
    auto* const memory = reinterpret_cast<char*>(pluginkitStaged);
    char* const results = memory + detail::stagedOf(static_cast<In*>(nullptr)) * stride;
    auto const inBlock = static_cast<int64_t>(blockDim.x / lanes);
    int64_t const first = blockIdx.x * inBlock;
    int64_t const some = rows - first < inBlock ? rows - first : inBlock;
    int64_t const begin = first * columns;
    detail::Part<int8_t> const part{begin, begin + some * columns, rows * columns};
    detail::stage(in, part, memory, stride);
    __syncthreads();
    auto const mine = static_cast<int32_t>(threadIdx.x / lanes);
    bool const present = mine < some;
    auto const inputs = detail::staged(in, memory + part.offset() + (present ? mine * columns : 0), stride);
    detail::StagedRow<Words, std::remove_const_t<decltype(inputs)>> row{
        inputs, first + mine, columns, threadIdx.x % lanes, lanes, present, {}};
    row.load();
    detail::callOnRow(function, row, detail::staged(outs, results + part.offset() + mine * columns, stride));
    __syncthreads();
    detail::unstage(outs, part, results, stride);
}

namespace detail
{

constexpr int64_t kMostStaged = int64_t{48} << 10U; //!< bytes of shared memory that a block has without asking

//! Bytes of shared memory for each matrix of a block.
template <typename Work>
int64_t stagedStride(Work const& work, uint32_t lanes) noexcept
{
    // Part loads whole packs, and a row's last word is put together of two.
    return (kStagedRowThreads / lanes * work.columns / kPackBytes + 3) * kPackBytes;
}

//! Bytes of a block's shared memory.
template <typename Work>
int64_t stagedBytes(Work const& work, uint32_t lanes) noexcept
{
    constexpr int32_t kStaged =
        stagedOf(static_cast<decltype(work.in)*>(nullptr)) + stagedOf(static_cast<decltype(work.outs)*>(nullptr));
    return kStaged * stagedStride(work, lanes);
}

template <int32_t Words, typename Work>
void launchStagedRowsOf(Work const& work, uint32_t lanes) noexcept
{
    int64_t const inBlock = kStagedRowThreads / lanes;
    auto const stride = static_cast<uint32_t>(stagedStride(work, lanes));
    auto const bytes = static_cast<size_t>(stagedBytes(work, lanes));
    auto const blocks = static_cast<uint32_t>((work.rows + inBlock - 1) / inBlock);
    stagedRowsKernel<Words><<<blocks, kStagedRowThreads, bytes, work.stream>>>(
        work.function, work.rows, static_cast<int32_t>(work.columns), lanes, stride, work.outs, work.in);
}

//! False for rows that are launched as others are: of other elements, made of words, or of few or many elements.
template <int32_t Size, typename Work>
bool launchStagedRows([[maybe_unused]] Work const& work) noexcept
{
    if constexpr (Size == 16 && canStage(static_cast<decltype(work.in)*>(nullptr)) &&
                  canStage(static_cast<decltype(work.outs)*>(nullptr)))
    {
        int64_t const words = (work.columns + 3) / 4;
        if (work.columns % 4 == 0 || words <= 16 || words > 8 * kLanes)
        {
            return false;
        }
        uint32_t lanes = 4;
        while (words > 8 * lanes)
        {
            lanes *= 2;
        }
        if (stagedBytes(work, lanes) > kMostStaged)
        {
            return false;
        }
        int64_t const each = (words + lanes - 1) / lanes;
        each == 5   ? launchStagedRowsOf<5>(work, lanes)
        : each == 6 ? launchStagedRowsOf<6>(work, lanes)
        : each == 7 ? launchStagedRowsOf<7>(work, lanes)
                    : launchStagedRowsOf<8>(work, lanes);
        return true;
    }
    return false;
}

} // namespace detail

} // namespace pluginkit::kernels
