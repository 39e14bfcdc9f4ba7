//! Tensors with a rim: a constant, the edge's elements, or the tensor reflected at its edge. Elements are moved
//! unchanged; quantized ones are converted, where the tensors' scales differ.
//!
//!     kernels::Padding const padding{kernels::PadMode::kReflect, 0.0F};
//!     kernels::launchPad(stream, rank, xDims, before, yDims, padding, kernels::output<__half>(y),
//!                        kernels::input<__half>(x));
#pragma once

#include <pluginkit/kernels/pad_rows.cuh>
#include <pluginkit/kernels/pad_shape.cuh>
#include <pluginkit/kernels/pad_tiles.cuh>
#include <pluginkit/kernels/tuning.cuh>

#include <algorithm>
#include <cstdint>
#include <type_traits>

namespace pluginkit::kernels
{

namespace detail
{

//! Small tensors, very short rows, and tensors that can't be loaded by words: a thread writes an element.
template <int32_t Threads, PadMode Mode, int32_t Most, typename T, typename Change>
__global__ void __launch_bounds__(Threads) padElementsKernel(bool early, PadShape<Most> const shape, int32_t count,
                                                             Change change, float value, Output<T> y, T const* x)
{
    int64_t const i = static_cast<int64_t>(blockIdx.x) * Threads + threadIdx.x;
    auto const place = static_cast<int32_t>(min(i, int64_t{count} - 1));
    int32_t const row = shape.last.out.quotient(place);
    int32_t const column = place - row * static_cast<int32_t>(shape.last.out.divisor);
    int32_t const from = rowSource<Mode, Most>(shape, row);
    int32_t const source = sourceOf<Mode>(shape.last, column);
    T element;
    toElement(element, value, y.inverse);
    waitForStream(early); // what is before it needs no memory, and is done while the kernel before ends
    if (i >= count)
    {
        return;
    }
    if (from >= 0 && source >= 0)
    {
        element = x[from + source];
        change(element);
    }
    y.data[i] = element;
}

template <typename Values, PadMode Mode, typename T, typename Change>
void launchPadOf(cudaStream_t stream, AnyPad const& shape, int64_t count, int64_t xCount, Change change, float value,
                 Output<T> y, Input<T> x) noexcept
{
    using Small = PadValues<Values, 256, 1>; // larger tiles would leave multiprocessors with few blocks
    using Large = PadValues<Values, 256, 2>;
    constexpr int32_t kThreads = Small::kThreads;
    constexpr int64_t kSmall = 3 * (int64_t{1} << 16U); // elements; an H100 makes 2^18 as fast by tiles
    auto const elements = static_cast<int32_t>(count);
    bool const small = count * static_cast<int64_t>(sizeof(T)) <= kSmallPad;
    if constexpr (std::is_same_v<Change, Moved>)
    {
        if (count > kSmall &&
            (small ? launchPadRows<SmallPadBlock<Values>, Mode>(stream, shape, count, xCount, value, y, x)
                   : launchPadRows<LargePadBlock<Values>, Mode>(stream, shape, count, xCount, value, y, x)))
        {
            return;
        }
    }
    if (count > kSmall &&
        (small ? launchPadTiles<Small, false, Mode>(stream, shape, count, xCount, change, value, y, x)
               : launchPadTiles<Large, true, Mode>(stream, shape, count, xCount, change, value, y, x)))
    {
        return;
    }
    auto const blocks = static_cast<uint32_t>((count + kThreads - 1) / kThreads);
    if (shape.count <= kUsualPadDims) // fewer parameters, and fewer instructions
    {
        UsualPad usual{shape.count, {}, shape.last};
        std::copy_n(shape.dims, kUsualPadDims, usual.dims);
        launchEarlyIfFew(padElementsKernel<kThreads, Mode, kUsualPadDims, T, Change>, blocks, kThreads, stream, usual,
                         elements, change, value, y, x.data);
        return;
    }
    launchEarlyIfFew(padElementsKernel<kThreads, Mode, kMostPadDims - 1, T, Change>, blocks, kThreads, stream, shape,
                     elements, change, value, y, x.data);
}

template <typename Values, typename T, typename Change>
void launchPadBy(cudaStream_t stream, AnyPad const& shape, int64_t count, int64_t xCount, Change change,
                 Padding padding, Output<T> y, Input<T> x) noexcept
{
    switch (padding.mode)
    {
    case PadMode::kConstant:
        return launchPadOf<Values, PadMode::kConstant>(stream, shape, count, xCount, change, padding.value, y, x);
    case PadMode::kEdge:
        return launchPadOf<Values, PadMode::kEdge>(stream, shape, count, xCount, change, padding.value, y, x);
    case PadMode::kReflect:
        return launchPadOf<Values, PadMode::kReflect>(stream, shape, count, xCount, change, padding.value, y, x);
    }
}

} // namespace detail

//! Starts the kernel on a stream, which may be `tuned` (tuning.cuh), and returns at once; without elements it starts
//! nothing.
//!
//! x and y have `rank` dimensions, 0 to 8, and at most 2^31 - 8192 elements. Element [i, ...] of y is element
//! [i - before[0], ...] of x, or what the padding says where x has none; these places are at most 2^31 - 8192, too. y
//! is other memory than x.
template <typename T, typename Stream>
cudaError_t launchPad(Stream const& stream, int32_t rank, int64_t const* xDims, int64_t const* before,
                      int64_t const* yDims, Padding padding, Output<T> y, Input<T> x) noexcept
{
    constexpr int64_t kMost = 0x7FFFFFFF - 8191; // a tile more is a number still
    if (rank < 0 || rank > detail::kMostPadDims)
    {
        return cudaErrorInvalidValue;
    }
    int64_t const one = 1;
    int64_t const none = 0;
    if (rank == 0)
    {
        return launchPad(stream, 1, &one, &none, &one, padding, y, x);
    }
    int64_t const count = detail::elementsOf(rank, yDims, kMost);
    int64_t const xCount = detail::elementsOf(rank, xDims, kMost);
    if (count < 0 || xCount < 0)
    {
        return cudaErrorInvalidValue;
    }
    if (count == 0)
    {
        return cudaSuccess; // a launch of no blocks is an error
    }
    for (int32_t d = 0; d < rank; ++d)
    {
        if (before[d] > kMost || before[d] < yDims[d] - kMost || xDims[d] > kMost)
        {
            return cudaErrorInvalidValue;
        }
    }
    detail::AnyPad const shape = detail::padShape(rank, xDims, before, yDims);
    return launchWith(stream,
                      [&](cudaStream_t on, auto values)
                      {
                          using Values = decltype(values);
                          if constexpr (kScaled<T>)
                          {
                              if (!detail::sameScale(y, x))
                              {
                                  detail::launchPadBy<Values>(on, shape, count, xCount,
                                                              detail::Rescaled<T>{x.scale, y.inverse}, padding, y, x);
                                  return cudaGetLastError();
                              }
                          }
                          detail::launchPadBy<Values>(on, shape, count, xCount, detail::Moved{}, padding, y, x);
                          return cudaGetLastError();
                      });
}

} // namespace pluginkit::kernels
