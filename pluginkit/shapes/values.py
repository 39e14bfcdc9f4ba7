"""What an expression is worth: exactly, by intervals, and with numbers in the place of some names."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping

from pluginkit.errors import UsageError
from pluginkit.shapes.expressions import (
    BROADCAST,
    Choice,
    Constant,
    Expr,
    Length,
    Name,
    Operation,
    Relation,
    Symbol,
    lowered,
    render,
    symbols,
)

Values = Mapping[str, int | tuple[int, ...]]
"""What names are worth: a dimension or a field a number, a list field its numbers."""

_LIMIT = 2**63
"""TensorRT's dimensions, and what it computes them with, are int64."""
_DIVISIONS = ("//", "ceil_div")
_COMPUTE: dict[str, Callable[[int, int], int]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "//": operator.floordiv,
    "ceil_div": lambda a, b: -(-a // b),
    "min": min,
    "max": max,
    BROADCAST: lambda a, b: b if a == 1 else a,
}
_COMPARE: dict[str, Callable[[int, int], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def evaluate(expr: Expr, env: Values) -> int:
    """The value of an expression, each name having the value that `env` gives it.

    Raises:
        UsageError: a name has no value or a list as one, a list has no such element, a division by zero, a number
            beyond 64 bits, sizes that can't be broadcast, or a dimension that there isn't.
    """
    if isinstance(expr, Constant):
        return _within(expr.value, expr)
    if isinstance(expr, Name):
        return _named(expr, env)
    if isinstance(expr, Choice):
        chosen = expr.then if holds(expr.condition, env) else expr.otherwise
        if chosen is None:
            raise UsageError(f"There is no dimension '{render(expr)}' at {_at(expr, env)}.")
        return evaluate(chosen, env)
    return _computed(expr, evaluate(expr.left, env), evaluate(expr.right, env), env)


def exists(expr: Expr, env: Values) -> bool:
    """Whether there is such a dimension: `1 if keepdims` is none where `keepdims` is 0.

    Raises:
        UsageError: as `evaluate`.
    """
    return not isinstance(expr, Choice) or expr.otherwise is not None or holds(expr.condition, env)


def holds(condition: Expr | Relation, env: Values) -> bool:
    """Whether a condition holds; an expression does where it isn't 0.

    Raises:
        UsageError: as `evaluate`.
    """
    if isinstance(condition, Relation):
        return _COMPARE[condition.op](evaluate(condition.left, env), evaluate(condition.right, env))
    return evaluate(condition, env) != 0


def fold(expr: Expr, env: Values) -> Expr | None:
    """The expression with `env`'s numbers in the place of names; what has no other name in it becomes a number.

    Returns:
        None where a condition says that there is no such dimension.

    Raises:
        UsageError: as `evaluate`, of what becomes a number.
    """
    if isinstance(expr, Name):
        return Constant(_named(expr, env)) if expr.name in env else expr
    if isinstance(expr, Choice):
        if not env.keys() >= set(symbols(expr.condition)):
            # Which of the two is counted is not known yet, and the other may divide by zero: nothing is computed.
            return _replaced(expr, env)
        chosen = expr.then if holds(expr.condition, env) else expr.otherwise
        return None if chosen is None else fold(chosen, env)
    if not isinstance(expr, Operation):
        return expr
    left, right = fold(expr.left, env), fold(expr.right, env)
    assert left is not None
    assert right is not None, "only a whole dimension may be absent"
    if isinstance(left, Constant) and isinstance(right, Constant):
        return Constant(_computed(expr, left.value, right.value, env))
    return Operation(expr.op, left, right)


def _replaced(expr: Expr, env: Values) -> Expr:
    """The expression with numbers in the place of names, and nothing computed."""
    if isinstance(expr, Name):
        try:
            return Constant(_named(expr, env))
        except UsageError:
            return expr  # not known, or an element that the list lacks, of a side that is perhaps not chosen
    if isinstance(expr, Operation):
        return Operation(expr.op, _replaced(expr.left, env), _replaced(expr.right, env))
    if isinstance(expr, Choice):
        condition, otherwise = _replaced_condition(expr.condition, env), expr.otherwise
        return Choice(condition, _replaced(expr.then, env), None if otherwise is None else _replaced(otherwise, env))
    return expr


def _replaced_condition(condition: Expr | Relation, env: Values) -> Expr | Relation:
    if isinstance(condition, Relation):
        return Relation(condition.op, _replaced(condition.left, env), _replaced(condition.right, env))
    return _replaced(condition, env)


def bounds(expr: Expr, env: Mapping[str, tuple[int, int]]) -> tuple[int, int] | None:
    """What the value is within while each symbol is within what `env` gives it, by intervals as TensorRT computes them.

    Args:
        expr: an expression without choices, as `fold` makes it.
        env: the least and the greatest value of each symbol.

    Returns:
        The least and the greatest value; None where a divisor may be zero.

    Raises:
        UsageError: a symbol has no value.
    """
    expr = lowered(expr)
    if not isinstance(expr, Operation):
        low, high = ({name: ends[index] for name, ends in env.items()} for index in (0, 1))
        return evaluate(expr, low), evaluate(expr, high)
    left, right = bounds(expr.left, env), bounds(expr.right, env)
    if left is None or right is None or (expr.op in _DIVISIONS and right[0] <= 0 <= right[1]):
        return None
    # Each operation is monotonic in each operand, so one of the corners is extreme.
    corners = [_COMPUTE[expr.op](one, other) for one in left for other in right]
    return min(corners), max(corners)


def _named(expr: Name, env: Values) -> int:
    if expr.name not in env:
        raise UsageError(f"The symbol '{expr.name}' has no value.", hint=f"Known: {', '.join(env) or 'none'}.")
    value = env[expr.name]
    if isinstance(expr, Symbol):
        if isinstance(value, tuple):
            raise UsageError(f"'{expr.name}' is a list.", hint=f"Write one of its elements: {expr.name}[0].")
        return value
    if not isinstance(value, tuple):
        what = "a length" if isinstance(expr, Length) else "an element"
        raise UsageError(f"'{render(expr)}' is {what}, and '{expr.name}' is not a list.", hint=f"Write {expr.name}.")
    if isinstance(expr, Length):
        return len(value)
    if expr.index >= len(value):
        raise UsageError(f"There is no '{render(expr)}': '{expr.name}' has {len(value)} elements.")
    return _within(value[expr.index], expr)


def _computed(expr: Operation, left: int, right: int, env: Values) -> int:
    if expr.op in _DIVISIONS and right == 0:
        raise UsageError(f"'{render(expr)}' divides by zero at {_at(expr, env)}.")
    if expr.op == BROADCAST and min(left, right) < 0:
        raise UsageError(f"'{render(expr)}' is of {left} and {right}, which can't be broadcast: one is negative.")
    if expr.op == BROADCAST and left != right and 1 not in (left, right):
        raise UsageError(f"'{render(expr)}' is of {left} and {right}, which can't be broadcast: one must be 1.")
    return _within(_COMPUTE[expr.op](left, right), expr)


def _within(value: int, expr: Expr) -> int:
    if not -_LIMIT <= value < _LIMIT:
        raise UsageError(f"'{render(expr)}' overflows 64 bits, which TensorRT's dimensions have.")
    return value


def _at(expr: Expr, env: Values) -> str:
    shown = {name: list(value) if isinstance(value, tuple) else value for name, value in env.items()}
    return ", ".join(f"{name} = {shown[name]}" for name in symbols(expr) if name in shown) or "any shape"
