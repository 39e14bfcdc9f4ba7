"""Sizes in loops that follow from the loop, as NVIDIA's builder takes them (rule M28).

It has none. A state that never changes is taken from outside of the loop. A Slice whose start and end differ by a
constant becomes a Gather, such a Range an Add: the same as long as the part lies within the tensor, which --fix holds
by comparing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import onnx
from onnx import TensorProto, helper

from pluginkit.importing.onnx_graph import dims, places, shapes, subgraphs
from pluginkit.importing.rewrites.names import every, free
from pluginkit.importing.rules import loop_sizes
from pluginkit.importing.rules.constants import Constants
from pluginkit.importing.rules.loop_sizes import LoopSize

KEPT = ("Identity", "Squeeze", "Unsqueeze", "Reshape")
"""Operators that leave a single number what it is; a Cast does so between these types."""
WHOLE = (TensorProto.INT32, TensorProto.INT64, TensorProto.FLOAT, TensorProto.DOUBLE)
INDICES = (TensorProto.INT32, TensorProto.INT64)
LARGEST = 4096
"""Elements of a part whose indices are written down."""


def rewrite(model: onnx.ModelProto) -> list[str]:
    """Change a model in place; what was done, a sentence a node."""
    if not any(one.carried for one in loop_sizes.find(model)):
        return []
    done = _parts(model)
    if any(one.carried for one in loop_sizes.find(model)):
        done += [*_unchanged(model.graph, ""), *_parts(model)]
    return done


def _parts(model: onnx.ModelProto) -> list[str]:
    parts = _Parts(model)
    return [change for one in loop_sizes.find(model) if one.carried for change in parts.rewrite(one)]


def _unchanged(graph: onnx.GraphProto, path: str) -> Iterator[str]:
    """States that come back as they went in: the body takes their first value instead."""
    for node in graph.node:
        label = f"{path}{node.name or node.op_type}"
        for name, inner in subgraphs(node):
            if node.op_type in loop_sizes.LOOPS and name == "body":
                yield from _taken_from_outside(node, inner, label)
            yield from _unchanged(inner, f"{label}/{name}/")


def _taken_from_outside(node: onnx.NodeProto, body: onnx.GraphProto, label: str) -> Iterator[str]:
    # A Loop has trip number, condition and states; a Scan states and slices.
    before, ahead = (2, 1) if node.op_type == "Loop" else (0, 0)
    slices = next((one.i for one in node.attribute if one.name == "num_scan_inputs"), 0)
    makers = {name: one for one in body.node for name in one.output}
    for index in range(min(len(node.input) - before - slices, len(body.output) - ahead)):
        first, name, end = node.input[before + index], body.input[before + index].name, body.output[ahead + index].name
        while end in makers and makers[end].op_type == "Identity":
            end = makers[end].input[0]
        if end == name and _rename(body.node, name, first):
            yield f"{label}: its state {name}, which never changes, is taken from outside"


def _rename(nodes: Sequence[onnx.NodeProto], old: str, new: str) -> bool:
    """Whether something in these nodes, but a mere Identity, took a tensor; it takes the other now."""
    found = False
    for node in nodes:
        if node.op_type == "Identity":
            continue
        for index, name in enumerate(node.input):
            if name == old:
                node.input[index] = new
                found = True
        for _, inner in subgraphs(node):
            found = _rename(inner.node, old, new) or found
            for value in inner.output:
                if value.name == old:
                    made = free(f"{old}_outside", {value.name for value in inner.output})
                    inner.node.append(helper.make_node("Identity", [new], [made], made))
                    value.name = made
                    found = True
    return found


class _Parts:
    """The rewrite of parts of constant length."""

    def __init__(self, model: onnx.ModelProto) -> None:
        self._makers = {name: place.node for place in places(model.graph) for name in place.node.output}
        self._constants = Constants(model)
        self._known = shapes(model)
        self._taken = every(model)

    def rewrite(self, one: LoopSize) -> Iterator[str]:
        """Put other nodes in the place of one, where that can be."""
        made = {"Slice": self._slice, "Range": self._range}.get(one.place.node.op_type, lambda _: [])(one.place.node)
        if not made:
            return
        nodes = [onnx.NodeProto.FromString(node.SerializeToString()) for node in one.graph.node]
        at = next(index for index, node in enumerate(nodes) if node.output[:1] == one.place.node.output[:1])
        del one.graph.node[:]
        one.graph.node.extend([*nodes[:at], *made, *nodes[at + 1 :]])
        what = "Gather" if made[-1].op_type == "Gather" else "its start and the numbers behind it"
        yield f"{one.place.label}: {what}, the same as the {one.place.node.op_type} while that ends within the tensor"

    def _slice(self, node: onnx.NodeProto) -> list[onnx.NodeProto]:
        """Indices from the start on, gathered."""
        data, start, end, axes, steps = [*node.input, "", "", ""][:5]
        shape = dims(self._known[start]) if start in self._known else None
        # There are as many axes as starts.
        axis = self._numbers(axes) if axes else [0] if shape == (1,) else None
        length = self._length(start, end)
        if axis is None or len(axis) != 1 or (steps and self._numbers(steps) != [1]) or not length:
            return []
        if length > 1 and start not in self._known:
            # onnx infers no types of this model.
            return []
        indices, made = self._indices(node, start, length)
        gather = helper.make_node("Gather", [data, indices], [node.output[0]], node.name, axis=int(axis[0]))
        return [*made, gather]

    def _range(self, node: onnx.NodeProto) -> list[onnx.NodeProto]:
        """The start and the numbers behind it."""
        start, limit, delta = node.input
        length = self._length(start, limit)
        if self._numbers(delta) != [1] or not length or start not in self._known:
            return []
        name = node.output[0]
        one = self._constant(f"{name}_one", TensorProto.INT64, [1])
        first = free(f"{name}_first", self._taken)
        reshaped = helper.make_node("Reshape", [start, one.output[0]], [first], free(f"{name}_reshape", self._taken))
        indices, made = self._indices(node, first, length, self._known[start].elem_type)
        same = helper.make_node("Identity", [indices], [name], node.name)
        return [one, reshaped, *made, same]

    def _indices(
        self, node: onnx.NodeProto, start: str, length: int, kind: int = 0
    ) -> tuple[str, list[onnx.NodeProto]]:
        """A tensor of the start, and the numbers behind it."""
        if length == 1:
            return start, []
        name = node.output[0]
        behind = self._constant(
            f"{name}_behind", kind or self._known[start].elem_type, list(range(length)), shape=[length]
        )
        indices = free(f"{name}_indices", self._taken)
        add = helper.make_node("Add", [start, behind.output[0]], [indices], free(f"{name}_add", self._taken))
        return indices, [behind, add]

    def _constant(
        self, wanted: str, kind: int, values: Sequence[int], shape: Sequence[int] | None = None
    ) -> onnx.NodeProto:
        name = free(wanted, self._taken)
        tensor = helper.make_tensor(name, kind, shape or [len(values)], values)
        return helper.make_node("Constant", [], [name], name, value=tensor)

    def _length(self, start: str, end: str) -> int:
        """The constant number of elements between two numbers; 0 if there is none that is known."""
        (first, before), (last, behind) = self._number(start), self._number(end)
        kind = self._known[first].elem_type if first in self._known else 0
        length = behind - before
        return length if first == last and kind in INDICES and 0 < length <= LARGEST else 0

    def _number(self, name: str) -> tuple[str, int]:
        """What a number is: another one, and what is added to it. Of a smaller of two that which the loop gives."""
        offset, seen = 0, {name}
        while found := self._before(name):
            name, added = found
            offset += added
            # Two bodies may have one name, so that this comes round.
            if name in seen:
                break
            seen.add(name)
        return name, offset

    def _before(self, name: str) -> tuple[str, int] | None:
        """One node back: the number that it takes, and what it adds to it; None where a number begins."""
        node = self._makers.get(name)
        if node is None:
            return None
        cast = next((one.i for one in node.attribute if one.name == "to"), 0)
        if node.op_type in KEPT or (node.op_type == "Cast" and cast in WHOLE):
            return node.input[0], 0
        if node.op_type in {"Add", "Sub"}:
            for index in (0, 1) if node.op_type == "Add" else (1,):
                added = self._numbers(node.input[index])
                if added is not None and len(added) == 1 and added[0].is_integer():
                    sign = 1 if node.op_type == "Add" else -1
                    return node.input[1 - index], sign * int(added[0])
        if node.op_type == "Min":
            # The tensor's length, at which an end stops.
            others = [one for one in node.input if one not in self._constants.of_shapes]
            if len(others) == 1:
                return others[0], 0
        return None

    def _numbers(self, name: str) -> list[float] | None:
        """A constant's values, in whatever shape."""
        seen: set[str] = set()
        while name not in seen and name in self._makers and self._makers[name].op_type in KEPT:
            seen.add(name)
            name = self._makers[name].input[0]
        values = self._constants.value(name)
        return None if values is None or values.dtype.kind not in "iuf" else [float(one) for one in values.reshape(-1)]
