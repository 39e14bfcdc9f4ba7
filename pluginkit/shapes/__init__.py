"""Shape expressions: what an output's dimension is, in terms of the inputs' dimensions and of the plugin's fields.

The operations are those that TensorRT's `IExprBuilder` offers to a plugin: `+`, `-`, `*`, `//` (kFLOOR_DIV),
`ceil_div(a, b)` (kCEIL_DIV), `min(a, b)` and `max(a, b)`, over symbols, integer fields, elements of integer list fields
(`pads[2]`), lengths of list fields (`len(pads)`) and whole numbers; and `broadcast(a, b)`, which is made of them. `h if
keepdims else 1` is one of two, by a condition on fields; `1 if keepdims` is a dimension that there is only if the
condition holds.
"""

from __future__ import annotations

from pluginkit.shapes.expressions import (
    BROADCAST,
    COMPARISONS,
    OPERATIONS,
    SYMBOL,
    Choice,
    Constant,
    Element,
    Expr,
    Length,
    Name,
    Operation,
    Relation,
    Symbol,
    broadcasts,
    conditions,
    elements,
    lengths,
    lowered,
    plain_symbols,
    render,
    substituted,
    symbols,
)
from pluginkit.shapes.parsing import parse
from pluginkit.shapes.values import Values, bounds, evaluate, exists, fold, holds

__all__ = [
    "BROADCAST",
    "COMPARISONS",
    "OPERATIONS",
    "SYMBOL",
    "Choice",
    "Constant",
    "Element",
    "Expr",
    "Length",
    "Name",
    "Operation",
    "Relation",
    "Symbol",
    "Values",
    "bounds",
    "broadcasts",
    "conditions",
    "elements",
    "evaluate",
    "exists",
    "fold",
    "holds",
    "lengths",
    "lowered",
    "parse",
    "plain_symbols",
    "render",
    "substituted",
    "symbols",
]
