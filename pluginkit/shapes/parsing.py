"""From the text of a dimension to an expression."""

from __future__ import annotations

import ast
import functools

from pluginkit.errors import UsageError
from pluginkit.shapes.expressions import (
    CALLS,
    LENGTH,
    Choice,
    Constant,
    Element,
    Expr,
    Length,
    Operation,
    Relation,
    Symbol,
)

_BINARY: dict[type[ast.operator], str] = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.FloorDiv: "//"}
_COMPARED: dict[type[ast.cmpop], str] = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
}
_FORM = (
    "A dimension is made of symbols, integer fields, elements of integer list fields (pads[0]), lengths of list fields "
    "(len(pads)), whole numbers, + - * //, ceil_div(a, b), min(a, b), max(a, b) and broadcast(a, b); a field may "
    "choose: h if keepdims else 1."
)
_NONE = " else ()"
"""What `1 if keepdims` lacks to be Python."""


@functools.lru_cache(maxsize=4096, typed=True)
def parse(text: str | int) -> Expr:
    """Parse a dimension such as `"n + m"`, `"h if keepdims else 1"`, `"1 if keepdims"` or `3`.

    Raises:
        UsageError: it is no such expression.
    """
    written = str(text).strip()
    body = _python(written) or _python(written + _NONE)
    if body is None:
        raise _bad(text)
    try:
        if isinstance(body, ast.IfExp) and isinstance(body.orelse, ast.Tuple) and not body.orelse.elts:
            return Choice(_condition(body.test, written), _convert(body.body, written), None)
        return _convert(body, written)
    except RecursionError:
        raise _bad(text) from None


def _python(text: str) -> ast.expr | None:
    try:
        return ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _convert(node: ast.expr, text: str) -> Expr:
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return Constant(node.value)
    if isinstance(node, ast.Name):
        return Symbol(node.id)
    if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name):
        if isinstance(node.slice, ast.Constant) and type(node.slice.value) is int:
            return Element(node.value.id, node.slice.value)
        raise UsageError(
            f"In the dimension '{text}' an index is not a whole number from 0 on, as in pads[0].", hint=_FORM
        )
    if isinstance(node, ast.BinOp) and type(node.op) in _BINARY:
        return Operation(_BINARY[type(node.op)], _convert(node.left, text), _convert(node.right, text))
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in (*CALLS, LENGTH):
        return _call(node.func.id, node, text)
    if isinstance(node, ast.IfExp):
        return Choice(_condition(node.test, text), _convert(node.body, text), _convert(node.orelse, text))
    raise _bad(text)


def _call(name: str, node: ast.Call, text: str) -> Expr:
    if name != LENGTH:
        if len(node.args) == 2 and not node.keywords:
            return Operation(name, _convert(node.args[0], text), _convert(node.args[1], text))
        raise UsageError(f"'{name}' takes two arguments in the dimension '{text}'.", hint=_FORM)
    if len(node.args) == 1 and isinstance(node.args[0], ast.Name) and not node.keywords:
        return Length(node.args[0].id)
    raise UsageError(f"'{LENGTH}' takes the name of a list field in the dimension '{text}'.", hint=_FORM)


def _condition(node: ast.expr, text: str) -> Expr | Relation:
    """`keepdims`, `not keepdims`, or a comparison of two expressions."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return Relation("==", _convert(node.operand, text), Constant(0))
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in _COMPARED:
        operator = _COMPARED[type(node.ops[0])]
        return Relation(operator, _convert(node.left, text), _convert(node.comparators[0], text))
    return _convert(node, text)


def _bad(text: object) -> UsageError:
    return UsageError(f"'{text}' is not a dimension.", hint=_FORM)
