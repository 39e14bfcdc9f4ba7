//! TensorRT's expression builder where all dimensions are known: an expression is its value.
#pragma once

#include <NvInfer.h>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <limits>

namespace pluginkit
{

namespace python
{

class Constant final : public nvinfer1::IDimensionExpr, public nvinfer1::apiv::VDimensionExpr
{
public:
    explicit Constant(int64_t value) noexcept : mValue{value}
    {
        mImpl = this;
    }
    bool isConstant() const override
    {
        return true;
    }
    int64_t getConstantValue() const override
    {
        return mValue;
    }
    bool isSizeTensor() const override
    {
        return false;
    }

private:
    int64_t mValue;
};

class Constants final : public nvinfer1::IExprBuilder, public nvinfer1::apiv::VExprBuilder
{
public:
    Constants() noexcept
    {
        mImpl = this;
    }
    nvinfer1::IDimensionExpr const* constant(int64_t value) override
    {
        return &mMade.emplace_back(value);
    }
    nvinfer1::IDimensionExpr const* operation(nvinfer1::DimensionOperation op, nvinfer1::IDimensionExpr const& first,
                                              nvinfer1::IDimensionExpr const& second) override
    {
        int64_t const a = first.getConstantValue();
        int64_t const b = second.getConstantValue();
        int64_t result{0};
        switch (op)
        {
        case nvinfer1::DimensionOperation::kSUM:
            return __builtin_add_overflow(a, b, &result) ? nullptr : constant(result);
        case nvinfer1::DimensionOperation::kPROD:
            return __builtin_mul_overflow(a, b, &result) ? nullptr : constant(result);
        case nvinfer1::DimensionOperation::kSUB:
            return __builtin_sub_overflow(a, b, &result) ? nullptr : constant(result);
        case nvinfer1::DimensionOperation::kMAX:
            return constant(std::max(a, b));
        case nvinfer1::DimensionOperation::kMIN:
            return constant(std::min(a, b));
        case nvinfer1::DimensionOperation::kEQUAL:
            return constant(a == b ? 1 : 0);
        case nvinfer1::DimensionOperation::kLESS:
            return constant(a < b ? 1 : 0);
        case nvinfer1::DimensionOperation::kFLOOR_DIV:
            return !divides(a, b) ? nullptr : constant(a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0));
        case nvinfer1::DimensionOperation::kCEIL_DIV:
            return !divides(a, b) ? nullptr : constant(a / b + (a % b != 0 && (a < 0) == (b < 0) ? 1 : 0));
        }
        return nullptr;
    }
    //! An output whose size only enqueue knows; the upper bound stands for it.
    nvinfer1::IDimensionExpr const* declareSizeTensor(int32_t /*outputIndex*/, nvinfer1::IDimensionExpr const& /*opt*/,
                                                      nvinfer1::IDimensionExpr const& upper) override
    {
        mSized = true;
        return constant(upper.getConstantValue());
    }
    //! Whether there is such an output.
    bool sized() const noexcept
    {
        return mSized;
    }

private:
    static bool divides(int64_t a, int64_t b) noexcept
    {
        return b != 0 && (b != -1 || a != std::numeric_limits<int64_t>::min());
    }

    std::deque<Constant> mMade;
    bool mSized{false};
};

} // namespace python

} // namespace pluginkit
