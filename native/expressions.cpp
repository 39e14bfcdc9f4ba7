#include "expressions.h"

#include <algorithm>
#include <array>
#include <deque>
#include <limits>
#include <unordered_map>

namespace pluginkit
{

namespace
{

using nvinfer1::DimensionOperation;
using nvinfer1::IDimensionExpr;

constexpr std::array<char const*, 9> kNAMES{"kSUM",   "kPROD", "kMAX",       "kMIN",     "kSUB",
                                            "kEQUAL", "kLESS", "kFLOOR_DIV", "kCEIL_DIV"};

bool isDivision(DimensionOperation op)
{
    return op == DimensionOperation::kFLOOR_DIV || op == DimensionOperation::kCEIL_DIV;
}

std::optional<std::int64_t> divide(std::int64_t left, std::int64_t right, bool up)
{
    if (right == 0 || (left == std::numeric_limits<std::int64_t>::min() && right == -1))
    {
        return std::nullopt;
    }
    std::int64_t const quotient = left / right;
    if (left % right == 0)
    {
        return quotient;
    }
    bool const positive = (left < 0) == (right < 0);
    return up ? quotient + (positive ? 1 : 0) : quotient - (positive ? 0 : 1);
}

} // namespace

std::optional<std::int64_t> compute(DimensionOperation op, std::int64_t left, std::int64_t right)
{
    std::int64_t result = 0;
    switch (op)
    {
    case DimensionOperation::kSUM:
        return __builtin_add_overflow(left, right, &result) ? std::nullopt : std::optional{result};
    case DimensionOperation::kPROD:
        return __builtin_mul_overflow(left, right, &result) ? std::nullopt : std::optional{result};
    case DimensionOperation::kSUB:
        return __builtin_sub_overflow(left, right, &result) ? std::nullopt : std::optional{result};
    case DimensionOperation::kMAX:
        return std::max(left, right);
    case DimensionOperation::kMIN:
        return std::min(left, right);
    case DimensionOperation::kEQUAL:
        return left == right ? 1 : 0;
    case DimensionOperation::kLESS:
        return left < right ? 1 : 0;
    case DimensionOperation::kFLOOR_DIV:
        return divide(left, right, false);
    case DimensionOperation::kCEIL_DIV:
        return divide(left, right, true);
    }
    return std::nullopt;
}

std::vector<std::optional<std::int64_t>> evaluate(std::vector<Node> const& nodes,
                                                  std::vector<std::int64_t> const& symbols)
{
    std::vector<std::optional<std::int64_t>> values(nodes.size());
    for (std::size_t i = 0; i < nodes.size(); ++i)
    {
        Node const& node = nodes[i];
        if (node.kind == Node::kSYMBOL)
        {
            values[i] = symbols.at(static_cast<std::size_t>(node.op));
        }
        else if (node.kind == Node::kCONSTANT)
        {
            values[i] = node.value;
        }
        else if (node.kind == Node::kOPERATION)
        {
            auto const left = values.at(static_cast<std::size_t>(node.left));
            auto const right = values.at(static_cast<std::size_t>(node.right));
            if (left && right)
            {
                values[i] = compute(static_cast<DimensionOperation>(node.op), *left, *right);
            }
        }
    }
    return values;
}

namespace
{

std::optional<Interval> combine(DimensionOperation op, Interval left, Interval right)
{
    if (op == DimensionOperation::kEQUAL)
    {
        bool const apart = left.high < right.low || right.high < left.low;
        bool const same = left.low == left.high && right.low == right.high && left.low == right.low;
        return Interval{same ? 1 : 0, apart ? 0 : 1};
    }
    if (op == DimensionOperation::kLESS)
    {
        return Interval{left.high < right.low ? 1 : 0, left.low < right.high ? 1 : 0};
    }
    if (isDivision(op) && right.low <= 0 && right.high >= 0)
    {
        return std::nullopt;
    }
    // The others are monotonic in each operand (division: while the divisor keeps its sign), so a corner is extreme.
    Interval result{std::numeric_limits<std::int64_t>::max(), std::numeric_limits<std::int64_t>::min()};
    for (std::int64_t const l : {left.low, left.high})
    {
        for (std::int64_t const r : {right.low, right.high})
        {
            auto const corner = compute(op, l, r);
            if (!corner)
            {
                return std::nullopt;
            }
            result.low = std::min(result.low, *corner);
            result.high = std::max(result.high, *corner);
        }
    }
    return result;
}

} // namespace

std::vector<std::optional<Interval>> bounds(std::vector<Node> const& nodes, std::vector<Interval> const& symbols)
{
    std::vector<std::optional<Interval>> result(nodes.size());
    for (std::size_t i = 0; i < nodes.size(); ++i)
    {
        Node const& node = nodes[i];
        if (node.kind == Node::kSYMBOL)
        {
            result[i] = symbols.at(static_cast<std::size_t>(node.op));
        }
        else if (node.kind == Node::kCONSTANT)
        {
            result[i] = Interval{node.value, node.value};
        }
        else if (node.kind == Node::kOPERATION)
        {
            auto const left = result.at(static_cast<std::size_t>(node.left));
            auto const right = result.at(static_cast<std::size_t>(node.right));
            if (left && right)
            {
                result[i] = combine(static_cast<DimensionOperation>(node.op), *left, *right);
            }
        }
    }
    return result;
}

namespace
{

class Expr final : public IDimensionExpr, public nvinfer1::apiv::VDimensionExpr
{
public:
    Expr(ExprSession::Impl& session, std::int32_t index) : session{session}, index{index}
    {
        mImpl = this;
    }
    bool isConstant() const override;
    std::int64_t getConstantValue() const override;
    bool isSizeTensor() const override;

