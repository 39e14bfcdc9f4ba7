"""A dimension as ONNX operators compute it from the shapes of graph tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from onnx import TensorProto

from pluginkit import shapes
from pluginkit.manifest import Tensor

_OPERATORS = {"+": "Add", "-": "Sub", "*": "Mul", "//": "Div", "min": "Min", "max": "Max"}
_DIVISIONS = ("//", "ceil_div")


class FreeNames(Protocol):
    """Names that nothing else in a model has."""

    def tensor(self, name: str) -> str:
        """A tensor name."""


class OperatorGraph(Protocol):
    """What the operators are added to."""

    @property
    def names(self) -> FreeNames:
        """Of the model."""

    @property
    def label(self) -> str:
        """What its names begin with."""

    def constant(self, name: str, kind: int, dims: Sequence[int], values: Sequence[float]) -> str:
        """An initializer; returns its name."""

    def op(self, kind: str, inputs: Sequence[str], outputs: str | Sequence[str], **attributes: Any) -> str:
        """A standard node; returns its first output."""


def size(graph: OperatorGraph, tensors: Sequence[Tensor], inputs: Sequence[str], expr: shapes.Expr) -> str:
    """A dimension as a 1-D int64 of one element; `inputs` are the graph tensors that have the shapes of `tensors`."""
    names, label = graph.names, graph.label
    if isinstance(expr, shapes.Constant):
        return graph.constant("size", TensorProto.INT64, [1], [expr.value])
    if isinstance(expr, shapes.Symbol):
        index, axis = _place(tensors, expr.name)
        if tensors[index].is_shape_input and expr.name not in tensors[index].shape:
            return _element(graph, inputs[index], axis, expr.name)
        shape = graph.op("Shape", [inputs[index]], names.tensor(f"{label}_{expr.name}_from"))
        at = graph.constant("axis", TensorProto.INT64, [1], [axis])
        return graph.op("Gather", [shape, at], names.tensor(f"{label}_{expr.name}_size"), axis=0)
    expr = shapes.lowered(expr)
    assert isinstance(expr, shapes.Operation), "no field is in a setting's shapes"
    left, right = size(graph, tensors, inputs, expr.left), size(graph, tensors, inputs, expr.right)
    if expr.op == "ceil_div":
        left = graph.op("Add", [left, _less_one(graph, right)], names.tensor(f"{label}_more"))
    if expr.op in _DIVISIONS and _may_be_negative(expr.left):
        return _floor_div(graph, left, right)
    return graph.op(_OPERATORS.get(expr.op, "Div"), [left, right], names.tensor(f"{label}_size"))


def _less_one(graph: OperatorGraph, name: str) -> str:
    one = graph.constant("one", TensorProto.INT64, [1], [1])
    return graph.op("Sub", [name, one], graph.names.tensor(f"{graph.label}_less"))


def _floor_div(graph: OperatorGraph, left: str, right: str) -> str:
    """Rounded down, by divisions of what isn't negative: ONNX' Div rounds towards zero. The divisor is above 0."""
    names, label = graph.names, graph.label
    zero = graph.constant("zero", TensorProto.INT64, [1], [0])
    above = graph.op("Max", [left, zero], names.tensor(f"{label}_above"))
    opposite = graph.op("Sub", [zero, left], names.tensor(f"{label}_opposite"))
    below = graph.op("Max", [opposite, zero], names.tensor(f"{label}_below"))
    more = graph.op("Add", [below, _less_one(graph, right)], names.tensor(f"{label}_more"))
    up = graph.op("Div", [above, right], names.tensor(f"{label}_size"))
    down = graph.op("Div", [more, right], names.tensor(f"{label}_size"))
    return graph.op("Sub", [up, down], names.tensor(f"{label}_size"))


def _may_be_negative(expr: shapes.Expr) -> bool:
    """Whether a value between may be, as `h - 2` in `(h - 2) // 2 + 1`, where h can be 1."""
    if isinstance(expr, shapes.Constant):
        return expr.value < 0
    if not isinstance(expr, shapes.Operation):
        return False
    sides = [_may_be_negative(side) for side in (expr.left, expr.right)]
    return all(sides) if expr.op == "max" else expr.op == "-" or any(sides)


def _element(graph: OperatorGraph, given: str, index: int, symbol: str) -> str:
    """An element of a shape input."""
    names, label = graph.names, graph.label
    wide = graph.op("Cast", [given], names.tensor(f"{label}_{symbol}_wide"), to=TensorProto.INT64)
    row = graph.constant("row", TensorProto.INT64, [1], [-1])
    flat = graph.op("Reshape", [wide, row], names.tensor(f"{label}_{symbol}_row"))
    at = graph.constant("at", TensorProto.INT64, [1], [index])
    return graph.op("Gather", [flat, at], names.tensor(f"{label}_{symbol}_value"), axis=0)


def _place(tensors: Sequence[Tensor], symbol: str) -> tuple[int, int]:
    """Which dimension of which input a symbol is, or which element of a shape input."""
    for index, tensor in enumerate(tensors):
        for axis, dim in enumerate(tensor.shape):
            if shapes.parse(dim) == shapes.Symbol(symbol):
                return index, axis
    for index, tensor in enumerate(tensors):
        for number, value in enumerate(tensor.values or ()):
            if shapes.parse(value) == shapes.Symbol(symbol):
                return index, number
    raise KeyError(symbol)
