"""The parts of a shape expression, and its text."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
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

LENGTH = "len"
"""`len(axes)`: a list field's number of elements."""

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
class Element:
    """An element of a list field, counted from 0: `pads[2]`."""

    name: str
    index: int


@dataclass(frozen=True)
class Length:
    """How many elements a list field has: `len(axes)`."""

    name: str


Name = Symbol | Element | Length
"""What a name stands for."""


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


Expr = Constant | Name | Operation | Choice


def substituted(expr: Expr, instead: Mapping[str, Expr]) -> Expr:
    """The expression with others in the place of some names; conditions, which are on fields alone, stay."""
    if isinstance(expr, Symbol):
        return instead.get(expr.name, expr)
    if isinstance(expr, Operation):
        return Operation(expr.op, substituted(expr.left, instead), substituted(expr.right, instead))
    if isinstance(expr, Choice):
        otherwise = None if expr.otherwise is None else substituted(expr.otherwise, instead)
        return Choice(expr.condition, substituted(expr.then, instead), otherwise)
    return expr


def symbols(expr: Expr | Relation) -> tuple[str, ...]:
    """The names in an expression, conditions and list fields included, in the order of their first use."""
    if isinstance(expr, Name):
        return (expr.name,)
    return tuple(dict.fromkeys(name for part in _parts(expr) for name in symbols(part)))


def plain_symbols(expr: Expr | Relation) -> set[str]:
    """The names in an expression that stand for a number, not for a list."""
    if isinstance(expr, Symbol):
        return {expr.name}
    return {name for part in _parts(expr) for name in plain_symbols(part)}


def elements(expr: Expr | Relation) -> Iterator[Element]:
    """The elements of list fields in an expression, conditions included."""
    if isinstance(expr, Element):
        yield expr
    for part in _parts(expr):
        yield from elements(part)


def lengths(expr: Expr | Relation) -> set[str]:
    """The names of the list fields whose lengths are in an expression, conditions included."""
    if isinstance(expr, Length):
        return {expr.name}
    return {name for part in _parts(expr) for name in lengths(part)}


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
        return Choice(_lowered_condition(expr.condition), lowered(expr.then), otherwise)
    if not isinstance(expr, Operation):
        return expr
    left, right = lowered(expr.left), lowered(expr.right)
    if expr.op != BROADCAST:
        return Operation(expr.op, left, right)
    some = Operation("min", Constant(1), Operation("min", left, right))
    return Operation("*", Operation("max", left, right), some)


def _lowered_condition(condition: Expr | Relation) -> Expr | Relation:
    if isinstance(condition, Relation):
        return Relation(condition.op, lowered(condition.left), lowered(condition.right))
    return lowered(condition)


def render(expr: Expr | Relation) -> str:
    """The expression as text that `parse` reads back to an equal one."""
    if isinstance(expr, Constant):
        return str(expr.value) if expr.value >= 0 else f"(0 - {-expr.value})"
    if isinstance(expr, Name):
        return _rendered(expr)
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


def _rendered(name: Name) -> str:
    if isinstance(name, Length):
        return f"{LENGTH}({name.name})"
    return f"{name.name}[{name.index}]" if isinstance(name, Element) else name.name


def is_infix(expr: Expr | Relation) -> bool:
    """Whether it is an operation with its sign between two operands."""
    return isinstance(expr, Operation) and expr.op not in CALLS