    ExprSession::Impl& session;
    std::int32_t const index;
};

class Builder final : public nvinfer1::IExprBuilder, public nvinfer1::apiv::VExprBuilder
{
public:
    explicit Builder(ExprSession::Impl& session) : mSession{session}
    {
        mImpl = this;
    }
    IDimensionExpr const* constant(std::int64_t value) override;
    IDimensionExpr const* operation(DimensionOperation op, IDimensionExpr const& first,
                                    IDimensionExpr const& second) override;
    IDimensionExpr const* declareSizeTensor(std::int32_t outputIndex, IDimensionExpr const& opt,
                                            IDimensionExpr const& upper) override;

private:
    ExprSession::Impl& mSession;
};

//! Every expression that was ever handed out, by the pointer that the plugin has. They are never freed: see
//! ExprSession.
std::unordered_map<IDimensionExpr const*, Expr const*>& handedOut()
{
    static auto* const all = new std::unordered_map<IDimensionExpr const*, Expr const*>;
    return *all;
}

} // namespace

struct ExprSession::Impl
{
    Builder builder{*this};
    std::deque<Expr> exprs;
    std::vector<Node> nodes;
    std::vector<std::string> faults;
    std::vector<std::string> warnings;
    std::vector<SizeTensor> sizes;
    char const* method{"getOutputDimensions"};
    std::optional<std::int32_t> nbOutputs; // none: no size tensors
    std::int32_t nbSymbols{0};
    bool ended{false};

    IDimensionExpr const* add(Node node)
    {
        nodes.push_back(node);
        Expr const& expr = exprs.emplace_back(*this, static_cast<std::int32_t>(nodes.size()) - 1);
        handedOut().emplace(&expr, &expr);
        return &expr;
    }

    IDimensionExpr const* invalid(std::string fault)
    {
        faults.push_back(std::move(fault));
        return add({Node::kINVALID, 0, 0, 0, 0});
    }

    void use(char const* used)
    {
        if (ended)
        {
            faults.push_back(std::string{used} + " was called after " + method + " had returned");
        }
    }

    std::optional<std::int32_t> find(IDimensionExpr const* expr) const
    {
        auto const found = handedOut().find(expr);
        if (found == handedOut().end() || &found->second->session != this)
        {
            return std::nullopt;
        }
        return found->second->index;
    }

    bool isConstant(std::int32_t index) const
    {
        return nodes[static_cast<std::size_t>(index)].kind == Node::kCONSTANT;
    }

    bool isSize(std::int32_t index) const
    {
        Node const& node = nodes[static_cast<std::size_t>(index)];
        return node.kind == Node::kSYMBOL && std::any_of(sizes.begin(), sizes.end(), [&node](SizeTensor const& size)
                                                         { return size.symbol == node.op; });
    }

