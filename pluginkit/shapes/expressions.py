"""The parts of a shape expression, and its text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

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

BROADCAST = "broadcast"
"""`broadcast(a, b)`: the size of two dimensions that are equal, or of which one is 1. `lowered` makes it of others."""

CALLS = ("ceil_div", "min", "max", BROADCAST)
"""The operations that are written as calls of two arguments."""

COMPARISONS = ("==", "!=", "<", "<=", ">", ">=")


@dataclass(frozen=True)
class Constant:
    """A whole number."""

    value: int


@dataclass(frozen=True)
class Symbol:
    """A dimension of an input, or a field of the plugin, by name."""

    name: str


@dataclass(frozen=True)
class Operation:
    """One of `OPERATIONS`, or `BROADCAST`, on two expressions."""

    op: str
    left: Expr
    right: Expr


@dataclass(frozen=True)
class Relation:
    """One of `COMPARISONS` of two expressions; only in conditions."""

    op: str
    left: Expr
    right: Expr


@dataclass(frozen=True)
class Choice:
    """`then` where the condition holds (an expression: where it isn't 0), else `otherwise`.

    Without `otherwise` there is no such dimension; that is possible for a whole dimension only.
    """

    condition: Expr | Relation
    then: Expr
    otherwise: Expr | None


Expr = Constant | Symbol | Operation | Choice


def symbols(expr: Expr | Relation) -> tuple[str, ...]:
    """The names in an expression, conditions included, in the order of their first use."""
    if isinstance(expr, Symbol):
        return (expr.name,)
    return tuple(dict.fromkeys(name for part in _parts(expr) for name in symbols(part)))


def conditions(expr: Expr | Relation) -> Iterator[Expr | Relation]:
    """The conditions of all choices in an expression."""
    if isinstance(expr, Choice):
        yield expr.condition
    for part in _parts(expr):
        yield from conditions(part)


def broadcasts(expr: Expr | Relation) -> Iterator[Operation]:
    """All broadcasts in an expression."""
    if isinstance(expr, Operation) and expr.op == BROADCAST:
        yield expr
    for part in _parts(expr):
        yield from broadcasts(part)


def _parts(expr: Expr | Relation) -> list[Expr | Relation]:
    if isinstance(expr, Choice):
        return [part for part in (expr.then, expr.condition, expr.otherwise) if part is not None]
    if isinstance(expr, (Operation, Relation)):
        return [expr.left, expr.right]
    return []


def lowered(expr: Expr) -> Expr:
    """The same by `OPERATIONS` alone: a broadcast is `max(a, b) * min(1, min(a, b))`, which is 0 if one is 0.

    That is right for all sizes that can be broadcast; by intervals it is as narrow as the maximum where no size is 0.
    """
    if isinstance(expr, Choice):
        otherwise = None if expr.otherwise is None else lowered(expr.otherwise)
        return Choice(expr.condition, lowered(expr.then), otherwise)
    if not isinstance(expr, Operation):
        return expr
    left, right = lowered(expr.left), lowered(expr.right)
    if expr.op != BROADCAST:
        return Operation(expr.op, left, right)
    some = Operation("min", Constant(1), Operation("min", left, right))
    return Operation("*", Operation("max", left, right), some)


def render(expr: Expr | Relation) -> str:
    """The expression as text that `parse` reads back to an equal one."""
    if isinstance(expr, Constant):
        return str(expr.value) if expr.value >= 0 else f"(0 - {-expr.value})"
    if isinstance(expr, Symbol):
        return expr.name
    if isinstance(expr, Choice):
        sides = [expr.then, *([] if expr.otherwise is None else [expr.otherwise])]
        texts = [f"({render(side)})" if isinstance(side, Choice) else render(side) for side in sides]
        condition = render(expr.condition)
        condition = f"({condition})" if isinstance(expr.condition, Choice) else condition
        return f"{texts[0]} if {condition}" + (f" else {texts[1]}" if len(texts) > 1 else "")
    if expr.op in CALLS:
        return f"{expr.op}({render(expr.left)}, {render(expr.right)})"
    bracketed = [
        f"({render(side)})" if is_infix(side) or isinstance(side, Choice) else render(side)
        for side in (expr.left, expr.right)
    ]
    return f"{bracketed[0]} {expr.op} {bracketed[1]}"


def is_infix(expr: Expr | Relation) -> bool:
    """Whether it is an operation with its sign between two operands."""
    return isinstance(expr, Operation) and expr.op not in CALLS
