//! Functions of rows of one-byte elements that aren't made of packs: a warp has a row in words of memory, the first
//! and last of which may be its neighbours', too; for normalize.cuh.
#pragma once

#include <pluginkit/kernels/launch.cuh>
#include <pluginkit/kernels/row_kernels.cuh>
#include <pluginkit/kernels/staged_rows.cuh>

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace pluginkit::kernels
{

namespace detail
{

//! Four elements of memory, of which a row has some: all of them, but for the first and the last word of it.
struct RowWord
{
    int64_t index;   //!< in the matrix
    int32_t inRow;   //!< from the row's first word on
    int32_t skipped; //!< elements of that word before the row
    uint32_t bits;   //!< a bit for each element that is the row's
    bool inTensor;   //!< whether all its elements are the tensor's
    bool followed;   //!< whether the next four elements are the row's, too

    __device__ bool full() const
    {
        return bits == 0xF;
    }

    __device__ bool within() const
    {
        return inTensor;
    }

    __device__ uint32_t present() const
    {
        return bits;
    }
};

//! A shared row begins at a word: an element's word of it and the one before have the four that belong to a word of
//! the matrix. Where `skipped` is known to the compiler, no others are converted.
template <typename T>
__device__ void loadOne(kernels::Row<T> const& in, RowWord const& word, float* numbers)
{
    if (word.followed)
    {
        float both[8];
        if (word.skipped > 0)
        {
            loadNumbers<4>(in.data, word.inRow - 1, in.scale, both);
        }
        loadNumbers<4>(in.data, word.inRow, in.scale, both + 4);
#pragma unroll
        for (int32_t j = 0; j < 4; ++j)
        {
            numbers[j] = both[4 + j - word.skipped];
        }
        return;
    }
    int32_t const column = 4 * word.inRow - word.skipped;
#pragma unroll
    for (int32_t j = 0; j < 4; ++j)
    {
        numbers[j] = isPresent(word.present(), j) ? toNumber(in.data[column + j], in.scale) : 0.0F;
    }
}

template <typename T>
__device__ void loadOne(Scalar<T> const& in, RowWord const& /*word*/, float* numbers)
{
    in.template load<4>(0, numbers);
}

//! A warp's row, of which each thread has Words words; only the first and the last may be no whole ones of the row.
//! Skipped: elements of its first word before it.
template <int32_t Words, int32_t Skipped, typename In>
struct WordRow
{
    In in;
    int64_t row;
    int64_t first; //!< word
    int32_t columns;
    bool last; //!< of the matrix
    float held[Words][In::kMatrices][4];

    //! A bit for each element of word k that is the row's.
    __device__ uint32_t elementsOf(int32_t k) const
    {
        constexpr uint32_t kAll = 0xF;
        uint32_t present = kAll;
        if (k == 0)
        {
            present = threadIdx.x % kLanes == 0 ? kAll << static_cast<uint32_t>(Skipped) & kAll : kAll;
        }
        if (k + 1 == Words)
        {
            int32_t const some = columns - columnOf(k);
            present &= some >= 4 ? kAll : some <= 0 ? 0 : kAll >> static_cast<uint32_t>(4 - some);
        }
        return present;
    }

    __device__ int32_t columnOf(int32_t k) const
    {
        return 4 * (static_cast<int32_t>(threadIdx.x % kLanes) + k * static_cast<int32_t>(kLanes)) - Skipped;
    }

    __device__ RowWord at(int32_t k) const
    {
        int32_t const column = columnOf(k);
        return {first + threadIdx.x % kLanes + k * int64_t{kLanes},
                (column + Skipped) / 4,
                Skipped,
                elementsOf(k),
                !last || k + 1 < Words || column + 4 <= columns,
                (k > 0 && k + 2 < Words) || (column >= 0 && column + 8 <= columns)};
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
            if (k == 0 || k + 1 == Words)
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
        return warpReduce(result, operation);
    }

    template <typename Function>
    __device__ auto map(Function const& function) const
    {
        WordRow<Words, Skipped, Mapped> mapped{{}, row, first, columns, last, {}};
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
            auto const word = at(k);
            if (word.full())
            {
                reinterpret_cast<uint32_t*>(scaled.data)[word.index] = pack.words[0];
                continue;
            }
            auto* const bytes = reinterpret_cast<uint8_t*>(scaled.data) + 4 * word.index;
#pragma unroll
            for (int32_t j = 0; j < 4; ++j)
            {
                if (isPresent(word.present(), j))
                {
                    bytes[j] = static_cast<uint8_t>(pack.words[0] >> static_cast<uint32_t>(8 * j));
                }
            }
        }
    }

    template <typename T>
    __device__ void writeOne(RowOutput<T> const& out, float number) const
    {
        if (threadIdx.x % kLanes == 0)
        {
            toElement(out.data[row], number, out.inverse);
        }
    }
};

constexpr uint32_t kWordThreads = 128; //!< of a block

} // namespace detail

