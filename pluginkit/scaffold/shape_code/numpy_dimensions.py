"""Outputs' shapes in NumPy, as the generated reference has them."""

from __future__ import annotations

from collections.abc import Iterator

from pluginkit import shapes
from pluginkit.manifest import REST, Manifest, Tensor


def dimensions(manifest: Manifest, output: Tensor) -> list[str]:
    """What stands in the tuple that is the output's shape, by the inputs' shapes and the fields."""
    return [
        _rest(manifest) if dim == REST else _dimension(manifest, shapes.parse(dim)) for dim in manifest.written(output)
    ]


def size_variable(name: str) -> str:
    """What the generated reference calls the value of a size tensor."""
    return f"size_of_{name}"


def bound(manifest: Manifest, text: str) -> str:
    """A size tensor's upper bound, in parentheses where an operator may follow."""
    return _side(manifest, shapes.parse(text))


def _rest(manifest: Manifest) -> str:
    """The dimensions that "..." stands for."""
    tensor = next(one for one in manifest.inputs if REST in manifest.written(one))
    shape = manifest.written(tensor)
    at, behind = shape.index(REST), len(shape) - shape.index(REST) - 1
    return f"*{tensor.name}.shape[{at or ''}:{-behind if behind else ''}]"


def _dimension(manifest: Manifest, expr: shapes.Expr) -> str:
    if isinstance(expr, shapes.Constant):
        return str(expr.value)
    if isinstance(expr, shapes.Symbol):
        return _symbol(manifest, expr.name)
    if isinstance(expr, (shapes.Element, shapes.Length)):
        text = shapes.render(expr)
        # NumPy's own int64 divides by zero, and overflows, with a warning only.
        return f"int({text})" if isinstance(expr, shapes.Element) else text
    if isinstance(expr, shapes.Choice):
        then, condition = _side(manifest, expr.then, in_choice=True), _condition(manifest, expr.condition)
        if expr.otherwise is None:
            return f"*(({then},) if {condition} else ())"
        return f"{then} if {condition} else {_side(manifest, expr.otherwise, in_choice=True)}"
    return _operation(manifest, expr)


def _symbol(manifest: Manifest, symbol: str) -> str:
    if any(tensor.name == symbol for tensor in manifest.size_tensors()):
        return size_variable(symbol)
    written = ((t.name, manifest.written(t)) for t in manifest.inputs)
    places = ((name, shape, shape.index(symbol)) for name, shape in written if symbol in shape)
    at = ((name, index - len(shape) if REST in shape[:index] else index) for name, shape, index in places)
    found = (f"{name}.shape[{index}]" for name, index in at)
    return next(found, "") or next(_elements(manifest, symbol), symbol)


def _elements(manifest: Manifest, symbol: str) -> Iterator[str]:
    """The elements of shape inputs that are the symbol, as NumPy has them."""
    for tensor in manifest.shape_inputs():
        for index, value in enumerate(tensor.values or ()):
            if value == symbol:
                yield f"int({tensor.name}[{index}])"


def _operation(manifest: Manifest, expr: shapes.Operation) -> str:
    if expr.op in ("min", "max"):
        return f"{expr.op}({_dimension(manifest, expr.left)}, {_dimension(manifest, expr.right)})"
    if expr.op == shapes.BROADCAST:
        # It raises of sizes that can't be broadcast.
        return "np.broadcast_shapes({}, {})[0]".format(
            *(_dimension(manifest, side) for side in (expr.left, expr.right))
        )
    left, right = _side(manifest, expr.left), _side(manifest, expr.right)
    return f"-(-{left} // {right})" if expr.op == "ceil_div" else f"{left} {expr.op} {right}"


def _condition(manifest: Manifest, condition: shapes.Expr | shapes.Relation) -> str:
    if isinstance(condition, shapes.Relation):
        return f"{_side(manifest, condition.left)} {condition.op} {_side(manifest, condition.right)}"
    return _side(manifest, condition)


def _side(manifest: Manifest, expr: shapes.Expr, *, in_choice: bool = False) -> str:
    """A part of an expression, in parentheses where it needs them; a part of a choice needs fewer."""
    infix = isinstance(expr, shapes.Operation) and expr.op not in ("min", "max", shapes.BROADCAST)
    needed = isinstance(expr, shapes.Choice) or (infix and not in_choice)
    return f"({_dimension(manifest, expr)})" if needed else _dimension(manifest, expr)
