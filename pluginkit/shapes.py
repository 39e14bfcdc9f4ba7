"""Shape expressions: what an output's dimension is, in terms of the symbols that name the inputs' dimensions.

The operations are those that TensorRT's `IExprBuilder` offers to a plugin: `+`, `-`, `*`, `//` (kFLOOR_DIV),
`ceil_div(a, b)` (kCEIL_DIV), `min(a, b)` and `max(a, b)`, over symbols and whole numbers.
"""

from __future__ import annotations

import ast
import functools
import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from pluginkit.errors import UsageError

SYMBOL = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")

OPERATIONS = {
    "+": "kSUM",
    "-": "kSUB",
    "*": "kPROD",
    "//": "kFLOOR_DIV",
    "ceil_div": "kCEIL_DIV",
    "min": "kMIN",
    "max": "kMAX",
}
"""Each operation as it is written, and its name in `nvinfer1::DimensionOperation`."""

_BINARY: dict[type[ast.operator], str] = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.FloorDiv: "//"}
_CALLS = ("ceil_div", "min", "max")
_COMPUTE: dict[str, Callable[[int, int], int]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "//": operator.floordiv,
    "ceil_div": lambda a, b: -(-a // b),
    "min": min,
    "max": max,
}


@dataclass(frozen=True)
class Constant:
    """A whole number."""

    value: int


@dataclass(frozen=True)
class Symbol:
    """A dimension of an input, by name."""

    name: str


@dataclass(frozen=True)
class Operation:
    """One of `OPERATIONS` on two expressions."""

    op: str
    left: Expr
    right: Expr


Expr = Constant | Symbol | Operation


@functools.lru_cache(maxsize=4096, typed=True)
def parse(text: str | int) -> Expr:
    """Parse a dimension such as `"n + m"` or `3`.

    Raises:
        UsageError: it is no such expression.
    """
    try:
        body = ast.parse(str(text).strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise _bad(text) from None
    return _convert(body, str(text))


def _convert(node: ast.expr, text: str) -> Expr:
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return Constant(node.value)
    if isinstance(node, ast.Name):
        return Symbol(node.id)
    if isinstance(node, ast.BinOp) and type(node.op) in _BINARY:
        return Operation(_BINARY[type(node.op)], _convert(node.left, text), _convert(node.right, text))
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _CALLS:
        if len(node.args) == 2 and not node.keywords:
            return Operation(node.func.id, _convert(node.args[0], text), _convert(node.args[1], text))
        raise UsageError(f"'{node.func.id}' takes two arguments in the dimension '{text}'.", hint=_FORM)
    raise _bad(text)


_FORM = "A dimension is made of symbols, whole numbers, + - * //, ceil_div(a, b), min(a, b) and max(a, b)."


def _bad(text: object) -> UsageError:
    return UsageError(f"'{text}' is not a dimension.", hint=_FORM)


def symbols(expr: Expr) -> tuple[str, ...]:
    """The symbols of an expression, in the order of their first use."""
    if isinstance(expr, Symbol):
        return (expr.name,)
    if isinstance(expr, Operation):
        return tuple(dict.fromkeys(symbols(expr.left) + symbols(expr.right)))
    return ()


def evaluate(expr: Expr, env: Mapping[str, int]) -> int:
    """The value of an expression, each symbol having the value that `env` gives it.

    Raises:
        UsageError: a symbol has no value, a division by zero, or a negative dimension within.
    """
    if isinstance(expr, Constant):
        return expr.value
    if isinstance(expr, Symbol):
        if expr.name not in env:
            raise UsageError(f"The symbol '{expr.name}' has no value.", hint=f"Known: {', '.join(env) or 'none'}.")
        return env[expr.name]
    left, right = evaluate(expr.left, env), evaluate(expr.right, env)
    if expr.op in ("//", "ceil_div") and right == 0:
        raise UsageError(f"'{render(expr)}' divides by zero at {dict(env)}.")
    return _COMPUTE[expr.op](left, right)


def bounds(expr: Expr, env: Mapping[str, tuple[int, int]]) -> tuple[int, int] | None:
    """What the value is within while each symbol is within what `env` gives it, by intervals as TensorRT computes them.

    Returns:
        The least and the greatest value; None where a divisor may be zero.

    Raises:
        UsageError: a symbol has no value.
    """
    if not isinstance(expr, Operation):
        low, high = ({name: ends[index] for name, ends in env.items()} for index in (0, 1))
        return evaluate(expr, low), evaluate(expr, high)
    left, right = bounds(expr.left, env), bounds(expr.right, env)
    if left is None or right is None or (expr.op in ("//", "ceil_div") and right[0] <= 0 <= right[1]):
        return None
    # Each operation is monotonic in each operand, so one of the corners is extreme.
    corners = [_COMPUTE[expr.op](one, other) for one in left for other in right]
    return min(corners), max(corners)


def render(expr: Expr) -> str:
    """The expression as text that `parse` reads back to an equal one."""
    if isinstance(expr, Constant):
        return str(expr.value) if expr.value >= 0 else f"(0 - {-expr.value})"
    if isinstance(expr, Symbol):
        return expr.name
    if expr.op in _CALLS:
        return f"{expr.op}({render(expr.left)}, {render(expr.right)})"
    sides = [f"({render(side)})" if _is_infix(side) else render(side) for side in (expr.left, expr.right)]
    return f"{sides[0]} {expr.op} {sides[1]}"


def _is_infix(expr: Expr) -> bool:
    return isinstance(expr, Operation) and expr.op not in _CALLS
