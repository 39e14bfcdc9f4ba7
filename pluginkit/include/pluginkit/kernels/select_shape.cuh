//! A tensor of which elements are selected; for select.cuh.
#pragma once

#include <pluginkit/kernels/division.cuh>

#include <cstdint>

namespace pluginkit::kernels::detail
{

constexpr int32_t kSelectTile = 8192; //!< elements
constexpr int32_t kTileBytes = kSelectTile / 8;
constexpr int32_t kMostSelectDims = 8;

struct SelectShape
{
    int32_t rank;
    Divisor sizes[kMostSelectDims];
};

//! The parts of the workspace: bits of all tiles' elements, and numbers of what has some of them.
struct SelectWorkspace
{
    static constexpr int64_t kBlocks = 8; //!< of a tile, at most: 256 threads have a pack of four elements each
    static constexpr int64_t kUnits = 64; //!< warps
    static constexpr int64_t kOfTile =
        kTileBytes + kBlocks * int64_t{sizeof(int32_t)} + kUnits * int64_t{sizeof(uint16_t)};

    uint32_t* bits;
    int32_t* ofBlocks;
    uint16_t* ofUnits;

    SelectWorkspace(void* workspace, int64_t tiles) noexcept
        : bits(static_cast<uint32_t*>(workspace)),
          ofBlocks(reinterpret_cast<int32_t*>(static_cast<char*>(workspace) + tiles * kTileBytes)),
          ofUnits(reinterpret_cast<uint16_t*>(ofBlocks + tiles * kBlocks))
    {
    }
};

inline int64_t selectTiles(int64_t count) noexcept
{
    return (count + kSelectTile - 1) / kSelectTile;
}

//! The place of element `index`, as number `at` of `all`. The shape's sizes are from the last dimension on.
template <typename Index>
__device__ void writePlace(SelectShape const& shape, int32_t index, int64_t at, int64_t all, Index* indices)
{
    Index* place = indices + (shape.rank - 1) * all + at;
#pragma unroll // with numbers that the compiler knows the sizes stay where the launch put them
    for (int32_t d = 0; d < kMostSelectDims - 1; ++d)
    {
        if (d == shape.rank - 1)
        {
            break;
        }
        int32_t const next = shape.sizes[d].quotient(index);
        *place = static_cast<Index>(index - next * static_cast<int32_t>(shape.sizes[d].divisor));
        place -= all;
        index = next;
    }
    *place = static_cast<Index>(index);
}

} // namespace pluginkit::kernels::detail
