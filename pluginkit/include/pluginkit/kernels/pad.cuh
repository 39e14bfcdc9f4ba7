//! Tensors with a rim: a constant, the edge's elements, or the tensor reflected at its edge. Elements are moved as they
//! are; quantized ones are converted, where the tensors' scales differ.
//!
//!     kernels::Padding const padding{kernels::PadMode::kReflect, 0.0F};
//!     kernels::launchPad(stream, rank, xDims, before, yDims, padding, kernels::output<__half>(y),
//!                        kernels::input<__half>(x));
#pragma once

#include <pluginkit/kernels/division.cuh>
#include <pluginkit/kernels/moving.cuh>
#include <pluginkit/kernels/shifted.cuh>

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace pluginkit::kernels
{

//! What stands beyond a tensor's edge.
enum class PadMode : int32_t
{
    kConstant,
    kEdge,    //!< the nearest element
    kReflect, //!< the elements inside, from the one beside the edge on; from the other edge on back again
};

struct Padding
{
    PadMode mode;
    float value; //!< of kConstant, and where there is no element that could be repeated
};

namespace detail
{

constexpr int32_t kMostPadDims = 8; //!< as TensorRT's tensors have
constexpr uint32_t kPadThreads = 256;

//! Both tensors' dimensions; neighbours that have no rim count as one.
struct PadShape
{
    int32_t rank;
    int32_t size[kMostPadDims];   //!< of x
    int32_t before[kMostPadDims]; //!< how much of the rim is before x; may be below 0, which cuts
    int32_t stride[kMostPadDims]; //!< of x
    Divisor out[kMostPadDims];    //!< the sizes of y
};

//! Where in x the element is that belongs at `place`, counted from x's first; -1: nowhere.
template <PadMode Mode>
__device__ int32_t sourceOf(int32_t place, int32_t size)
{
    if (static_cast<uint32_t>(place) < static_cast<uint32_t>(size))
    {
        return place;
    }
    if (Mode == PadMode::kConstant || size == 0)
    {
        return -1;
    }
    if (Mode == PadMode::kEdge || size == 1)
    {
        return min(max(place, 0), size - 1);
    }
    uint32_t const period = 2U * (static_cast<uint32_t>(size) - 1U); // below 2^32
    auto distance = static_cast<uint32_t>(abs(place));
    distance = distance < period ? distance : distance % period;
    return static_cast<int32_t>(min(distance, period - distance));
}

//! Where the row of x begins that belongs into row `row` of y; -1: it is of the rim alone.
template <PadMode Mode>
__device__ int32_t rowSource(PadShape const& shape, int32_t row)
{
    int32_t from = 0;
    for (int32_t d = shape.rank - 2; d >= 0; --d)
    {
        int32_t const next = shape.out[d].quotient(row);
        int32_t const place = row - next * static_cast<int32_t>(shape.out[d].divisor);
        int32_t const source = sourceOf<Mode>(place - shape.before[d], shape.size[d]);
        if (source < 0)
        {
            return -1;
        }
        from += source * shape.stride[d];
        row = next;
    }
    return from;
}

//! A thread writes Size elements of y. Where all are neighbours in x, too, they are loaded in words.
template <int32_t Size, PadMode Mode, typename T, typename Change>
__global__ void __launch_bounds__(kPadThreads)
    padKernel(PadShape const shape, int32_t count, int32_t xCount, Change change, float value, Output<T> y, T const* x)
{
    int64_t const chunk = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (chunk * Size >= count)
    {
        return;
    }
    auto const first = static_cast<int32_t>(chunk * Size);
    int32_t const last = shape.rank - 1;
    auto const columns = static_cast<int32_t>(shape.out[last].divisor);
    int32_t const size = shape.size[last];
    int32_t row = shape.out[last].quotient(first);
    int32_t column = first - row * columns;
    int32_t from = rowSource<Mode>(shape, row);
    if constexpr (Size > 1)
    {
        int32_t const place = column - shape.before[last];
        if (from >= 0 && place >= 0 && place + Size <= size && column + Size <= columns &&
            canLoadShifted<T>(from + place, xCount))
        {
            Pack<T> pack = loadShifted(x, from + place);
            change(pack);
            storePack(y.data, chunk, pack);
            return;
        }
    }
    T constant;
    toElement(constant, value, y.inverse);
    int32_t following = rowSource<Mode>(shape, row + 1);
    T elements[Size];
#pragma unroll
    for (int32_t j = 0; j < Size; ++j)
    {
        int32_t const source = from < 0 ? -1 : sourceOf<Mode>(column - shape.before[last], size);
        elements[j] = constant;
        if (source >= 0 && first + j < count)
        {
            elements[j] = x[from + source];
            change(elements[j]);
        }
        ++column;
        if (column == columns)
        {
            column = 0;
            ++row;
            from = following;
            if (columns < Size)
            {
                following = rowSource<Mode>(shape, row + 1);
            }
        }
    }
    if (Size > 1 && first + Size <= count)
    {
        Pack<T> pack;
        memcpy(&pack, &elements, sizeof pack);
        storePack(y.data, chunk, pack);
        return;
    }
#pragma unroll
    for (int32_t j = 0; j < Size; ++j)
    {
        if (first + j < count)
        {
            y.data[first + j] = elements[j];
        }
    }
}

template <int32_t Size, PadMode Mode, typename T, typename Change>
void launchPadOf(cudaStream_t stream, PadShape const& shape, int64_t count, int64_t xCount, Change change, float value,
                 Output<T> y, Input<T> x) noexcept
{
    constexpr int64_t kInBlock = int64_t{kPadThreads} * Size;
    padKernel<Size, Mode><<<static_cast<uint32_t>((count + kInBlock - 1) / kInBlock), kPadThreads, 0, stream>>>(
        shape, static_cast<int32_t>(count), static_cast<int32_t>(xCount), change, value, y, x.data);
}

template <int32_t Size, typename T, typename Change>
void launchPadIn(PadMode mode, cudaStream_t stream, PadShape const& shape, int64_t count, int64_t xCount, Change change,
                 float value, Output<T> y, Input<T> x) noexcept
{
    switch (mode)
    {
    case PadMode::kConstant:
        return launchPadOf<Size, PadMode::kConstant>(stream, shape, count, xCount, change, value, y, x);
    case PadMode::kEdge:
        return launchPadOf<Size, PadMode::kEdge>(stream, shape, count, xCount, change, value, y, x);
    case PadMode::kReflect:
        return launchPadOf<Size, PadMode::kReflect>(stream, shape, count, xCount, change, value, y, x);
    }
}

template <typename T, typename Change>
void launchPadBy(cudaStream_t stream, PadShape const& shape, int64_t count, int64_t xCount, Change change,
                 Padding padding, Output<T> y, Input<T> x) noexcept
{
    if (canPack(y.data, x.data))
    {
        launchPadIn<Pack<T>::kSize>(padding.mode, stream, shape, count, xCount, change, padding.value, y, x);
    }
    else
    {
        launchPadIn<1>(padding.mode, stream, shape, count, xCount, change, padding.value, y, x);
    }
}

//! The dimensions as the kernel has them.
inline PadShape padShape(int32_t rank, int64_t const* xDims, int64_t const* before, int64_t const* yDims) noexcept
{
    PadShape shape{};
    int64_t out[kMostPadDims]{};
    bool plain = false; // whether the dimension before has no rim
    for (int32_t d = 0; d < rank; ++d)
    {
        bool const none = before[d] == 0 && xDims[d] == yDims[d];
        if (!(none && plain))
        {
            shape.size[shape.rank] = 1;
            shape.before[shape.rank] = static_cast<int32_t>(before[d]);
            out[shape.rank] = 1;
            ++shape.rank;
        }
        shape.size[shape.rank - 1] *= static_cast<int32_t>(xDims[d]);
        out[shape.rank - 1] *= yDims[d];
        plain = none;
    }
    int64_t stride = 1; // beyond 2^31 where x is empty and no stride is used
    for (int32_t d = shape.rank - 1; d >= 0; --d)
    {
        shape.stride[d] = static_cast<int32_t>(stride);
        stride *= shape.size[d];
        shape.out[d] = divisorOf(out[d]);
    }
    return shape;
}

} // namespace detail

//! Starts the kernel on a stream and returns at once; without elements it starts nothing.
//!
//! x and y have `rank` dimensions, 0 to 8, and at most 2^31 - 16 elements. Element [i, ...] of y is element
//! [i - before[0], ...] of x, or what the padding says where x has none; these places are below 2^31 - 16, too. y is
//! other memory than x.
template <typename T>
cudaError_t launchPad(cudaStream_t stream, int32_t rank, int64_t const* xDims, int64_t const* before,
                      int64_t const* yDims, Padding padding, Output<T> y, Input<T> x) noexcept
{
    constexpr int64_t kMost = 0x7FFFFFF0; // a chunk more is a number still
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
        return cudaSuccess; // a launch of no blocks would be an error
    }
    for (int32_t d = 0; d < rank; ++d)
    {
        if (before[d] > kMost || before[d] < yDims[d] - kMost || xDims[d] > kMost)
        {
            return cudaErrorInvalidValue;
        }
    }
    detail::PadShape const shape = detail::padShape(rank, xDims, before, yDims);
    if constexpr (kScaled<T>)
    {
        if (!detail::sameScale(y, x))
        {
            detail::launchPadBy(stream, shape, count, xCount, detail::Rescaled<T>{x.scale, y.inverse}, padding, y, x);
            return cudaGetLastError();
        }
    }
    detail::launchPadBy(stream, shape, count, xCount, detail::Moved{}, padding, y, x);
    return cudaGetLastError();
}

} // namespace pluginkit::kernels
