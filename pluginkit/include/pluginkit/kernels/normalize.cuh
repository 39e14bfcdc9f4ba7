//! A function of each row: reductions, softmax, normalisations, at the speed of the memory. The tensors are linear
//! matrices of `rows` times `columns`; an input may be a row that all rows share, as a norm's weights.
//!
//!     struct Softmax
//!     {
//!         template <typename Row, typename Out>
//!         __device__ void operator()(Row const& row, Out const& y) const
//!         {
//!             float const most = row.reduce(kernels::Max{}, [](float x) { return x; });
//!             auto const powers = row.map([most](float x) { return expf(x - most); });
//!             float const sum = powers.reduce(kernels::Sum{}, [](float power) { return power; });
//!             powers.write(y, [](float power) { return power; }, 1.0F / sum);
//!         }
//!     };
//!     kernels::launchRows(stream, rows, columns, Softmax{}, kernels::output<__half>(y), kernels::input<__half>(x));
//!
//! Every thread of a row's group runs the function; a result of `reduce` is the same in all. Short rows have a part of
//! a warp each, longer ones a block, and stay in registers between the steps; on GPUs of compute capability 9.0 eight
//! blocks have a row that is longer still. Rows too long for that are read again in each step.
#pragma once

#include <pluginkit/kernels/launch.cuh>
#include <pluginkit/kernels/row_cluster.cuh>
#include <pluginkit/kernels/row_kernels.cuh>
#include <pluginkit/kernels/row_policy.cuh>
#include <pluginkit/kernels/row_staged.cuh>
#include <pluginkit/kernels/tuning.cuh>

#include <cstdint>

namespace pluginkit::kernels
{

namespace detail
{

template <typename Values, typename... Tensors>
constexpr RowTypes rowTypes(int32_t outputs, int32_t matrices, int32_t wide)
{
    return {largest(Tensors::kSize...),
            matrices,
            largest(kRowTileBytesOf<Tensors>...),
            (0 + ... + kRowTileBytesOf<Tensors>),
            wide,
            static_cast<int32_t>(sizeof...(Tensors)) - outputs - matrices,
            Values::kThreads,
            Values::kPacks};
}

//! What a launch of rows is given.
template <typename Tuning, typename Function, typename Outs, typename In>
struct RowsWork;

template <typename Tuning, typename Function, typename... Out, typename... In>
struct RowsWork<Tuning, Function, Outputs<Out...>, Inputs<In...>>
{
    using Values = Tuning;
    static constexpr RowTypes kTypes = rowTypes<Tuning, Out..., In...>(
        static_cast<int32_t>(sizeof...(Out)), Inputs<In...>::kMatrices, (0 + ... + kIsWideRow<In>));

    cudaStream_t stream;
    int64_t rows;
    int64_t columns;
    Function function;
    Outputs<Out...> outs;
    Inputs<In...> in;
};

//! A thread has Chunks chunks of a row of a block or a warp, or reads a row again in each step.
template <int32_t Size, bool Whole, int32_t Chunks, int32_t Sure, typename Work>
void launchRowsOf(Work const& work, RowPlan const& plan) noexcept
{
    // What registers there are for; weights take some, too.
    constexpr bool kBytes = Size >= 16 && Whole && Chunks > 1;
    constexpr int32_t kMost = kBytes ? 256 : static_cast<int32_t>(kDirectThreads);
    constexpr int32_t kThreads = kThreadsOf<kMost, typename Work::Values>;
    constexpr int32_t kNumbers = Size * Chunks * decltype(work.in)::kMatrices;
    constexpr bool kUnbound = Chunks == 0 || Work::kTypes.weights > 0 || kNumbers > (Whole ? 64 : Size >= 16 ? 32 : 16);
    constexpr int32_t kUsual = kNumbers > 16 || !Whole ? 2 : Size >= 16 ? 4 : 3;
    constexpr int32_t kBlocks = kUnbound ? 1 : kBytes ? (kNumbers > 48 ? 2 : kNumbers > 32 ? 3 : 4) : kUsual;
    int64_t const inBlock = plan.block / plan.threads;
    launchEarly(rowsKernel<Size, Whole, Chunks, Sure, kThreads, kBlocks, decltype(work.function), decltype(work.outs),
                           decltype(work.in)>,
                static_cast<uint32_t>((work.rows + inBlock - 1) / inBlock), plan.block, work.stream, work.function,
                work.rows, work.columns, plan.threads, work.outs, work.in);
}

//! Rows that are made of chunks of 16 bytes, of which a thread has at most Chunks.
template <int32_t Size, int32_t Chunks, typename Work>
void launchWhole(Work const& work, RowPlan const& plan) noexcept
{
    constexpr int32_t kFewer = Chunks > 4 ? 4 : Chunks - 1; // tuned values may ask for more than the usual four
    if constexpr (kFewer > 0)
    {
        if (plan.chunks <= kFewer)
        {
            return launchWhole<Size, kFewer>(work, plan);
        }
    }
    launchRowsOf<Size, true, Chunks, kFewer>(work, plan);
}

//! Others, of which a thread has at most Chunks, or a half of that.
template <int32_t Size, int32_t Chunks, typename Work>
void launchOdd(Work const& work, RowPlan const& plan) noexcept
{
    if constexpr (Chunks > 2)
    {
        if (plan.chunks <= Chunks / 2)
        {
            return launchOdd<Size, Chunks / 2>(work, plan);
        }
    }
    launchRowsOf<Size, false, Chunks, 0>(work, plan);
}

template <typename Work>
void launchDirect(Work const& work, RowPlan const& plan) noexcept
{
    constexpr RowTypes kTypes = Work::kTypes;
    constexpr int32_t kSize = kTypes.chunk;
    constexpr int32_t kHalf = kSize / 2;
    constexpr int32_t kEach = directChunks(kTypes, kSize);
    if constexpr (kSize > 4)
    {
        if (plan.size < kSize)
        {
            return launchRowsOf<kHalf, true, directChunks(kTypes, kHalf), 0>(work, plan);
        }
    }
    plan.whole ? launchWhole<kSize, kEach>(work, plan) : launchOdd<kSize, kEach>(work, plan);
}

//! 90 for compute capability 9.0; 0 where it is not known.
inline int32_t architectureHere() noexcept
{
    int device = 0;
    int major = 0;
    int minor = 0;
    bool const known = cudaGetDevice(&device) == cudaSuccess &&
                       cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device) == cudaSuccess &&
                       cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device) == cudaSuccess;
    return known ? 10 * major + minor : 0;
}

