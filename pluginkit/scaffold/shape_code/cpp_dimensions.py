"""Outputs' shapes in C++: by IExprBuilder of open dimensions, and by numbers of static ones.

What is made of fields and numbers alone is computed as `pluginkit::Dimension`, which knows overflows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import count
from typing import Any

from pluginkit import shapes
from pluginkit.manifest import MAX_DIMS, REST, Manifest, Tensor
from pluginkit.scaffold.shape_code import cpp_numbers

_CALLS = {"//": "floorDiv", "ceil_div": "ceilDiv", "min": "std::min", "max": "std::max"}
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


def size_tensors(manifest: Manifest) -> list[dict[str, Any]]:
    """For each size tensor the statements that its bounds need, and what they are; results are called s0, s1, ..."""
    fresh, found = count(), []
    for index, tensor in enumerate(manifest.outputs):
        if tensor.upper is None:
            continue
        lines: list[str] = []
        bounds = {}
        for key, bound in (("opt", tensor.opt or tensor.upper), ("upper", tensor.upper)):
            bounds[key] = f"s{next(fresh)}"
            value = _expression(manifest, shapes.lowered(shapes.parse(bound)), lines, fresh, "s")
            lines.append(f"IDimensionExpr const* const {bounds[key]} = {value};")
        used = any(tensor.name in other.names() for other in manifest.outputs)
        made = {
            "used": used,
            "index": index,
            "lines": lines,
            "variable": size_variable(manifest, tensor.name),
            **bounds,
        }
        found.append({**made, "name": tensor.name})
    return found


def size_variable(manifest: Manifest, name: str) -> str:
    """What generated code calls a size tensor's expression."""
    return f"size{[tensor.name for tensor in manifest.outputs].index(name)}"


def _size_names(manifest: Manifest) -> set[str]:
    return {tensor.name for tensor in manifest.size_tensors()}


def first_open(manifest: Manifest) -> tuple[int, tuple[str, ...]]:
    """The first input of any rank: which it is, and its shape."""
    written = [manifest.written(tensor) for tensor in manifest.execution_inputs()]
    return next((index, shape) for index, shape in enumerate(written) if REST in shape)


def rank_checks(manifest: Manifest) -> list[str]:
    """For each input, what is true where it has a wrong number of dimensions."""
    written = [manifest.written(tensor) for tensor in manifest.execution_inputs()]
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


def in_enqueue(manifest: Manifest, text: str) -> str:
    """An expression as C++ computes it of numbers in enqueue, where `inputs` are no shapes."""
    number = _number(manifest, shapes.lowered(shapes.parse(text)))
    return number.replace("inputs[", "inputDesc[").replace("].nbDims", "].dims.nbDims")


def uses_dimension(lines: Iterable[str]) -> bool:
    """Whether some code needs the header that has `pluginkit::Dimension`."""
    return any(cpp_numbers.CLASS in line or "fixed(" in line for line in lines)


def checks(manifest: Manifest) -> list[str]:
    """What makes fields' values useless for shapes: a divisor of 0, where a shape divides whatever the fields are."""
    found: dict[str, None] = {}
    for tensor in manifest.outputs:
        bounds = [bound for bound in (tensor.upper, tensor.opt) if bound is not None]
        for dim in (*manifest.written(tensor), *bounds):
            if dim == REST:
                continue
            for divisor in _divisors(shapes.lowered(shapes.parse(dim))):
                if _is_fixed(manifest, divisor) and shapes.symbols(divisor):
                    if isinstance(divisor, shapes.Name):
                        found[f"{cpp_numbers.member(divisor, 'parameters')} == 0"] = None
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
    known = {*manifest.symbols(), *_size_names(manifest)}
    return known.isdisjoint(shapes.symbols(expr))


def _block(head: str, lines: list[str]) -> list[str]:
    return [head, "{", *(f"    {line}" for line in lines), "}"]


