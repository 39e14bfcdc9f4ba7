//! Outputs' shapes, and the workspace, by numbers: where all dimensions are known.
#pragma once

#include <pluginkit/dimension.h>
#include <pluginkit/shape.h>

#include <array>
#include <cstdint>

namespace pluginkit
{

//! What a layer's signature computes outputs' shapes by, where inputs have numbers for dimensions. (`Expressions`, of
//! layer/expressions.h, has the same functions for dimensions that are open.)
template <int32_t Outputs>
class Sizes
{
public:
    explicit Sizes(Shape const* inputs) noexcept : mInputs{inputs}
    {
        mOutputs.fill(Shape{-1, {}});
    }

    //! What a size tensor may be at most.
    std::array<int64_t, Outputs> const& uppers() const noexcept
    {
        return mUppers;
    }

    //! An output's shape; its rank is -1 where there is none.
    Shape const& output(int32_t index) const noexcept
    {
        return mOutputs[static_cast<size_t>(index)];
    }

    Dimension number(int64_t value) const noexcept
    {
        return Dimension{value};
    }

    //! A dimension of an input, counted from its end where it is negative.
    Dimension at(int32_t input, int32_t dim) const noexcept
    {
        Shape const& shape = mInputs[input];
        int32_t const place = dim < 0 ? shape.rank + dim : dim;
        return place >= 0 && place < shape.rank ? Dimension{shape.dims[place]} : Dimension::none();
    }

    //! Whether dimensions that "..." stands for are the same in two inputs, between `first` from the beginning and
    //! `behind` from the end.
    bool sameRest(int32_t one, int32_t first, int32_t behind, int32_t other, int32_t otherFirst) const noexcept
    {
        bool same = true;
        for (int32_t i = first; i < mInputs[one].rank - behind; ++i)
        {
            same = same && mInputs[one].dims[i] == mInputs[other].dims[otherFirst + i - first];
        }
        return same;
    }

    //! An element of a shape input, which none but getOutputShapes() knows.
    Dimension value(int32_t /*input*/, int32_t /*element*/) const noexcept
    {
        return Dimension::none();
    }

    //! An output's size, of which only the kernel knows more than its upper bound.
    Dimension sizeTensor(int32_t output, Dimension /*opt*/, Dimension upper) noexcept
    {
        mUppers[static_cast<size_t>(output)] = upper.value();
        return upper;
    }

    //! Begins an output's shape; whether it is wanted.
    bool begin(int32_t output) noexcept
    {
        mCurrent = output;
        mOutputs[static_cast<size_t>(output)] = Shape{0, {}};
        return true;
    }

    void add(Dimension dim) noexcept
    {
        Shape& shape = mOutputs[static_cast<size_t>(mCurrent)];
        if (shape.rank < 0 || shape.rank == Shape::kMaxRank || dim.value() < 0)
        {
            shape = Shape{-1, {}};
            return;
        }
        shape.dims[shape.rank++] = dim.value();
    }

    //! Adds an input's dimensions from `first` to those `behind`.
    void rest(int32_t input, int32_t first, int32_t behind) noexcept
    {
        for (int32_t i = first; i < mInputs[input].rank - behind; ++i)
        {
            add(Dimension{mInputs[input].dims[i]});
        }
    }

private:
    Shape const* mInputs;
    std::array<Shape, Outputs> mOutputs{};
    std::array<int64_t, Outputs> mUppers{};
    int32_t mCurrent{0};
};

} // namespace pluginkit
