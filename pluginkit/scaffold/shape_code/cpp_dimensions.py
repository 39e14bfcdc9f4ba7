"""Outputs' shapes in C++: by IExprBuilder of open dimensions, and by numbers of static ones.

What is made of fields and numbers alone is computed as `pluginkit::Dimension`, which knows overflows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import count

from pluginkit import shapes
from pluginkit.manifest import MAX_DIMS, REST, Manifest, Tensor

_INFIX = ("+", "-", "*")
_CALLS = {"//": "floorDiv", "ceil_div": "ceilDiv", "min": "std::min", "max": "std::max"}
_DIMENSION_CALLS = {"//": "floorQuotient", "ceil_div": "ceilQuotient", "min": "smaller", "max": "larger"}
_CLASS = "pluginkit::Dimension"
NO_DIMENSION = "kNoDimension"
"""A constant of the template: what stands for a dimension that there isn't."""


def statements(manifest: Manifest, output: Tensor) -> list[str]:
    """The statements that fill `output`, a `DimsExprs`; intermediate results are called t0, t1, ..."""
    fresh = count()
    if REST in manifest.written(output):
        return _of_any_rank(manifest, output, fresh)
    dims = [shapes.lowered(shapes.parse(dim)) for dim in output.shape]
    if not any(isinstance(dim, shapes.Choice) and dim.otherwise is None for dim in dims):
        lines = [f"output.nbDims = {len(dims)};"]
        for index, dim in enumerate(dims):
            value = _expression(manifest, dim, lines, fresh)
            lines.append(f"output.d[{index}] = {value};")
        return lines
    return ["output.nbDims = 0;", *(line for dim in dims for line in _appended(manifest, dim, fresh))]


def _appended(manifest: Manifest, dim: shapes.Expr, fresh: Iterator[int]) -> list[str]:
    """The statements that append a dimension, if there is one."""
    lines: list[str] = []
    if isinstance(dim, shapes.Choice) and dim.otherwise is None:
        lines.append(f"output.d[output.nbDims++] = {_expression(manifest, dim.then, lines, fresh)};")
        return _block(f"if ({_condition(manifest, dim.condition)})", lines)
    lines.append(f"output.d[output.nbDims++] = {_expression(manifest, dim, lines, fresh)};")
    return lines


def _of_any_rank(manifest: Manifest, output: Tensor, fresh: Iterator[int]) -> list[str]:
    lines = ["output.nbDims = 0;"]
    for dim in manifest.written(output):
        if dim != REST:
            lines += _appended(manifest, shapes.lowered(shapes.parse(dim)), fresh)
            continue
        index, shape = first_open(manifest)
        at, behind = shape.index(REST), len(shape) - shape.index(REST) - 1
        last = f"inputs[{index}].nbDims" + (f" - {behind}" if behind else "")
        lines += _block(
            f"for (int32_t i = {at}; i < {last}; ++i)", [f"output.d[output.nbDims++] = inputs[{index}].d[i];"]
        )
    return lines


def first_open(manifest: Manifest) -> tuple[int, tuple[str, ...]]:
    """The first input of any rank: which it is, and its shape."""
    written = [manifest.written(tensor) for tensor in manifest.inputs]
    return next((index, shape) for index, shape in enumerate(written) if REST in shape)


def rank_checks(manifest: Manifest) -> list[str]:
    """For each input, what is true where it has a wrong number of dimensions."""
    written = [manifest.written(tensor) for tensor in manifest.inputs]
    found = []
    for index, shape in enumerate(written):
        if REST not in shape:
            found.append(f"inputs[{index}].nbDims != {len(shape)}")
            continue
        first, first_shape = first_open(manifest)
        if index != first:
            more = len(shape) - len(first_shape)
            rest = f" {'+' if more > 0 else '-'} {abs(more)}" if more else ""
            found.append(f"inputs[{index}].nbDims != inputs[{first}].nbDims{rest}")
            continue
        # An output may have more dimensions beside the rest than the input has.
        most = max((len(dims) for t in manifest.outputs if REST in (dims := manifest.written(t))), default=0)
        above = f" || inputs[{index}].nbDims > {MAX_DIMS - (most - len(shape))}" if most > len(shape) else ""
        found.append(f"inputs[{index}].nbDims < {len(shape) - 1}{above}")
    return found


def numbers(manifest: Manifest, output: Tensor) -> list[str]:
    """Each dimension as C++ computes it of numbers: `at(input, dimension)` gives those of the inputs."""
    return [_number(manifest, shapes.lowered(shapes.parse(dim))) for dim in output.shape]


def uses_dimension(lines: Iterable[str]) -> bool:
    """Whether some code needs the header that has `pluginkit::Dimension`."""
    return any(_CLASS in line or "fixed(" in line for line in lines)


def checks(manifest: Manifest) -> list[str]:
    """What makes fields' values useless for shapes: a divisor of 0, where a shape divides whatever the fields are."""
    found: dict[str, None] = {}
    for tensor in manifest.outputs:
        for dim in manifest.written(tensor):
            if dim == REST:
                continue
            for divisor in _divisors(shapes.lowered(shapes.parse(dim))):
                if _is_fixed(manifest, divisor) and shapes.symbols(divisor):
                    if isinstance(divisor, shapes.Symbol):
                        found[f"parameters.{divisor.name} == 0"] = None
                    else:
                        found[f"{_dimension(manifest, divisor, 'parameters')}.value() == 0"] = None
    return list(found)


def _divisors(expr: shapes.Expr) -> Iterator[shapes.Expr]:
    if isinstance(expr, shapes.Operation):
        if expr.op in ("//", "ceil_div"):
            yield expr.right
        yield from _divisors(expr.left)
        yield from _divisors(expr.right)


