//! How tensors lie in memory: TensorRT's numbers of types and formats, and what follows from them.
#pragma once

#include <pluginkit/layer/tensor.h>

#include <cstdint>

namespace pluginkit
{

//! A descriptor's shape; its rank is -1 where it is none that a run can have.
template <typename Dims>
Shape shapeOf(Dims const& dims) noexcept
{
    Shape shape{dims.nbDims, {}};
    if (dims.nbDims < 0 || dims.nbDims > Shape::kMaxRank)
    {
        return Shape{-1, {}};
    }
    for (int32_t i = 0; i < dims.nbDims; ++i)
    {
        shape.dims[i] = dims.d[i];
    }
    return shape;
}

//! A shape as a descriptor has it; all of its dimensions are known.
template <typename Dims>
Dims dimsOf(Shape const& shape) noexcept
{
    Dims dims{};
    dims.nbDims = shape.rank;
    for (int32_t i = 0; i < shape.rank; ++i)
    {
        dims.d[i] = static_cast<decltype(+dims.d[i])>(shape.dims[i]);
    }
    return dims;
}

inline bool isSame(Shape const& one, Shape const& other) noexcept
{
    bool same = one.rank == other.rank;
    for (int32_t i = 0; same && i < one.rank; ++i)
    {
        same = one.dims[i] == other.dims[i];
    }
    return same;
}

namespace detail
{

//! Whether a run can have the shape: each dimension is a number.
inline bool isKnown(Shape const& shape) noexcept
{
    bool known = shape.rank >= 0;
    for (int32_t i = 0; known && i < shape.rank; ++i)
    {
        known = shape.dims[i] >= 0;
    }
    return known;
}

//! How a format lies: the channel's dimension counted from the end (0: linear), its vectors' lanes, and whether one
//! vector has all channels, rounded up.
struct FormatFacts
{
    int32_t code;
    int32_t axis;
    int64_t lanes;
    bool minor;
};

//! nvinfer1::TensorFormat.
constexpr FormatFacts kFormats[] = {
    {0, 0, 1, false},  // kLINEAR
    {1, 3, 2, false},  // kCHW2
    {2, 3, 8, true},   // kHWC8
    {3, 3, 4, false},  // kCHW4
    {5, 3, 32, false}, // kCHW32
    {6, 4, 8, true},   // kDHWC8
    {7, 4, 32, false}, // kCDHW32
    {8, 3, 1, true},   // kHWC
    {11, 3, 16, true}, // kHWC16
    {12, 4, 1, true},  // kDHWC
};

//! Null for one that no plugin gets.
inline FormatFacts const* factsOf(int32_t format) noexcept
{
    for (FormatFacts const& one : kFormats)
    {
        if (one.code == format)
        {
            return &one;
        }
    }
    return nullptr;
}

//! Bytes of an element of an nvinfer1::DataType.
constexpr int64_t sizeOf(int32_t type) noexcept
{
    switch (type)
    {
    case 0: // kFLOAT
    case 3: // kINT32
        return 4;
    case 1: // kHALF
    case 7: // kBF16
        return 2;
    case 8: // kINT64
        return 8;
    default: // kINT8, kFP8
        return 1;
    }
}

//! A tensor's shape, type and format, as a descriptor has them.
struct Seen
{
    Shape shape;
    int32_t type;
    int32_t format;
};

//! Fills what follows from a shape, a type and a format.
inline void describe(Tensor& tensor, Seen const& seen) noexcept
{
    tensor.shape = seen.shape;
    tensor.layout = MemoryLayout{1, 1, 1};
    FormatFacts const* const format = factsOf(seen.format);
    int32_t const channel =
        format == nullptr || format->axis == 0 || format->axis > seen.shape.rank ? -1 : seen.shape.rank - format->axis;
    int64_t stored = 1;
    tensor.count = 1;
    for (int32_t i = 0; i < seen.shape.rank; ++i)
    {
        int64_t const size = seen.shape.dims[i];
        tensor.count *= size;
        if (i == channel)
        {
            int64_t const vectors = (size + format->lanes - 1) / format->lanes;
            tensor.layout.channels = size;
            tensor.layout.lanes = format->minor ? vectors * format->lanes : format->lanes;
            stored *= vectors * format->lanes;
            continue;
        }
        stored *= size;
        tensor.layout.inner *= channel >= 0 && i > channel ? size : 1;
    }
    tensor.bytes = stored * sizeOf(seen.type);
}

} // namespace detail

} // namespace pluginkit
