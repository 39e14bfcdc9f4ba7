#pragma once

#include "descs.h"
#include "expressions.h"

#include <stdexcept>
#include <tuple>
#include <vector>

namespace pluginkit
{

//! (kind, op, left, right, value): see Node.
using PyNode = std::tuple<std::int32_t, std::int32_t, std::int32_t, std::int32_t, std::int64_t>;
using PyNodes = std::vector<PyNode>;

inline PyNodes toPython(std::vector<Node> const& nodes)
{
    PyNodes result;
    for (Node const& node : nodes)
    {
        result.emplace_back(node.kind, node.op, node.left, node.right, node.value);
    }
    return result;
}

//! Throws std::invalid_argument (ValueError) when a node refers to a later node or an unknown symbol.
inline std::vector<Node> fromPython(PyNodes const& nodes, std::size_t nbSymbols)
{
    std::vector<Node> result;
    for (auto const& [kind, op, left, right, value] : nodes)
    {
        auto const earlier = [&result](std::int32_t index)
        { return index >= 0 && static_cast<std::size_t>(index) < result.size(); };
        bool const symbol = op >= 0 && static_cast<std::size_t>(op) < nbSymbols;
        bool const fine = kind == Node::kSYMBOL      ? symbol
                          : kind == Node::kOPERATION ? earlier(left) && earlier(right)
                                                     : kind == Node::kCONSTANT || kind == Node::kINVALID;
        if (!fine)
        {
            throw std::invalid_argument{"node " + std::to_string(result.size()) + " is not a node of an expression"};
        }
        result.push_back({static_cast<Node::Kind>(kind), op, left, right, value});
    }
    return result;
}

//! The inputs' dimensions: a symbol for each -1, in order.
inline ClosedArray<nvinfer1::DimsExprs> toExprs(ExprSession& session, std::vector<PyDims> const& inputs)
{
    std::vector<nvinfer1::DimsExprs> exprs;
    for (PyDims const& dims : inputs)
    {
        nvinfer1::DimsExprs one{};
        one.nbDims = toDims(dims).nbDims;
        for (std::size_t i = 0; i < dims.size(); ++i)
        {
            one.d[i] = dims[i] < 0 ? session.symbol() : session.constant(dims[i]);
        }
        exprs.push_back(one);
    }
    return {exprs, "inputs"};
}

} // namespace pluginkit
