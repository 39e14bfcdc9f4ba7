"""Shape expressions of `pluginkit.toml` as C++: by `s`, a `Sizes` or `Expressions`, and the fields `f`."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from pluginkit import shapes
from pluginkit.manifest import REST, Manifest, Tensor

_INFIX = ("+", "-", "*")
_CALLS = {"//": "floorQuotient", "ceil_div": "ceilQuotient", "min": "smaller", "max": "larger"}
_Named = Callable[[shapes.Name], str]


def outputs(manifest: Manifest) -> list[str]:
    """The statements that make the size tensors and the outputs' shapes."""
    lines = []
    for index, tensor in enumerate(manifest.outputs):
        if tensor.upper is not None:
            bounds = (size(manifest, bound) for bound in (tensor.opt or tensor.upper, tensor.upper))
            made = f"s.sizeTensor({index}, {', '.join(bounds)})"
            lines.append(f"[[maybe_unused]] auto const {_size_variable(index)} = {made};")
    for index, tensor in enumerate(manifest.outputs):
        lines += [f"if (s.begin({index})) // {tensor.name}", "{"]
        for dim in manifest.written(tensor):
            lines += [f"    {line}" for line in _added(manifest, dim)]
        lines.append("}")
    return lines


def _added(manifest: Manifest, dim: str) -> list[str]:
    """The statements that add a dimension, if there is one."""
    if dim == REST:
        index, shape = next(_open(manifest))
        at = shape.index(REST)
        return [f"s.rest({index}, {at}, {len(shape) - at - 1});"]
    expr = shapes.lowered(shapes.parse(dim))
    if isinstance(expr, shapes.Choice) and expr.otherwise is None:
        return [f"if ({_condition(expr.condition)})", "{", f"    s.add({_size(manifest, expr.then)});", "}"]
    return [f"s.add({_size(manifest, expr)});"]


def size(manifest: Manifest, text: str) -> str:
    """An expression that is never absent, as what `s` computes by."""
    return _size(manifest, shapes.lowered(shapes.parse(text)))


def _size(manifest: Manifest, expr: shapes.Expr) -> str:
    return _computed(expr, lambda name: _named(manifest, name))


def _computed(expr: shapes.Expr, named: _Named, number: str = "s.number({})") -> str:
    if isinstance(expr, shapes.Constant):
        return number.format(expr.value)
    if isinstance(expr, shapes.Name):
        return named(expr)
    if isinstance(expr, shapes.Choice):
        assert expr.otherwise is not None, "only a whole dimension may be absent"
        sides = (_computed(side, named, number) for side in (expr.then, expr.otherwise))
        return "({} ? {} : {})".format(_condition(expr.condition), *sides)
    left, right = _computed(expr.left, named, number), _computed(expr.right, named, number)
    if expr.op in _INFIX:
        return f"({left} {expr.op} {right})"
    return f"{_CALLS[expr.op]}({left}, {right})"


def _named(manifest: Manifest, expr: shapes.Name) -> str:
    if isinstance(expr, shapes.Symbol):
        if expr.name in manifest.value_symbols():
            return "s.value({}, {})".format(*_element(manifest, expr.name))
        if expr.name in manifest.symbols():
            return "s.at({}, {})".format(*place(manifest, expr.name))
        sizes = [index for index, one in enumerate(manifest.outputs) if one.upper is not None and one.name == expr.name]
        if sizes:
            return _size_variable(sizes[0])
    return f"s.number({_member(expr)})"


def _member(expr: shapes.Name) -> str:
    """A field, an element of a list field, which is long enough for it, or its length."""
    if isinstance(expr, shapes.Length):
        return f"static_cast<int64_t>(f.{expr.name}.size())"
    return f"f.{shapes.render(expr)}"


def of_fields(expr: shapes.Expr) -> str:
    """An expression of fields and numbers alone, a `pluginkit::Dimension`."""
    number = "pluginkit::Dimension{{{}}}"
    return _computed(expr, lambda name: number.format(_member(name)), number)


