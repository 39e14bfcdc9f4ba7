//! What a kernel reads and writes: tensors in linear memory, a row or one number that is the same for many elements.
#pragma once

#include <pluginkit/kernels/numbers.cuh>
#include <pluginkit/layer/tensor.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>

namespace pluginkit::kernels
{

//! An input of elements of T; `scale` is what one step is worth, if they are quantized.
template <typename T>
struct Input
{
    static constexpr int32_t kSize = Pack<T>::kSize;

    T const* data;
    float scale;

    __device__ float at(int64_t i) const
    {
        return toNumber(data[i], scale);
    }

    //! Elements chunk * Count to chunk * Count + Count - 1.
    template <int32_t Count>
    __device__ void load(int64_t chunk, float* numbers) const
    {
        loadNumbers<Count>(data, chunk, scale, numbers);
    }

    bool prepare(int32_t /*size*/) noexcept
    {
        return canPack(data);
    }
};

namespace detail
{

//! The elements of a tensor of these dimensions; -1 where one is below 0, or there are more than `most`.
inline int64_t elementsOf(int32_t rank, int64_t const* dims, int64_t most) noexcept
{
    if (std::any_of(dims, dims + rank, [](int64_t size) { return size < 0; }))
    {
        return -1;
    }
    if (std::find(dims, dims + rank, 0) != dims + rank)
    {
        return 0; // however large the others are
    }
    int64_t count = 1;
    for (int32_t d = 0; d < rank && count >= 0; ++d)
    {
        count = dims[d] <= most / count ? count * dims[d] : -1;
    }
    return count;
}

} // namespace detail

//! The remainder of a division; where both fit into 32 bits in a quarter of the instructions.
__device__ inline int64_t remainderOf(int64_t a, int64_t b)
{
    if (((static_cast<uint64_t>(a) | static_cast<uint64_t>(b)) >> 32U) == 0)
    {
        return static_cast<int64_t>(static_cast<uint32_t>(a) % static_cast<uint32_t>(b));
    }
    return a % b;
}

//! An input that begins again at its end: a row of `columns` elements, the same for each row of the output. Without
//! elements it counts as zeros.
template <typename T>
struct Row
{
    static constexpr int32_t kSize = Pack<T>::kSize;

    T const* data;
    float scale;
    int64_t columns;
    bool packed; //!< whether chunks of the output are chunks of the row; `prepare` knows

    __device__ float at(int64_t i) const
    {
        return columns > 0 ? toNumber(data[remainderOf(i, columns)], scale) : 0.0F;
    }

    template <int32_t Count>
    __device__ void load(int64_t chunk, float* numbers) const
    {
        if (packed)
        {
            loadNumbers<Count>(data, remainderOf(chunk, columns / Count), scale, numbers);
            return;
        }
        int64_t place = columns > 0 ? remainderOf(chunk * Count, columns) : 0;
        for (int32_t j = 0; j < Count; ++j)
        {
            numbers[j] = columns > 0 ? toNumber(data[place], scale) : 0.0F;
            ++place;
            place = place == columns ? 0 : place;
        }
    }

    bool prepare(int32_t size) noexcept
    {
        packed = columns > 0 && columns % size == 0 && canPack(data);
        return true; // it can be read either way
    }
};

//! An input of one element.
template <typename T>
struct Scalar
{
    static constexpr int32_t kSize = 1; // no chunks of it

    T const* data;
    float scale;

    __device__ float at(int64_t /*i*/) const
    {
        return toNumber(*data, scale);
    }

    template <int32_t Count>
    __device__ void load(int64_t /*chunk*/, float* numbers) const
    {
        float const number = toNumber(*data, scale);
#pragma unroll
        for (int32_t j = 0; j < Count; ++j)
        {
            numbers[j] = number;
        }
    }

    bool prepare(int32_t /*size*/) noexcept
    {
        return true;
    }
};

//! An output; `inverse` is 1 / scale, if its elements are quantized, or the largest float where that is more.
template <typename T>
struct Output
{
    static constexpr int32_t kSize = Pack<T>::kSize;

    T* data;
    float inverse;

