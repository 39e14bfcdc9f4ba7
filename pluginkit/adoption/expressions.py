"""Output shapes as expressions of a `pluginkit.toml`: of the tree that a plugin built, or of numbers it answered."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence

from pluginkit import shapes
from pluginkit.adoption.answers import OutputShapes, SizeTensor
from pluginkit.errors import UsageError
from pluginkit.host.expressions import ShapeProgram

WRITTEN = {name: written for written, name in shapes.OPERATIONS.items()}
"""`nvinfer1::DimensionOperation` by TensorRT's name -> the operation of shape expressions."""

OPERATIONS = ("kSUM", "kPROD", "kMAX", "kMIN", "kSUB", "kEQUAL", "kLESS", "kFLOOR_DIV", "kCEIL_DIV")
"""By number."""

SYMBOL, CONSTANT, OPERATION = range(3)
"""The kinds of nodes."""


def symbol(tensor: int, dimension: int) -> str:
    """The name of an input's dimension until the user gives it one."""
    return f"d{tensor}_{dimension}"


def size_symbol(output: int) -> str:
    """The name of what a size tensor carries, until its output has one."""
    return f"size_of_output_{output}"


def of_trees(programs: Sequence[ShapeProgram], ranks: Sequence[int]) -> OutputShapes:
    """What a plugin described to the expression builder, all dimensions of its inputs being open.

    Returns:
        Shape expressions; empty text for what has none: it compares (kEQUAL, kLESS).
    """
    sizes = programs[0].sizes if programs else ()
    bounds = _rendered(programs[0], ranks, [root for size in sizes for root in (size.upper, size.opt)]) if sizes else ()
    pairs = zip(bounds[::2], bounds[1::2], strict=True)
    return OutputShapes(
        tuple(_rendered(one, ranks, one.roots) for one in programs),
        tuple(SizeTensor(size.output, upper, opt) for size, (upper, opt) in zip(sizes, pairs, strict=True)),
    )


def _rendered(program: ShapeProgram, ranks: Sequence[int], roots: Sequence[int]) -> tuple[str, ...]:
    names = [symbol(tensor, dim) for tensor, rank in enumerate(ranks) for dim in range(rank)]
    names += [size_symbol(size.output) for size in program.sizes]
    known: list[shapes.Expr | None] = []
    for kind, op, left, right, value in program.nodes:
        known.append(_node(names, known, (kind, op, left, right, value)))
    found = [known[root] for root in roots]
    return tuple("" if one is None else shapes.render(simplified(one)) for one in found)


def with_names(written: str, values: Mapping[str, int]) -> str:
    """An expression in which these numbers, and products of two of them, stand by name."""
    pairs = itertools.combinations_with_replacement(values.items(), 2)
    products = {str(one * other): f"({name} * {second})" for (name, one), (second, other) in pairs}
    names = products | {str(value): name for name, value in values.items()}
    return re.sub(r"\b\d+\b", lambda number: names.get(number[0], number[0]), written)


def _node(
    names: Sequence[str], known: Sequence[shapes.Expr | None], node: tuple[int, int, int, int, int]
) -> shapes.Expr | None:
    kind, op, left, right, value = node
    if kind == SYMBOL:
        return shapes.Symbol(names[op]) if op < len(names) else None
    if kind == CONSTANT:
        return shapes.Constant(value)
    if kind != OPERATION or OPERATIONS[op] not in WRITTEN:
        return None
    first, second = known[left], known[right]
    if first is None or second is None:
        return None
    return shapes.Operation(WRITTEN[OPERATIONS[op]], first, second)


def simplified(expr: shapes.Expr) -> shapes.Expr:
    """The same value without operations that change nothing: + 0, - 0, * 1, // 1."""
    if not isinstance(expr, shapes.Operation):
        return expr
    left, right = simplified(expr.left), simplified(expr.right)
    if isinstance(left, shapes.Constant) and isinstance(right, shapes.Constant):
        if expr.op not in ("//", "ceil_div") or right.value != 0:
            return shapes.Constant(shapes.evaluate(shapes.Operation(expr.op, left, right), {}))
        return shapes.Operation(expr.op, left, right)
    neutral = {"+": 0, "-": 0, "*": 1, "//": 1, "ceil_div": 1}.get(expr.op)
    if neutral is not None and right == shapes.Constant(neutral):
        return left
    if expr.op in ("+", "*") and left == shapes.Constant(neutral or 0):
        return right
    return shapes.Operation(expr.op, left, right)


