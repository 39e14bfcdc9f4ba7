//! A function of each element, at the speed of the memory: of one to several inputs, into one output or several. All
//! tensors are linear and of the output's shape; an input may be a row or one number instead (tensors.cuh).
//!
//!     struct Leaky
//!     {
//!         float slope;
//!         __device__ float operator()(float x) const
//!         {
//!             return x >= 0.0F ? x : slope * x;
//!         }
//!     };
//!     kernels::launchElementwise(stream, count, Leaky{0.1F}, kernels::output<__half>(y), kernels::input<__half>(x));
#pragma once

#include <pluginkit/kernels/launch.cuh>
#include <pluginkit/kernels/tensors.cuh>
#include <pluginkit/kernels/tuning.cuh>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace pluginkit::kernels
{

namespace detail
{

//! A function's numbers for an element, as an array.
inline __device__ void keep(float result, float* numbers)
{
    numbers[0] = result;
}

template <int32_t Count>
__device__ void keep(Results<Count> const& results, float* numbers)
{
#pragma unroll
    for (int32_t k = 0; k < Count; ++k)
    {
        numbers[k] = results.numbers[k];
    }
}

//! Chunk `chunk` of each output, of the inputs' numbers there.
template <int32_t Size, size_t Count, typename Function, typename Outs>
__device__ void applyToChunk(Function const& function, float const (&numbers)[Count][Size], Outs const& outs,
                             int64_t chunk)
{
    float results[Outs::kCount][Size];
#pragma unroll
    for (int32_t j = 0; j < Size; ++j)
    {
        float element[Outs::kCount];
        keep(applied(function, numbers, j, std::make_index_sequence<Count>{}), element);
#pragma unroll
        for (int32_t k = 0; k < Outs::kCount; ++k)
        {
            results[k][j] = element[k];
        }
    }
    storeAll<Size>(outs, chunk, results);
}

} // namespace detail

constexpr uint32_t kElementwiseThreads = 256; //!< of a block
constexpr int32_t kElementwisePacks = 1;      //!< chunks of a thread
constexpr int64_t kMaxGrid = 0x7FFFFFFF;      //!< blocks of a launch, in its first dimension

//! A thread takes Packs chunks of each tensor: as many elements as 16 bytes of the narrowest type have. Behind the last
//! whole chunk it takes elements. (Without chunks, elements.) All is loaded before the first result is written,
//! and no thread reads what another writes: so an output may be one of the inputs, but not a row or a scalar.
template <int32_t Size, uint32_t Threads, int32_t Packs, typename Function, typename Outs, typename... In>
__global__ void __launch_bounds__(Threads)
    elementwiseKernel(bool early, Function const function, int64_t chunks, int64_t count, Outs const outs, In... in)
{
    int64_t const first = chunks * Size;
    int64_t const threads = blockDim.x; // at most Threads
    int64_t const step = gridDim.x * threads * Packs;
    int64_t begin = blockIdx.x * threads * Packs + threadIdx.x;
    detail::waitForStream(early);
    for (; begin < chunks + (count - first); begin += step)
    {
        if (begin + (Packs - 1) * threads >= chunks)
        {
#pragma unroll
            for (int32_t k = 0; k < Packs; ++k)
            {
                int64_t const i = begin + k * threads;
                if (i >= chunks + (count - first))
                {
                    break;
                }
                if (Packs > 1 && i < chunks)
                {
                    float numbers[sizeof...(In)][Size];
                    [[maybe_unused]] size_t place = 0;
                    (in.template load<Size>(i, numbers[place++]), ...);
                    detail::applyToChunk(function, numbers, outs, i);
                    continue;
                }
                int64_t const at = first + (i - chunks);
                float results[Outs::kCount];
                detail::keep(function(in.at(at)...), results);
                detail::setAll<0>(outs, at, results);
            }
            continue;
        }
        float numbers[Packs][sizeof...(In)][Size];
#pragma unroll
        for (int32_t k = 0; k < Packs; ++k)
        {
            [[maybe_unused]] size_t place = 0;
            (in.template load<Size>(begin + k * threads, numbers[k][place++]), ...);
        }
#pragma unroll
        for (int32_t k = 0; k < Packs; ++k)
        {
            detail::applyToChunk(function, numbers[k], outs, begin + k * threads);
        }
    }
}

namespace detail
{

template <typename Values, typename Function, typename... Out, typename... In>
cudaError_t elementwise(cudaStream_t stream, int64_t count, Function const& function, Outputs<Out...> const& outs,
                        In... in) noexcept
{
    constexpr uint32_t kThreads = Values::kThreads > 0 ? Values::kThreads : kElementwiseThreads;
    constexpr int32_t kSize = largest(Out::kSize..., In::kSize...);
    bool packed = canPackAll(outs);
    ((packed = in.prepare(kSize) && packed), ...);
    int64_t const chunks = packed ? count / kSize : 0;
    constexpr int32_t kPacks = Values::kPacks > 0 ? Values::kPacks : kElementwisePacks;
    constexpr int64_t kFewChunks = 16384; // with many elements each: spread over more multiprocessors
    int64_t const work = chunks + (count - chunks * kSize);
    uint32_t const threads = kSize >= 16 && Values::kThreads == 0 && work <= kFewChunks ? kThreads / 2 : kThreads;
    int64_t const inBlock = int64_t{threads} * kPacks;
    auto const blocks = std::min((work + inBlock - 1) / inBlock, kMaxGrid);
    launchEarlyIfFew(elementwiseKernel<kSize, kThreads, kPacks, Function, Outputs<Out...>, In...>,
                     static_cast<uint32_t>(blocks), threads, stream, function, chunks, count, outs, in...);
    return cudaGetLastError();
}

} // namespace detail

//! Starts the kernel on a stream, which may be `tuned` (tuning.cuh), and returns at once; without elements it starts
//! nothing.
//!
//! The function takes a number of each input, in their order, and returns a number, or `Results<N>` for N outputs. If a
//! tensor doesn't begin at a multiple of 16 bytes, all are taken element by element.
template <typename Stream, typename Function, typename... Out, typename... In>
cudaError_t launchElementwise(Stream const& stream, int64_t count, Function const& function, Outputs<Out...> outs,
                              In... in) noexcept
{
    static_assert(sizeof...(In) > 0, "what would it be a function of?");
    if (count <= 0)
    {
        return count == 0 ? cudaSuccess : cudaErrorInvalidValue; // a launch of no blocks is an error
    }
    return launchWith(stream, [&](cudaStream_t on, auto values)
                      { return detail::elementwise<decltype(values)>(on, count, function, outs, in...); });
}

//! Of one output.
template <typename Stream, typename Function, typename Out, typename... In>
cudaError_t launchElementwise(Stream const& stream, int64_t count, Function const& function, Output<Out> out,
                              In... in) noexcept
{
    return launchElementwise(stream, count, function, outputs(out), in...);
}

} // namespace pluginkit::kernels
