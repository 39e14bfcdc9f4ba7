"""Attributes of a plugin's node, computed from what a pattern has matched: `shape[1]`, `1 / scale`, `sqrt(d)`."""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from pluginkit.errors import UsageError
from pluginkit.patterns import TEXTS

_BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "abs": abs,
    "exp": math.exp,
    "float": float,
    "int": int,
    "len": len,
    "log": math.log,
    "max": max,
    "min": min,
    "round": round,
    "sqrt": math.sqrt,
}


def evaluate(text: str, names: Mapping[str, object]) -> object:
    """A number, text, or list of them.

    Args:
        text: names, numbers, texts and lists; `+ - * / // %`, an index in brackets, and the functions abs, exp, float,
            int, len, log, max, min, round, sqrt. Of a constant with one element the name is that number.
        names: what was matched, by name.

    Raises:
        UsageError: it is no such expression, names something else, or can't be computed.
    """
    try:
        return plain(_value(ast.parse(text, mode="eval").body, names))
    except SyntaxError:
        raise UsageError(
            f"{text!r} is not an expression.", hint="Write it as shape[1], 1 / scale or sqrt(size)."
        ) from None
    except (ArithmeticError, AttributeError, IndexError, MemoryError, RecursionError, TypeError, ValueError) as error:
        # MemoryError says nothing about itself.
        raise UsageError(f"{text!r} can't be computed: {str(error) or type(error).__name__}.") from None


def plain(value: object) -> object:
    """Python's own numbers, texts and lists of what NumPy has; an array of one element is that."""
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, (np.ndarray, np.generic)):
        listed = [plain(one) if isinstance(one, bytes) else one for one in np.asarray(value).reshape(-1).tolist()]
        return listed[0] if len(listed) == 1 and np.ndim(value) == 0 else listed
    return value


def same(one: object, other: object, *, rtol: float, atol: float = 0.0) -> bool:
    """Whether two values, as `plain` makes them, are the same: texts exactly, numbers within a tolerance."""
    a, b = np.asarray(one).reshape(-1), np.asarray(other).reshape(-1)
    if a.dtype.kind in TEXTS or b.dtype.kind in TEXTS:
        return bool(a.tolist() == b.tolist())
    return a.shape == b.shape and np.allclose(a.astype(np.float64), b.astype(np.float64), rtol, atol)


def _value(node: ast.expr, names: Mapping[str, object]) -> Any:  # noqa: PLR0911 - one for each kind
    match node:
        case ast.Constant(value=int() | float() | str()):
            return node.value
        case ast.Name():
            if node.id not in names:
                listed = ", ".join(names) or "nothing"
                raise UsageError(f"The pattern binds no {node.id!r}.", hint=f"It binds {listed}.")
            return _scalar(names[node.id])
        case ast.UnaryOp(op=ast.USub()):
            return -_value(node.operand, names)
        case ast.BinOp() if type(node.op) in _BINARY:
            return _BINARY[type(node.op)](_value(node.left, names), _value(node.right, names))
        case ast.List():
            return [_value(one, names) for one in node.elts]
        case ast.Subscript():
            # A constant with one element has an index, too.
            whole = names.get(node.value.id) if isinstance(node.value, ast.Name) else None
            value = _value(node.value, names) if whole is None else whole
            return np.asarray(value).reshape(-1)[int(_value(node.slice, names))].item()
        case ast.Call(func=ast.Name(id=name), keywords=[]) if name in _FUNCTIONS:
            return _FUNCTIONS[name](*(_value(one, names) for one in node.args))
    raise UsageError(
        f"{ast.unparse(node)!r} is not taken in an expression.",
        hint=f"Expressions have + - * / // %, an index in brackets, and {', '.join(sorted(_FUNCTIONS))}.",
    )


def _scalar(value: object) -> object:
    if isinstance(value, np.ndarray) and value.size == 1:
        return value.reshape(-1)[0].item()
    return plain(value)