def of_numbers(
    inputs: Sequence[Sequence[Sequence[int]]],
    outputs: Sequence[Sequence[int]],
    fields: Sequence[Mapping[str, int]] = (),
) -> tuple[str, ...]:
    """The simplest expression for each dimension of an output that fits all that a plugin answered.

    Args:
        inputs: the shapes of the inputs, in each of several questions.
        outputs: the output's shape, in each of them.
        fields: the values of fields that the shape may depend on, in each of them.

    Returns:
        Shape expressions; empty text for a dimension that none was found for.
    """
    ranks = [len(shape) for shape in inputs[0]]
    if len({len(shape) for shape in outputs}) != 1:
        return ()
    names = [symbol(tensor, dim) for tensor, rank in enumerate(ranks) for dim in range(rank)]
    values = [dict(zip(names, itertools.chain(*asked), strict=True)) for asked in inputs]
    known = list(fields[0]) if fields else []
    if fields:
        values = [{**sizes, **given} for sizes, given in zip(values, fields, strict=True)]
    return tuple(_fit([shape[dim] for shape in outputs], values, names, known) for dim in range(len(outputs[0])))


def _fit(
    answers: Sequence[int], values: Sequence[Mapping[str, int]], names: Sequence[str], fields: Sequence[str]
) -> str:
    for candidate in (*_candidates(answers, values, names), *_of_fields(names, fields)):
        try:
            fits = all(
                shapes.evaluate(candidate, known) == answer for known, answer in zip(values, answers, strict=True)
            )
        except UsageError:
            continue
        if fits:
            return shapes.render(simplified(candidate))
    return ""


def _candidates(answers: Sequence[int], values: Sequence[Mapping[str, int]], names: Sequence[str]) -> list[shapes.Expr]:
    """What a dimension usually is, simplest first: a number, a dimension, that with a number, two, a product."""
    found: list[shapes.Expr] = [shapes.Constant(answers[0])] if len(set(answers)) == 1 else []
    every = [shapes.Symbol(name) for name in names]
    found += every
    for one in every:
        first = values[0][one.name]
        found += [
            shapes.Operation("+" if answers[0] > first else "-", one, shapes.Constant(abs(answers[0] - first))),
            shapes.Operation("*", one, shapes.Constant(max(1, answers[0] // max(1, first)))),
            *(shapes.Operation(op, one, shapes.Constant(n)) for n in range(2, 65) for op in ("//", "ceil_div")),
        ]
    for one, other in itertools.permutations(every, 2):
        found += [shapes.Operation(op, one, other) for op in ("+", "*", "-", "min", "max")]
    for start, end in itertools.combinations(range(len(every) + 1), 2):
        whole = _product(every[start:end])
        try:
            first = shapes.evaluate(whole, values[0])
        except UsageError:  # more than 64 bits, which no shape has
            continue
        found += [whole, shapes.Operation("*", whole, shapes.Constant(max(1, answers[0] // max(1, first))))]
    return found


def _of_fields(names: Sequence[str], fields: Sequence[str]) -> Iterator[shapes.Expr]:
    """What a dimension usually is of fields: one, two, or a dimension with one or two of them."""
    known = [shapes.Symbol(name) for name in fields]
    yield from known
    for one, other in itertools.combinations_with_replacement(known, 2):
        yield from (shapes.Operation(op, one, other) for op in ("*", "+"))
    for dim in map(shapes.Symbol, names):
        for one in known:
            yield from (shapes.Operation(op, dim, one) for op in ("*", "//", "ceil_div", "+", "-"))
        for one, other in itertools.combinations_with_replacement(known, 2):
            for inner, outer in (("*", "*"), ("*", "//"), ("+", "+"), ("+", "-")):
                yield shapes.Operation(outer, dim, shapes.Operation(inner, one, other))


def _product(some: Sequence[shapes.Expr]) -> shapes.Expr:
    found = some[0]
    for one in some[1:]:
        found = shapes.Operation("*", found, one)
    return found
