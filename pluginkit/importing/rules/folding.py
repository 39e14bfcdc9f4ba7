"""Values that follow from shapes: conditions that NVIDIA's builder knows before any data is there."""

from __future__ import annotations

import contextlib
import math
import operator
from collections.abc import Callable, Mapping, Sequence

import onnx
from onnx import TensorProto

from pluginkit.importing.onnx_graph import dims, own_types, places, subgraphs
from pluginkit.importing.rules.constants import Constants

Values = tuple[int | None, ...]
"""A tensor's elements in their order; None for one that isn't known."""

_SAME = ("Cast", "Identity", "Reshape", "Squeeze", "Unsqueeze")
_PAIRS: Mapping[str, Callable[[int, int], int]] = {
    "Add": operator.add,
    "And": lambda a, b: int(bool(a and b)),
    "Equal": lambda a, b: int(a == b),
    "Greater": lambda a, b: int(a > b),
    "GreaterOrEqual": lambda a, b: int(a >= b),
    "Less": lambda a, b: int(a < b),
    "LessOrEqual": lambda a, b: int(a <= b),
    "Mul": operator.mul,
    "Or": lambda a, b: int(bool(a or b)),
    "Sub": operator.sub,
}
_OPERATORS = {*_SAME, *_PAIRS, "Shape", "Size", "Not", "Concat", "ReduceProd", "Gather"}


class Folding:
    """What is known of a model's small integers once the shapes are those that it declares, and onnx infers."""

    def __init__(self, model: onnx.ModelProto, constants: Constants) -> None:
        self._constants = constants
        every = places(model.graph)
        graphs = [model.graph, *(graph for place in every for _, graph in subgraphs(place.node))]
        self._types: dict[str, onnx.TypeProto.Tensor] = {}
        for graph in graphs:
            for name, kind in own_types(graph).items():
                self._types.setdefault(name, kind)
        self._known: dict[str, Values | None] = {}
        # In their order: a chain of nodes may be longer than Python's stack.
        for place in every:
            if place.node.op_type in _OPERATORS and place.node.input and place.node.output:
                self._known[place.node.output[0]] = self._made(place.node)

    @classmethod
    def of(cls, model: onnx.ModelProto, constants: Constants) -> Folding:
        """By the shapes that onnx infers from those that the model declares."""
        inferred = model
        # Inference is a help: of a model that it can't follow the declared ones are known.
        with contextlib.suppress(Exception):
            inferred = onnx.shape_inference.infer_shapes(model)
        return cls(inferred, constants)

    def branch(self, node: onnx.NodeProto) -> str:
        """The branch that an If always takes, `then_branch` or `else_branch`; empty where that isn't known."""
        found = self.values(node.input[0]) if node.input else None
        if not found or len(found) != 1 or found[0] is None:
            return ""
        return "then_branch" if found[0] else "else_branch"

    def values(self, name: str) -> Values | None:
        """The elements of a scalar or vector; None of another tensor, or if not even their number is known."""
        constant = self._constants.value(name)
        if constant is None:
            return self._known.get(name)
        if constant.ndim > 1 or constant.dtype.kind not in "iub":
            return None
        return tuple(int(one) for one in constant.reshape(-1))

    def _made(self, node: onnx.NodeProto) -> Values | None:
        if node.op_type in {"Shape", "Size"}:
            shape = self._shape(node.input[0])
            if shape is None or node.op_type == "Size":
                return None if shape is None else _product(shape)
            ends = {one.name: one.i for one in node.attribute}
            return shape[ends.get("start", 0) : ends.get("end", len(shape))]
        names = [name for name in node.input if name]
        given = [values for name in names if (values := self.values(name)) is not None]
        if not names or len(given) != len(names):
            return None
        if node.op_type == "Cast" and any(one.name == "to" and one.i == TensorProto.BOOL for one in node.attribute):
            return tuple(None if one is None else int(bool(one)) for one in given[0])
        found = _computed(node.op_type, given)
        # With more than one element a tensor of a higher rank has axes.
        rank = len(self._shape(node.output[0]) or ())
        return found if found is None or len(found) <= 1 or rank <= 1 else None

    def _shape(self, name: str) -> Values | None:
        kind = self._types.get(name)
        shape = dims(kind) if kind is not None else None
        return None if shape is None else tuple(dim if isinstance(dim, int) else None for dim in shape)


def _computed(kind: str, given: Sequence[Values]) -> Values | None:
    """What an operator makes of known values; None if it is not one of those that shapes are computed with."""
    first = given[0]
    found: Values | None = None
    if kind in _SAME:
        found = first
    elif kind == "Not":
        found = tuple(None if one is None else int(not one) for one in first)
    elif kind == "Concat":
        found = tuple(one for values in given for one in values)
    elif kind == "ReduceProd" and len(given) == 1:
        found = _product(first)
    elif kind == "Gather" and len(given) == 2:
        found = _picked(first, given[1])
    elif kind in _PAIRS and len(given) == 2:
        found = _paired(_PAIRS[kind], first, given[1])
    return found


def _product(values: Values) -> Values:
    known = [one for one in values if one is not None]
    return (math.prod(known) if len(known) == len(values) else None,)


def _picked(values: Values, which: Values) -> Values | None:
    if any(index is None or not -len(values) <= index < len(values) for index in which):
        return None
    return tuple(values[index] for index in which if index is not None)


def _paired(apply: Callable[[int, int], int], first: Values, second: Values) -> Values | None:
    count = max(len(first), len(second))
    if {len(first), len(second)} - {1, count}:
        return None
    long = [values * count if len(values) == 1 else values for values in (first, second)]
    return tuple(None if a is None or b is None else apply(a, b) for a, b in zip(*long, strict=True))
