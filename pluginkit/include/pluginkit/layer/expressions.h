//! Outputs' shapes by IExprBuilder: where dimensions may be open.
#pragma once

#include <NvInfer.h>
#include <pluginkit/dimension.h>

#include <cstdint>

namespace pluginkit
{

//! A dimension: a number that is known whatever the inputs' shapes are, or an expression of the builder.
class Size
{
public:
    Size(nvinfer1::IExprBuilder& builder, Dimension number) noexcept : mBuilder{&builder}, mNumber{number} {}
    Size(nvinfer1::IExprBuilder& builder, nvinfer1::IDimensionExpr const* expression) noexcept
        : mBuilder{&builder}, mNumber{Dimension::none()}, mExpression{expression}
    {
    }

    //! Null where it is none: a number that overflowed, or one that the builder couldn't make.
    nvinfer1::IDimensionExpr const* expression() const noexcept
    {
        return mNumber.isNumber() ? mBuilder->constant(mNumber.value()) : mExpression;
    }

    friend Size operator+(Size const& a, Size const& b) noexcept
    {
        return made(nvinfer1::DimensionOperation::kSUM, a, b, a.mNumber + b.mNumber);
    }
    friend Size operator-(Size const& a, Size const& b) noexcept
    {
        return made(nvinfer1::DimensionOperation::kSUB, a, b, a.mNumber - b.mNumber);
    }
    friend Size operator*(Size const& a, Size const& b) noexcept
    {
        return made(nvinfer1::DimensionOperation::kPROD, a, b, a.mNumber * b.mNumber);
    }
    friend Size floorQuotient(Size const& a, Size const& b) noexcept
    {
        return made(nvinfer1::DimensionOperation::kFLOOR_DIV, a, b, floorQuotient(a.mNumber, b.mNumber));
    }
    friend Size ceilQuotient(Size const& a, Size const& b) noexcept
    {
        return made(nvinfer1::DimensionOperation::kCEIL_DIV, a, b, ceilQuotient(a.mNumber, b.mNumber));
    }
    friend Size smaller(Size const& a, Size const& b) noexcept
    {
        return made(nvinfer1::DimensionOperation::kMIN, a, b, smaller(a.mNumber, b.mNumber));
    }
    friend Size larger(Size const& a, Size const& b) noexcept
    {
        return made(nvinfer1::DimensionOperation::kMAX, a, b, larger(a.mNumber, b.mNumber));
    }

private:
    static Size made(nvinfer1::DimensionOperation operation, Size const& a, Size const& b, Dimension number) noexcept
    {
        if (a.mExpression == nullptr && b.mExpression == nullptr)
        {
            return {*a.mBuilder, number};
        }
        auto const* const left = a.expression();
        auto const* const right = b.expression();
        bool const there = left != nullptr && right != nullptr;
        return {*a.mBuilder, there ? a.mBuilder->operation(operation, *left, *right) : nullptr};
    }

    nvinfer1::IExprBuilder* mBuilder;
    Dimension mNumber;
    nvinfer1::IDimensionExpr const* mExpression{nullptr};
};

//! What a layer's signature computes outputs' shapes by, where inputs' dimensions may be open. As `Sizes`.
class Expressions
{
public:
    //! Makes the outputs from number `first` on, `count` of them.
    Expressions(nvinfer1::IExprBuilder& builder, nvinfer1::DimsExprs const* inputs,
                nvinfer1::DimsExprs const* shapeInputs, nvinfer1::DimsExprs* outputs, int32_t first,
                int32_t count) noexcept
        : mBuilder{&builder}, mInputs{inputs}, mShapeInputs{shapeInputs}, mOutputs{outputs}, mFirst{first},
          mCount{count}
    {
    }

    //! Whether each dimension could be made.
    bool good() const noexcept
    {
        return mGood;
    }

    Size number(int64_t value) const noexcept
    {
        return {*mBuilder, Dimension{value}};
    }

    Size at(int32_t input, int32_t dim) const noexcept
    {
        nvinfer1::DimsExprs const& dims = mInputs[input];
        return {*mBuilder, dims.d[dim < 0 ? dims.nbDims + dim : dim]};
    }

    Size value(int32_t input, int32_t element) const noexcept
    {
        return {*mBuilder, mShapeInputs[input].d[element]};
    }

#if NV_TENSORRT_MAJOR >= 10
    Size sizeTensor(int32_t output, Size const& opt, Size const& upper) noexcept
    {
        auto const* const usual = opt.expression();
        auto const* const most = upper.expression();
        bool const there = usual != nullptr && most != nullptr;
        auto const* const declared = there ? mBuilder->declareSizeTensor(output, *usual, *most) : nullptr;
        mGood = mGood && declared != nullptr;
        return {*mBuilder, declared};
    }
#endif

    bool begin(int32_t output) noexcept
    {
        mCurrent = output - mFirst;
        bool const wanted = mCurrent >= 0 && mCurrent < mCount;
        if (wanted)
        {
            mOutputs[mCurrent] = nvinfer1::DimsExprs{};
        }
        return wanted;
    }

    void add(Size const& dim) noexcept
    {
        nvinfer1::DimsExprs& output = mOutputs[mCurrent];
        auto const* const made = dim.expression();
        if (made == nullptr || output.nbDims == nvinfer1::Dims::MAX_DIMS)
        {
            mGood = false;
            return;
        }
        output.d[output.nbDims++] = made;
    }

    void rest(int32_t input, int32_t first, int32_t behind) noexcept
    {
        for (int32_t i = first; i < mInputs[input].nbDims - behind; ++i)
        {
            add(at(input, i));
        }
    }

private:
    nvinfer1::IExprBuilder* mBuilder;
    nvinfer1::DimsExprs const* mInputs;
    nvinfer1::DimsExprs const* mShapeInputs;
    nvinfer1::DimsExprs* mOutputs;
    int32_t mFirst;
    int32_t mCount;
    int32_t mCurrent{0};
    bool mGood{true};
};

} // namespace pluginkit
