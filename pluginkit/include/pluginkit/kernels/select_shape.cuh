//! A tensor of which elements are selected; for select.cuh.
#pragma once

#include <pluginkit/kernels/division.cuh>

#include <cstdint>

namespace pluginkit::kernels::detail
{

constexpr int32_t kSelectTile = 8192; //!< elements: the workspace has room for their bits, and for a number
constexpr int32_t kTileBytes = kSelectTile / 8;
constexpr int32_t kMostSelectDims = 8;

struct SelectShape
{
    int32_t rank;
    Divisor sizes[kMostSelectDims];
};

} // namespace pluginkit::kernels::detail