    bool dependsOnSize(std::int32_t index) const
    {
        Node const& node = nodes[static_cast<std::size_t>(index)];
        return isSize(index) ||
               (node.kind == Node::kOPERATION && (dependsOnSize(node.left) || dependsOnSize(node.right)));
    }
};

namespace
{

bool Expr::isConstant() const
{
    session.use("IDimensionExpr::isConstant");
    return session.isConstant(index);
}

std::int64_t Expr::getConstantValue() const
{
    session.use("IDimensionExpr::getConstantValue");
    if (!session.isConstant(index))
    {
        session.warnings.emplace_back(
            "IDimensionExpr::getConstantValue was called on an expression that is not constant"
            " (ask isConstant first)");
        return std::numeric_limits<std::int64_t>::min();
    }
    return session.nodes[static_cast<std::size_t>(index)].value;
}

bool Expr::isSizeTensor() const
{
    session.use("IDimensionExpr::isSizeTensor");
    return session.isSize(index);
}

IDimensionExpr const* Builder::constant(std::int64_t value)
{
    mSession.use("IExprBuilder::constant");
    return mSession.add({Node::kCONSTANT, 0, 0, 0, value});
}

IDimensionExpr const* Builder::operation(DimensionOperation op, IDimensionExpr const& first,
                                         IDimensionExpr const& second)
{
    mSession.use("IExprBuilder::operation");
    auto const code = static_cast<std::int32_t>(op);
    if (code < 0 || static_cast<std::size_t>(code) >= kNAMES.size())
    {
        return nullptr; // as the header says
    }
    std::string const name = kNAMES[static_cast<std::size_t>(code)];
    auto const left = mSession.find(&first);
    auto const right = mSession.find(&second);
    if (!left || !right)
    {
        return mSession.invalid("IExprBuilder::operation(" + name + ") was called with " +
                                ExprSession::describe(left ? &second : &first) + " as its " +
                                (left ? "second" : "first") + " operand");
    }
    auto const constantOf = [this](std::int32_t index)
    { return mSession.nodes[static_cast<std::size_t>(index)].value; };
    if (isDivision(op) && mSession.isConstant(*right) && constantOf(*right) == 0)
    {
        return mSession.invalid("IExprBuilder::operation(" + name + ") was called to divide by the constant 0");
    }
    if (mSession.isConstant(*left) && mSession.isConstant(*right))
    {
        auto const value = compute(op, constantOf(*left), constantOf(*right));
        if (!value)
        {
            return mSession.invalid("IExprBuilder::operation(" + name + ") of " + std::to_string(constantOf(*left)) +
                                    " and " + std::to_string(constantOf(*right)) + " has no answer in 64 bits");
        }
        return mSession.add({Node::kCONSTANT, 0, 0, 0, *value});
    }
    return mSession.add({Node::kOPERATION, code, *left, *right, 0});
}

IDimensionExpr const* Builder::declareSizeTensor(std::int32_t outputIndex, IDimensionExpr const& opt,
                                                 IDimensionExpr const& upper)
{
    mSession.use("IExprBuilder::declareSizeTensor");
    std::string const what = "IExprBuilder::declareSizeTensor was called for output " + std::to_string(outputIndex);
    if (!mSession.nbOutputs)
    {
        // Size tensors belong to IPluginV3OneBuild::getOutputShapes; an IPluginV2DynamicExt has no way to fill one.
        return mSession.invalid(what + ", but size tensors exist for IPluginV3 only");
    }
    if (outputIndex < 0 || outputIndex >= *mSession.nbOutputs)
    {
        return mSession.invalid(what + " of a plugin with " + std::to_string(*mSession.nbOutputs) + " outputs");
    }
    auto const usual = mSession.find(&opt);
    auto const most = mSession.find(&upper);
    if (!usual || !most)
    {
        return mSession.invalid(what + " with " + ExprSession::describe(usual ? &upper : &opt) + " as " +
                                (usual ? "upper" : "opt"));
    }
    if (mSession.dependsOnSize(*usual))
    {
        return mSession.invalid(what + " with an opt that depends on a size tensor");
    }
    bool const twice = std::any_of(mSession.sizes.begin(), mSession.sizes.end(),
                                   [outputIndex](SizeTensor const& size) { return size.output == outputIndex; });
    if (twice)
    {
        return mSession.invalid(what + " a second time");
    }
    mSession.sizes.push_back({outputIndex, *usual, *most, mSession.nbSymbols});
    return mSession.add({Node::kSYMBOL, mSession.nbSymbols++, 0, 0, 0});
}

} // namespace

ExprSession::ExprSession() : mImpl{new Impl} {}

ExprSession::ExprSession(std::int32_t nbOutputs) : mImpl{new Impl}
{
    mImpl->method = "getOutputShapes";
    mImpl->nbOutputs = nbOutputs;
}

ExprSession::~ExprSession()
{
    // The Impl stays, on purpose (see the class): some hundred bytes for each shape call of a test run.
    mImpl->ended = true;
}

nvinfer1::IExprBuilder& ExprSession::builder()
{
    return mImpl->builder;
}

IDimensionExpr const* ExprSession::symbol()
{
    return mImpl->add({Node::kSYMBOL, mImpl->nbSymbols++, 0, 0, 0});
}

IDimensionExpr const* ExprSession::constant(std::int64_t value)
{
    return mImpl->add({Node::kCONSTANT, 0, 0, 0, value});
}

void ExprSession::end()
{
    mImpl->ended = true;
}

std::optional<std::int32_t> ExprSession::find(IDimensionExpr const* expr) const
{
    return mImpl->find(expr);
}

std::string ExprSession::describe(IDimensionExpr const* expr)
{
    if (expr == nullptr)
    {
        return "null";
    }
    return handedOut().count(expr) == 0 ? "a pointer that is not an expression of this builder"
                                        : "an expression of another call";
}

std::vector<Node> const& ExprSession::nodes() const
{
    return mImpl->nodes;
}

std::vector<SizeTensor> const& ExprSession::sizes() const
{
    return mImpl->sizes;
}

std::vector<std::string> const& ExprSession::faults() const
{
    return mImpl->faults;
}

std::vector<std::string> const& ExprSession::warnings() const
{
    return mImpl->warnings;
}

} // namespace pluginkit
