//! What becomes of elements that a kernel moves from one place to another.
#pragma once

#include <pluginkit/kernels/tensors.cuh>

namespace pluginkit::kernels::detail
{

//! Nothing.
struct Moved
{
    template <typename T>
    __device__ void operator()(T& /*elements*/) const
    {
    }
};

//! Quantized elements of a tensor become those of one with another scale.
template <typename T>
struct Rescaled
{
    float scale;   //!< the input's
    float inverse; //!< of the output's

    __device__ void operator()(T& element) const
    {
        toElement(element, toNumber(element, scale), inverse);
    }

    __device__ void operator()(Pack<T>& pack) const
    {
        float numbers[Pack<T>::kSize];
        Conversion<T>::unpack(pack, scale, numbers);
        Conversion<T>::pack(pack, numbers, inverse);
    }

    //! A pack, too.
    __device__ void operator()(uint4& bits) const
    {
        Pack<T> pack{{bits.x, bits.y, bits.z, bits.w}};
        (*this)(pack);
        bits = make_uint4(pack.words[0], pack.words[1], pack.words[2], pack.words[3]);
    }
};

//! Whether elements of x are the same bytes in y.
template <typename T>
bool sameScale(Output<T> const& y, Input<T> const& x) noexcept
{
    return !kScaled<T> || output<T>(nullptr, x.scale).inverse == y.inverse;
}

} // namespace pluginkit::kernels::detail