def _expression(
    manifest: Manifest, expr: shapes.Expr, lines: list[str], fresh: Iterator[int], prefix: str = "t"
) -> str:
    """A dimension as an `IDimensionExpr const*`; `lines` get the statements that it needs before it."""
    if isinstance(expr, shapes.Constant):
        return f"exprBuilder.constant({expr.value})"
    if isinstance(expr, shapes.Choice):
        assert expr.otherwise is not None, "only a whole dimension may be absent"
        name = f"{prefix}{next(fresh)}"
        lines.append(f"IDimensionExpr const* {name}{{}};")
        for head, side in ((f"if ({_condition(manifest, expr.condition)})", expr.then), ("else", expr.otherwise)):
            inner: list[str] = []
            inner.append(f"{name} = {_expression(manifest, side, inner, fresh, prefix)};")
            lines += _block(head, inner)
        return name
    if isinstance(expr, shapes.Name):
        return _named_expression(manifest, expr)
    if _is_fixed(manifest, expr) and not any(True for _ in shapes.conditions(expr)):
        number = _dimension(manifest, expr)
        return f"fixed{number}" if number.startswith("(") else f"fixed({number})"
    sides = []
    for side in (expr.left, expr.right):
        value = _expression(manifest, side, lines, fresh, prefix)
        if isinstance(side, shapes.Operation) and value.startswith("apply("):
            name = f"{prefix}{next(fresh)}"
            lines.append(f"IDimensionExpr const* const {name} = {value};")
            value = name
        sides.append(value)
    return f"apply(DimensionOperation::{shapes.OPERATIONS[expr.op]}, {sides[0]}, {sides[1]})"


def _named_expression(manifest: Manifest, expr: shapes.Name) -> str:
    if isinstance(expr, shapes.Symbol) and expr.name in manifest.value_symbols():
        return _element(manifest, expr.name)
    if isinstance(expr, shapes.Symbol) and expr.name in manifest.symbols():
        return "inputs[{}].d[{}]".format(*place(manifest, expr.name))
    if isinstance(expr, shapes.Symbol) and expr.name in _size_names(manifest):
        return size_variable(manifest, expr.name)
    return f"exprBuilder.constant({cpp_numbers.member(expr, 'mParameters')})"


def _element(manifest: Manifest, symbol: str) -> str:
    """The first element of a shape input that is the symbol: the values come in the place of dimensions."""
    index, values = next(
        (index, tensor.values)
        for index, tensor in enumerate(manifest.shape_inputs())
        if tensor.values is not None and symbol in tensor.values
    )
    return f"shapeInputs[{index}].d[{values.index(symbol)}]"


def _condition(manifest: Manifest, condition: shapes.Expr | shapes.Relation) -> str:
    return cpp_numbers.condition(condition, lambda name: _named(manifest, name))


def _number(manifest: Manifest, expr: shapes.Expr) -> str:
    """A dimension of numbers, an int64_t."""
    if isinstance(expr, shapes.Choice):
        otherwise = NO_DIMENSION if expr.otherwise is None else _number(manifest, expr.otherwise)
        return f"{_condition(manifest, expr.condition)} ? {_number(manifest, expr.then)} : {otherwise}"
    if isinstance(expr, shapes.Constant):
        return str(expr.value)
    if isinstance(expr, shapes.Name):
        return _named(manifest, expr)
    if set(shapes.symbols(expr)) - set(manifest.symbols()):
        return f"{_dimension(manifest, expr)}.value()"
    left, right = _number(manifest, expr.left), _number(manifest, expr.right)
    if expr.op in cpp_numbers.INFIX:
        sides = [
            f"({text})" if isinstance(side, shapes.Operation) and side.op in cpp_numbers.INFIX else text
            for side, text in ((expr.left, left), (expr.right, right))
        ]
        return f"{sides[0]} {expr.op} {sides[1]}"
    typed = "<int64_t>" if expr.op in ("min", "max") else ""
    return f"{_CALLS[expr.op]}{typed}({left}, {right})"


def _dimension(manifest: Manifest, expr: shapes.Expr, parameters: str = "mParameters") -> str:
    return cpp_numbers.dimension(expr, lambda name: _named(manifest, name, parameters))


def _named(manifest: Manifest, expr: shapes.Name, parameters: str = "mParameters") -> str:
    """The number of a symbol, or of what fields stand for."""
    if isinstance(expr, shapes.Symbol) and expr.name in manifest.symbols():
        return "at({}, {})".format(*place(manifest, expr.name))
    return cpp_numbers.member(expr, parameters)


def place(manifest: Manifest, symbol: str) -> tuple[int, str]:
    """The first input dimension that is the symbol: (input, dimension)."""
    written = [manifest.written(tensor) for tensor in manifest.execution_inputs()]
    index, shape = next((index, shape) for index, shape in enumerate(written) if symbol in shape)
    at = shape.index(symbol)
    behind = len(shape) - at
    return index, f"inputs[{index}].nbDims - {behind}" if REST in shape[:at] else str(at)
