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

#include <pluginkit/kernels/tensors.cuh>

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

} // namespace detail

constexpr uint32_t kElementwiseThreads = 256;
constexpr int64_t kMaxGrid = 0x7FFFFFFF; //!< blocks of a launch, in its first dimension

//! A thread takes a chunk of each tensor: as many elements as 16 bytes of the narrowest type have. Behind the last
//! whole chunk it takes one element. (Without chunks, one element.) All is loaded before the first result is written,
//! and no thread reads what another writes: so an output may be one of the inputs, but not a row or a scalar.
template <int32_t Size, typename Function, typename Outs, typename... In>
__global__ void __launch_bounds__(kElementwiseThreads)
    elementwiseKernel(Function const function, int64_t chunks, int64_t count, Outs const outs, In const... in)
{
    int64_t const first = chunks * Size;
    int64_t const step = static_cast<int64_t>(gridDim.x) * blockDim.x;
    for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < chunks + (count - first);
         i += step)
    {
        if (i >= chunks)
        {
            int64_t const at = first + (i - chunks);
            float results[Outs::kCount];
            detail::keep(function(in.at(at)...), results);
            detail::setAll<0>(outs, at, results);
            continue;
        }
        float numbers[sizeof...(In)][Size];
        [[maybe_unused]] size_t place = 0;
        (in.template load<Size>(i, numbers[place++]), ...);
        float results[Outs::kCount][Size];
#pragma unroll
        for (int32_t j = 0; j < Size; ++j)
        {
            float element[Outs::kCount];
            detail::keep(detail::applied(function, numbers, j, std::make_index_sequence<sizeof...(In)>{}), element);
#pragma unroll
            for (int32_t k = 0; k < Outs::kCount; ++k)
            {
                results[k][j] = element[k];
            }
        }
        detail::storeAll<Size>(outs, i, results);
    }
}

//! Starts the kernel on a stream and returns at once; without elements it starts nothing.
//!
//! The function takes a number of each input, in their order, and returns a number, or `Results<N>` for N outputs. If a
//! tensor doesn't begin at a multiple of 16 bytes, all are taken element by element.
template <typename Function, typename... Out, typename... In>
cudaError_t launchElementwise(cudaStream_t stream, int64_t count, Function const& function, Outputs<Out...> outs,
                              In... in) noexcept
{
    static_assert(sizeof...(In) > 0, "what would it be a function of?");
    if (count <= 0)
    {
        return count == 0 ? cudaSuccess : cudaErrorInvalidValue; // a launch of no blocks would be an error
    }
    constexpr int32_t kSize = detail::largest(Out::kSize..., In::kSize...);
    bool packed = detail::canPackAll(outs);
    ((packed = in.prepare(kSize) && packed), ...);
    int64_t const chunks = packed ? count / kSize : 0;
    int64_t const work = chunks + (count - chunks * kSize);
    auto const blocks = std::min((work + kElementwiseThreads - 1) / kElementwiseThreads, kMaxGrid);
    elementwiseKernel<kSize>
        <<<static_cast<uint32_t>(blocks), kElementwiseThreads, 0, stream>>>(function, chunks, count, outs, in...);
    return cudaGetLastError();
}

//! Of one output.
template <typename Function, typename Out, typename... In>
cudaError_t launchElementwise(cudaStream_t stream, int64_t count, Function const& function, Output<Out> out,
                              In... in) noexcept
{
    return launchElementwise(stream, count, function, outputs(out), in...);
}

} // namespace pluginkit::kernels