def _is_fixed(manifest: Manifest, expr: shapes.Expr) -> bool:
    """Whether it is made of fields and numbers alone."""
    known = manifest.symbols()
    return not any(name in known for name in shapes.symbols(expr))


def _block(head: str, lines: list[str]) -> list[str]:
    return [head, "{", *(f"    {line}" for line in lines), "}"]


def _expression(manifest: Manifest, expr: shapes.Expr, lines: list[str], fresh: Iterator[int]) -> str:
    """A dimension as an `IDimensionExpr const*`; `lines` get the statements that it needs before it."""
    if isinstance(expr, shapes.Constant):
        return f"exprBuilder.constant({expr.value})"
    if isinstance(expr, shapes.Choice):
        assert expr.otherwise is not None, "only a whole dimension may be absent"
        name = f"t{next(fresh)}"
        lines.append(f"IDimensionExpr const* {name}{{}};")
        for head, side in ((f"if ({_condition(manifest, expr.condition)})", expr.then), ("else", expr.otherwise)):
            inner: list[str] = []
            inner.append(f"{name} = {_expression(manifest, side, inner, fresh)};")
            lines += _block(head, inner)
        return name
    if isinstance(expr, shapes.Symbol):
        if expr.name in manifest.symbols():
            index, place = _place(manifest, expr.name)
            return f"inputs[{index}].d[{place}]"
        return f"exprBuilder.constant(mParameters.{expr.name})"
    if _is_fixed(manifest, expr) and not any(True for _ in shapes.conditions(expr)):
        number = _dimension(manifest, expr)
        return f"fixed{number}" if number.startswith("(") else f"fixed({number})"
    sides = []
    for side in (expr.left, expr.right):
        value = _expression(manifest, side, lines, fresh)
        if isinstance(side, shapes.Operation) and value.startswith("apply("):
            name = f"t{next(fresh)}"
            lines.append(f"IDimensionExpr const* const {name} = {value};")
            value = name
        sides.append(value)
    return f"apply(DimensionOperation::{shapes.OPERATIONS[expr.op]}, {sides[0]}, {sides[1]})"


def _condition(manifest: Manifest, condition: shapes.Expr | shapes.Relation) -> str:
    if not isinstance(condition, shapes.Relation):
        condition = shapes.Relation("!=", condition, shapes.Constant(0))
    sides = [_compared(manifest, side) for side in (condition.left, condition.right)]
    return f"{sides[0]} {condition.op} {sides[1]}"


def _compared(manifest: Manifest, expr: shapes.Expr) -> str:
    if isinstance(expr, shapes.Constant):
        return str(expr.value)
    if isinstance(expr, shapes.Symbol):
        return f"mParameters.{expr.name}"
    return f"{_dimension(manifest, expr)}.value()"


def _number(manifest: Manifest, expr: shapes.Expr) -> str:
    """A dimension of numbers, an int64_t."""
    if isinstance(expr, shapes.Choice):
        otherwise = NO_DIMENSION if expr.otherwise is None else _number(manifest, expr.otherwise)
        return f"{_condition(manifest, expr.condition)} ? {_number(manifest, expr.then)} : {otherwise}"
    if isinstance(expr, shapes.Constant):
        return str(expr.value)
    if isinstance(expr, shapes.Symbol):
        return _named(manifest, expr.name)
    if set(shapes.symbols(expr)) - set(manifest.symbols()):
        return f"{_dimension(manifest, expr)}.value()"
    left, right = _number(manifest, expr.left), _number(manifest, expr.right)
    if expr.op in _INFIX:
        sides = [
            f"({text})" if isinstance(side, shapes.Operation) and side.op in _INFIX else text
            for side, text in ((expr.left, left), (expr.right, right))
        ]
        return f"{sides[0]} {expr.op} {sides[1]}"
    typed = "<int64_t>" if expr.op in ("min", "max") else ""
    return f"{_CALLS[expr.op]}{typed}({left}, {right})"


def _dimension(manifest: Manifest, expr: shapes.Expr, parameters: str = "mParameters") -> str:
    """A `pluginkit::Dimension`, whose operations know overflows; its functions are found by their arguments."""
    if isinstance(expr, shapes.Constant):
        return f"{_CLASS}{{{expr.value}}}"
    if isinstance(expr, shapes.Symbol):
        return f"{_CLASS}{{{_named(manifest, expr.name, parameters)}}}"
    if isinstance(expr, shapes.Choice):
        return f"{_CLASS}{{{_number(manifest, expr)}}}"
    left, right = _dimension(manifest, expr.left, parameters), _dimension(manifest, expr.right, parameters)
    if expr.op in _INFIX:
        return f"({left} {expr.op} {right})"
    return f"{_DIMENSION_CALLS[expr.op]}({left}, {right})"


def _named(manifest: Manifest, name: str, parameters: str = "mParameters") -> str:
    """A symbol's or a field's number."""
    if name in manifest.symbols():
        return "at({}, {})".format(*_place(manifest, name))
    return f"{parameters}.{name}"


def _place(manifest: Manifest, symbol: str) -> tuple[int, str]:
    """The first input dimension that is the symbol: (input, dimension)."""
    written = [manifest.written(tensor) for tensor in manifest.inputs]
    index, shape = next((index, shape) for index, shape in enumerate(written) if symbol in shape)
    at = shape.index(symbol)
    behind = len(shape) - at
    return index, f"inputs[{index}].nbDims - {behind}" if REST in shape[:at] else str(at)