//! A warp has a row.
template <int32_t Words, typename Function, typename Outs, typename In>
__global__ void __launch_bounds__(detail::kWordThreads)
    wordRowsKernel(bool early, Function const function, int64_t rows, int32_t columns, Outs const outs, In const in)
{
    int64_t const number = static_cast<int64_t>(blockIdx.x) * (detail::kWordThreads / kLanes) + threadIdx.x / kLanes;
    int64_t const begin = number * columns;
    detail::waitForStream(early);
    if (number >= rows)
    {
        return;
    }
    auto const call = [&](auto skipped)
    {
        detail::WordRow<Words, decltype(skipped)::value, In> row{in, number, begin / 4, columns, number + 1 == rows,
                                                                 {}};
        row.load();
        detail::callOnRow(function, row, outs);
    };
    // A tenth to a fifth of the instructions less than with a variable.
    switch (begin % 4)
    {
    case 0:
        return call(std::integral_constant<int32_t, 0>{});
    case 1:
        return call(std::integral_constant<int32_t, 1>{});
    case 2:
        return call(std::integral_constant<int32_t, 2>{});
    default:
        return call(std::integral_constant<int32_t, 3>{});
    }
}

namespace detail
{

template <int32_t Words, typename Work>
void launchWordRowsOf(Work const& work) noexcept
{
    constexpr int64_t kInBlock = kWordThreads / kLanes;
    launchEarlyIfFew(wordRowsKernel<Words, decltype(work.function), decltype(work.outs), decltype(work.in)>,
                     static_cast<uint32_t>((work.rows + kInBlock - 1) / kInBlock), kWordThreads, work.stream,
                     work.function, work.rows, static_cast<int32_t>(work.columns), work.outs, work.in);
}

//! False for rows that are launched as others are: of other elements, of few or many of them, and of widths for which
//! another kernel was faster on an H100.
template <int32_t Size, typename Work>
bool launchWordRows([[maybe_unused]] Work const& work) noexcept
{
    if constexpr (Size == 16 && canStage(static_cast<decltype(work.in)*>(nullptr)) &&
                  canStage(static_cast<decltype(work.outs)*>(nullptr)))
    {
        constexpr int64_t kInTurn = 4 * kLanes;
        int64_t const columns = work.columns;
        int64_t const words = (columns + kInTurn - 1) / kInTurn;
        // A row's last word must be a thread's last one, wherever in a word the row begins.
        bool const longer = columns % 4 != 0 && columns % kInTurn > kInTurn - 3;
        bool const few = columns <= (columns % 4 == 0 ? 416 : 320);
        bool const quarters = columns % 8 == 4 && columns > 460 && columns <= 512; // most threads have a chunk of 4
        bool const eighths = columns % 16 == 0 || (columns % 8 == 0 && columns > 832);
        if (few || quarters || eighths || words > 8 || longer)
        {
            return false;
        }
        words == 3   ? launchWordRowsOf<3>(work)
        : words == 4 ? launchWordRowsOf<4>(work)
        : words == 5 ? launchWordRowsOf<5>(work)
        : words == 6 ? launchWordRowsOf<6>(work)
        : words == 7 ? launchWordRowsOf<7>(work)
                     : launchWordRowsOf<8>(work);
        return true;
    }
    return false;
}

} // namespace detail

} // namespace pluginkit::kernels