def _condition(made: shapes.Expr | shapes.Relation) -> str:
    """What is true where a condition holds: it is on fields alone."""
    if not isinstance(made, shapes.Relation):
        made = shapes.Relation("!=", made, shapes.Constant(0))
    return f"{_compared(made.left)} {made.op} {_compared(made.right)}"


def _compared(expr: shapes.Expr) -> str:
    if isinstance(expr, shapes.Constant):
        return str(expr.value)
    return _member(expr) if isinstance(expr, shapes.Name) else f"{of_fields(expr)}.value()"


def _size_variable(index: int) -> str:
    return f"size{index}"


def _element(manifest: Manifest, symbol: str) -> tuple[int, int]:
    """The first element of a shape input that is the symbol."""
    for index, tensor in enumerate(manifest.shape_inputs()):
        if symbol in (values := tensor.values or ()):
            return index, values.index(symbol)
    raise AssertionError(symbol)


def _open(manifest: Manifest) -> Iterator[tuple[int, tuple[str, ...]]]:
    """The inputs of any rank: which each is, and its shape."""
    written = map(manifest.written, manifest.execution_inputs())
    return ((index, shape) for index, shape in enumerate(written) if REST in shape)


def place(manifest: Manifest, symbol: str) -> tuple[int, int]:
    """The first input dimension that is the symbol: (input, dimension); below 0, from the end, behind a "..."."""
    return next((index, axis) for name, index, axis in _dims(manifest) if name == symbol)


def _dims(manifest: Manifest) -> Iterator[tuple[str, int, int]]:
    for index, tensor in enumerate(manifest.execution_inputs()):
        shape = manifest.written(tensor)
        rest = shape.index(REST) if REST in shape else len(shape)
        for axis, name in enumerate(shape):
            if name != REST:
                yield name, index, axis if axis < rest else axis - len(shape)


def fitting(manifest: Manifest) -> list[str]:
    """What is true where the inputs' dimensions are what their names and numbers say of one another."""
    found = []
    for name, index, axis in _dims(manifest):
        here = f"s.at({index}, {axis}).value()"
        if name.isdigit():
            found.append(f"{here} == {name}")
        elif place(manifest, name) != (index, axis):
            found.append(f"{here} == s.at({', '.join(map(str, place(manifest, name)))}).value()")
    for field in manifest.fields:
        if field.symbol:
            at = ", ".join(map(str, place(manifest, field.symbol)))
            found.append(f"s.at({at}).value() == static_cast<int64_t>(f.{field.name}.size())")
    open_ones = list(_open(manifest))
    for other, shape in open_ones[1:]:
        first, written = open_ones[0]
        begin = written.index(REST)
        found.append(f"s.sameRest({first}, {begin}, {len(written) - begin - 1}, {other}, {shape.index(REST)})")
    return found


def divisors(manifest: Manifest) -> list[tuple[str, str]]:
    """The expressions of fields that a shape is divided by: what is 0 in C++, and the text of pluginkit.toml."""
    known = {*manifest.symbols(), *(tensor.name for tensor in manifest.size_tensors())}
    found: dict[str, str] = {}
    for text in _texts(manifest):
        for divisor in _divisors(shapes.lowered(shapes.parse(text))):
            if shapes.symbols(divisor) and known.isdisjoint(shapes.symbols(divisor)):
                found[f"{of_fields(divisor)}.value()"] = shapes.render(divisor)
    return list(found.items())


def _texts(manifest: Manifest) -> Iterator[str]:
    for tensor in manifest.outputs:
        yield from (dim for dim in manifest.written(tensor) if dim != REST)
        yield from (bound for bound in (tensor.upper, tensor.opt) if bound is not None)


def _divisors(expr: shapes.Expr) -> Iterator[shapes.Expr]:
    if isinstance(expr, shapes.Operation):
        if expr.op in ("//", "ceil_div"):
            yield expr.right
        yield from _divisors(expr.left)
        yield from _divisors(expr.right)


def rank(manifest: Manifest, tensor: Tensor) -> str:
    """How many dimensions an input has, as `pluginkit::Rank`."""
    shape = manifest.written(tensor)
    return f"{{{len(shape) - (REST in shape)}, {'true' if REST in shape else 'false'}}}"