    __device__ void set(int64_t i, float number) const
    {
        toElement(data[i], number, inverse);
    }

    template <int32_t Count>
    __device__ void store(int64_t chunk, float const* numbers) const
    {
        storeNumbers<Count>(data, chunk, numbers, inverse);
    }

    bool canPack() const noexcept
    {
        return kernels::canPack(data);
    }
};

//! Several outputs: the first, and the others.
template <typename First, typename... Rest>
struct Outputs
{
    static constexpr int32_t kCount = 1 + static_cast<int32_t>(sizeof...(Rest));

    First first;
    Outputs<Rest...> rest;
};

template <typename First>
struct Outputs<First>
{
    static constexpr int32_t kCount = 1;

    First first;
};

//! What a function of several outputs returns: a number for each.
template <int32_t Count>
struct Results
{
    float numbers[Count];
};

template <typename T>
Input<T> input(void const* data, float scale = 1.0F) noexcept
{
    return {static_cast<T const*>(data), scale};
}

template <typename T>
Row<T> row(void const* data, int64_t columns, float scale = 1.0F) noexcept
{
    return {static_cast<T const*>(data), scale, columns, false};
}

template <typename T>
Scalar<T> scalar(void const* data, float scale = 1.0F) noexcept
{
    return {static_cast<T const*>(data), scale};
}

template <typename T>
Output<T> output(void* data, float scale = 1.0F) noexcept
{
    return {static_cast<T*>(data), std::min(1.0F / scale, std::numeric_limits<float>::max())};
}

// Of a layer's tensors: `kernels::input<float>(run.in.x)`.

template <typename T>
Input<T> input(pluginkit::Input const& tensor) noexcept
{
    return input<T>(tensor.data, tensor.scale);
}

template <typename T>
Row<T> row(pluginkit::Input const& tensor, int64_t columns) noexcept
{
    return row<T>(tensor.data, columns, tensor.scale);
}

template <typename T>
Scalar<T> scalar(pluginkit::Input const& tensor) noexcept
{
    return scalar<T>(tensor.data, tensor.scale);
}

template <typename T>
Output<T> output(pluginkit::Output const& tensor) noexcept
{
    return output<T>(tensor.data, tensor.scale);
}

template <typename First>
Outputs<First> outputs(First first) noexcept
{
    return {first};
}

template <typename First, typename Second, typename... Rest>
Outputs<First, Second, Rest...> outputs(First first, Second second, Rest... rest) noexcept
{
    return {first, outputs(second, rest...)};
}

namespace detail
{

//! The largest of some numbers.
template <typename... Sizes>
constexpr int32_t largest(Sizes... sizes)
{
    int32_t most = 1;
    ((most = sizes > most ? sizes : most), ...);
    return most;
}

//! The function of element j of each input's chunk.
template <typename Function, int32_t Size, size_t Count, size_t... Places>
__device__ auto applied(Function const& function, float const (&numbers)[Count][Size], int32_t j,
                        std::index_sequence<Places...> /*places*/)
{
    return function(numbers[Places][j]...);
}

template <typename First, typename... Rest>
bool canPackAll(Outputs<First, Rest...> const& all) noexcept
{
    if constexpr (sizeof...(Rest) > 0)
    {
        return all.first.canPack() && canPackAll(all.rest);
    }
    return all.first.canPack();
}

template <int32_t Place, typename First, typename... Rest>
__device__ void setAll(Outputs<First, Rest...> const& all, int64_t i, float const* numbers)
{
    all.first.set(i, numbers[Place]);
    if constexpr (sizeof...(Rest) > 0)
    {
        setAll<Place + 1>(all.rest, i, numbers);
    }
}

template <int32_t Count, typename First, typename... Rest>
__device__ void storeAll(Outputs<First, Rest...> const& all, int64_t chunk, float const (*numbers)[Count])
{
    all.first.template store<Count>(chunk, numbers[0]);
    if constexpr (sizeof...(Rest) > 0)
    {
        storeAll<Count>(all.rest, chunk, numbers + 1);
    }
}

//! What becomes of elements that a kernel moves from one place to another: nothing.
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

} // namespace detail

} // namespace pluginkit::kernels
