//! A tensor's dimensions, as a kernel gets them: plain data, with no class of TensorRT's.
#pragma once

#include <cstdint>

namespace pluginkit
{

//! The sizes of `rank` dimensions, the outermost first. Those behind are 0.
struct Shape
{
    static constexpr int32_t kMaxRank = 8; //!< nvinfer1::Dims::MAX_DIMS

    int32_t rank;
    int64_t dims[kMaxRank];
};

namespace detail
{

template <typename Tensor, typename Dims>
auto setShape(Tensor& tensor, Dims const& dims, int /*preferred*/) noexcept -> decltype(static_cast<void>(tensor.shape))
{
    tensor.shape.rank = dims.nbDims;
    for (int32_t i = 0; i < Shape::kMaxRank; ++i)
    {
        tensor.shape.dims[i] = i < dims.nbDims ? dims.d[i] : 0;
    }
}

template <typename Tensor, typename Dims>
void setShape(Tensor& /*tensor*/, Dims const& /*dims*/, long /*otherwise*/) noexcept
{
}

} // namespace detail

//! Gives a kernel's argument a tensor's `nvinfer1::Dims` as its member `shape`; nothing, if it has no such member: a
//! kernel that was written before keeps its arguments.
template <typename Tensor, typename Dims>
void setShape(Tensor& tensor, Dims const& dims) noexcept
{
    detail::setShape(tensor, dims, 0);
}

} // namespace pluginkit
