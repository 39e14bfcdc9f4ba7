"""Expressions of known numbers in C++: a `pluginkit::Dimension`, whose operations know overflows."""

from __future__ import annotations

from collections.abc import Callable

from pluginkit import shapes

CLASS = "pluginkit::Dimension"
INFIX = ("+", "-", "*")
_CALLS = {"//": "floorQuotient", "ceil_div": "ceilQuotient", "min": "smaller", "max": "larger"}

Named = Callable[[shapes.Name], str]
"""The C++ of a number that a name stands for."""


def dimension(expr: shapes.Expr, named: Named) -> str:
    """A `pluginkit::Dimension`; the functions on it are found by their arguments.

    Args:
        expr: a lowered expression; a choice has both of its sides.
        named: as `Named`.
    """
    if isinstance(expr, shapes.Constant):
        return f"{CLASS}{{{expr.value}}}"
    if isinstance(expr, shapes.Name):
        return f"{CLASS}{{{named(expr)}}}"
    if isinstance(expr, shapes.Choice):
        assert expr.otherwise is not None, "only a whole dimension may be absent"
        sides = (dimension(side, named) for side in (expr.then, expr.otherwise))
        return "({} ? {} : {})".format(condition(expr.condition, named), *sides)
    left, right = dimension(expr.left, named), dimension(expr.right, named)
    if expr.op in INFIX:
        return f"({left} {expr.op} {right})"
    return f"{_CALLS[expr.op]}({left}, {right})"


def member(expr: shapes.Name, parameters: str) -> str:
    """A field, an element of a list field, which the creator has made long enough, or its length."""
    if isinstance(expr, shapes.Length):
        return f"static_cast<int64_t>({parameters}.{expr.name}.size())"
    return f"{parameters}.{shapes.render(expr)}"


def condition(made: shapes.Expr | shapes.Relation, named: Named) -> str:
    """What is true where a condition holds."""
    if not isinstance(made, shapes.Relation):
        made = shapes.Relation("!=", made, shapes.Constant(0))
    return f"{_compared(made.left, named)} {made.op} {_compared(made.right, named)}"


def _compared(expr: shapes.Expr, named: Named) -> str:
    if isinstance(expr, shapes.Constant):
        return str(expr.value)
    if isinstance(expr, shapes.Name):
        return named(expr)
    return f"{dimension(expr, named)}.value()"
