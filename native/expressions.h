#pragma once

#include "NvInferRuntime.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace pluginkit
{

//! One node of an expression: operands are indices of earlier nodes, so a list of nodes is in the order to compute it.
struct Node
{
    enum Kind : std::int32_t
    {
        kSYMBOL = 0,
        kCONSTANT = 1,
        kOPERATION = 2,
        //! Made in place of an operation that can't be: it has no value. TensorRT answers null here, which most plugins
        //! dereference; this way the finding is not lost in a crash.
        kINVALID = 3,
    };
    Kind kind;
    //! kOPERATION: the nvinfer1::DimensionOperation; kSYMBOL: the symbol's number.
    std::int32_t op;
    std::int32_t left;
    std::int32_t right;
    //! kCONSTANT only.
    std::int64_t value;
};

//! [low, high], both included.
struct Interval
{
    std::int64_t low;
    std::int64_t high;
};

//! One operation on two numbers; nothing when there is no answer in 64 bits (overflow, division by zero).
std::optional<std::int64_t> compute(nvinfer1::DimensionOperation op, std::int64_t left, std::int64_t right);

//! The value of every node; nothing where there is none.
std::vector<std::optional<std::int64_t>> evaluate(std::vector<Node> const& nodes,
                                                  std::vector<std::int64_t> const& symbols);

//! An interval that holds every value of each node, given those of the symbols; nothing where it has no bound.
std::vector<std::optional<Interval>> bounds(std::vector<Node> const& nodes, std::vector<Interval> const& symbols);

//! A size tensor that a plugin has declared: an output of its own that carries a dimension of another one. Its
//! expression is a symbol more, behind those of the inputs.
struct SizeTensor
{
    std::int32_t output;
    //! The node of the size that is usual, and of the largest one.
    std::int32_t opt;
    std::int32_t upper;
    std::int32_t symbol;
};

//! What one shape call of a plugin is handed: the builder and the expressions it makes. Every pointer that comes back
//! is looked up, and what the plugin did wrong is recorded. Expressions stay readable after the call ends and after
//! this object is gone, so that a plugin that kept one is reported and does not read freed memory.
class ExprSession
{
public:
    //! For IPluginV2DynamicExt::getOutputDimensions, which knows no size tensors.
    ExprSession();
    //! For IPluginV3OneBuild::getOutputShapes of a plugin with that many outputs.
    explicit ExprSession(std::int32_t nbOutputs);
    ~ExprSession();
    ExprSession(ExprSession const&) = delete;
    ExprSession& operator=(ExprSession const&) = delete;

    nvinfer1::IExprBuilder& builder();
    nvinfer1::IDimensionExpr const* symbol();
    nvinfer1::IDimensionExpr const* constant(std::int64_t value);
    //! From now on each use of the builder or an expression is recorded as a fault.
    void end();

    //! The index of the node of an expression of this session; nothing for any other pointer.
    std::optional<std::int32_t> find(nvinfer1::IDimensionExpr const* expr) const;
    //! "null", "an expression of an earlier call" or "no expression of this call".
    static std::string describe(nvinfer1::IDimensionExpr const* expr);

    std::vector<Node> const& nodes() const;
    std::vector<SizeTensor> const& sizes() const;
    std::vector<std::string> const& faults() const;
    //! What no header forbids, and is hardly meant: a sentence each.
    std::vector<std::string> const& warnings() const;

    struct Impl;

private:
    Impl* mImpl;
};

} // namespace pluginkit