template <typename Work>
void launchPlanned(Work const& work, bool packed) noexcept
{
    constexpr RowTypes kTypes = Work::kTypes;
    constexpr int32_t kSize = kTypes.chunk;
    RowPlan const plan = planRows(architectureHere(), kTypes, work.rows, work.columns, packed);
    if constexpr (kSize >= 4)
    {
        if (plan.loader == RowLoader::kStaged)
        {
            return launchStagedRows(work, plan);
        }
        if (plan.loader == RowLoader::kDirect)
        {
            return launchDirect(work, plan);
        }
        if (plan.loader == RowLoader::kCluster &&
            (plan.whole ? launchClusterRows<kSize, true>(work, plan) : launchClusterRows<kSize, false>(work, plan)))
        {
            return;
        }
        if (packed)
        {
            return launchRowsOf<kSize, false, 0, 0>(
                work, {RowLoader::kAgain, kSize, false, 0, kDirectThreads, kDirectThreads, 1, 1});
        }
    }
    launchRowsOf<1, true, 0, 0>(work, plan);
}

template <typename Values, typename Function, typename... Out, typename... In>
cudaError_t launchRowsBy(cudaStream_t stream, int64_t rows, int64_t columns, Function const& function,
                         Outputs<Out...> const& outs, In... in) noexcept
{
    bool packed = canPackAll(outs);
    ((packed = canPack(in.data) && packed), ...);
    launchPlanned(RowsWork<Values, Function, Outputs<Out...>, Inputs<In...>>{stream, rows, columns, function, outs,
                                                                             inputsOf(in...)},
                  packed);
    return cudaGetLastError();
}

} // namespace detail

//! Starts the kernel on a stream, which may be `tuned` (tuning.cuh), and returns at once; without elements it starts
//! nothing.
//!
//! `function(row, out...)` gets the outputs in their order. `row.reduce(operation, f)` reduces f(x, ...) over the row,
//! where f gets a number of each input in their order; `row.map(f)` is the row of f(x, ...), with one number;
//! `row.write(out, f)` writes f(x, ...) into an output, `row.write(out, f, factor)` its product with a factor of the
//! whole row, which costs nothing where elements have a scale; `row.writeOne(out, number)` one number of the row into a
//! `rowOutput`. Every thread must call them, in the same order. An output may be one of the inputs that the function
//! doesn't use after it has written the output: a row that is too long for registers is read again in each step.
//!
//! If a tensor doesn't begin at a multiple of 16 bytes, elements are taken one by one.
template <typename Stream, typename Function, typename... Out, typename... In>
cudaError_t launchRows(Stream const& stream, int64_t rows, int64_t columns, Function const& function,
                       Outputs<Out...> outs, In... in) noexcept
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
                      { return detail::launchRowsBy<decltype(values)>(on, rows, columns, function, outs, in...); });
}

//! Of one output.
template <typename Stream, typename Function, typename T, typename... In>
cudaError_t launchRows(Stream const& stream, int64_t rows, int64_t columns, Function const& function, Output<T> out,
                       In... in) noexcept
{
    return launchRows(stream, rows, columns, function, outputs(out), in...);
}

template <typename Stream, typename Function, typename T, typename... In>
cudaError_t launchRows(Stream const& stream, int64_t rows, int64_t columns, Function const& function, RowOutput<T> out,
                       In... in) noexcept
{
    return launchRows(stream, rows, columns, function, outputs(out), in...);
}

} // namespace pluginkit::kernels
