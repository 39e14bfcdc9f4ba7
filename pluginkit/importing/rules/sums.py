"""Integers as sums of others: what is left of a loop's state in `k + 1 - k`, by the arithmetic of NVIDIA's builder."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import onnx
from onnx import TensorProto

from pluginkit.importing.onnx_graph import dims, subgraphs
from pluginkit.importing.rules.constants import Constants, depends_on

LONGEST = 16
"""Terms of a sum that is followed."""
_WHOLE = (TensorProto.INT32, TensorProto.INT64)
_SHAPED = ("Squeeze", "Unsqueeze", "Reshape")
_COMPARED: Mapping[str, Callable[[int, int], bool]] = {
    "Equal": operator.eq,
    "Greater": operator.gt,
    "GreaterOrEqual": operator.ge,
    "Less": operator.lt,
    "LessOrEqual": operator.le,
}
_RANDOM = ("Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike")


@dataclass(frozen=True)
class Sum:
    """The elements of a tensor of integers: `constant` and the elements of other tensors, each so many times."""

    terms: Mapping[str, int] = field(default_factory=dict)
    constant: int = 0

    def plus(self, other: Sum, times: int = 1) -> Sum:
        """The sum of both, the other one `times`."""
        counts = {
            name: self.terms.get(name, 0) + times * other.terms.get(name, 0) for name in (*self.terms, *other.terms)
        }
        constant = self.constant + times * other.constant
        return Sum({name: count for name, count in counts.items() if count}, constant)


class Sums:
    """What the nodes of a model make, as sums; asked of each node in the order of its graph.

    TensorRT-RTX 1.7.1.116 does this arithmetic on the sizes in a loop (tests/importing/test_loop_sizes.py asks it): it
    takes `k - k`, `k + 1 - k`, `2 * k - k - k`, `min(k, k + 1) - k`, what `k == k` chooses, and the difference of two
    nodes that compute the same. It refuses `k // k`, differences of floats, and of Casts of `k` and `k + 1`.
    """

    def __init__(self, constants: Constants, known: Mapping[str, onnx.TypeProto.Tensor]) -> None:
        self._constants = constants
        self._known = known
        self._sums: dict[str, Sum] = {}
        self._same: dict[object, str] = {}
        self._graphs = 0

    def begin(self, graph: onnx.GraphProto) -> int:
        """A graph's number. Its inputs and initializers are sums of themselves, whatever had these names before."""
        for value in (*graph.input, *graph.initializer):
            self._sums.pop(value.name, None)
        self._graphs += 1
        return self._graphs

    def sources(self, node: onnx.NodeProto, graph: int) -> set[str]:
        """The tensors that the values of a node's outputs follow from.

        Args:
            node: the node.
            graph: its graph's number: two nodes that compute the same are one only within a graph.
        """
        inputs = depends_on(node, self._constants)
        standard = node.domain in {"", "ai.onnx"} and len(node.output) == 1 and not any(True for _ in subgraphs(node))
        if not standard:
            # Another graph's tensors may have had these names.
            for name in node.output:
                self._sums.pop(name, None)
            return {name for one in inputs for name in self._sum(one).terms}
        made = self._made(node)
        if made is None or len(made.terms) > LONGEST:
            first = self._same.setdefault(self._key(node, graph), node.output[0])
            self._sums[node.output[0]] = Sum({first: 1})
            return {name for one in inputs for name in self._sum(one).terms}
        self._sums[node.output[0]] = made
        return set(made.terms)

    def _sum(self, name: str) -> Sum:
        found = self._sums.get(name)
        if found is None:
            value = self._constants.value(name)
            whole = value is not None and value.size == 1 and value.dtype.kind in "iub"
            found = Sum({}, int(value.reshape(-1)[0])) if value is not None and whole else Sum({name: 1})
        return found

    def _key(self, node: onnx.NodeProto, graph: int) -> object:
        """Equal of nodes that compute the same."""
        if node.op_type in _RANDOM:
            return node.output[0]
        given = tuple((*sorted(one.terms.items()), one.constant) for one in map(self._sum, node.input))
        attributes = tuple(sorted(one.SerializeToString(deterministic=True) for one in node.attribute))
        return graph, node.op_type, given, attributes

    def _made(self, node: onnx.NodeProto) -> Sum | None:
        """A node's output; None if it is a number of its own."""
        kind, given = node.op_type, [self._sum(name) for name in node.input if name]
        whole = bool(node.input) and self._is_whole(node.input[0])
        found: Sum | None = None
        if not given:
            found = None
        elif kind == "Identity" or (kind in _SHAPED and self._is_single(node.output[0])):
            found = given[0]
        elif kind == "Where" and not given[0].terms:
            found = given[1] if given[0].constant else given[2]
        elif kind == "Cast" and not given[0].terms and self._is_whole(node.output[0]):
            found = given[0]
        elif whole and kind in _COMPARED:
            apart = given[0].plus(given[1], -1)
            found = None if apart.terms else Sum({}, int(_COMPARED[kind](apart.constant, 0)))
        elif whole:
            found = _computed(kind, given)
        return found

    def _is_whole(self, name: str) -> bool:
        value = self._constants.value(name)
        if value is not None:
            return value.dtype.kind == "i"
        return name in self._known and self._known[name].elem_type in _WHOLE

    def _is_single(self, name: str) -> bool:
        """With more elements than one, the axes matter."""
        shape = dims(self._known[name]) if name in self._known else None
        return shape is not None and all(dim == 1 for dim in shape)


def _computed(kind: str, given: Sequence[Sum]) -> Sum | None:
    """What an operator makes of integers."""
    first, last = given[0], given[-1]
    found: Sum | None = None
    if kind in {"Add", "Sub"}:
        found = first.plus(last, 1 if kind == "Add" else -1)
    elif kind == "Neg":
        found = Sum().plus(first, -1)
    elif kind == "Mul" and not (first.terms and last.terms):
        number, other = (first, last) if not first.terms else (last, first)
        found = Sum().plus(other, number.constant)
    elif kind in {"Min", "Max"}:
        found = first
        for one in given[1:]:
            apart = found.plus(one, -1)
            if apart.terms:
                return None
            found = found if (apart.constant <= 0) == (kind == "Min") else one
    return found
