"""Which nodes of a model a plugin is to be made of."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass

import onnx

from pluginkit.errors import UsageError
from pluginkit.importing.onnx_graph import Place, places
from pluginkit.process.escapes import shown

MARK = "pluginkit_node_label"
"""The attribute by which a chosen node is known in a copy of the model, whatever onnx's inliner calls it."""


@dataclass(frozen=True)
class Selection:
    """The nodes.

    Attributes:
        model: a copy with its local functions written out, in which each chosen node has the attribute `MARK`.
        domain, op_type: the operator.
        nodes: the chosen nodes of the copy, in the order of `model.places`.
        labels: what the user finds each by in the model itself.
        function: the model's local function of that operator, if it has one.
    """

    model: onnx.ModelProto
    domain: str
    op_type: str
    nodes: tuple[onnx.NodeProto, ...]
    labels: tuple[str, ...]
    function: onnx.FunctionProto | None

    @property
    def operator(self) -> str:
        """`domain::type`, or the type alone in ONNX's default domain."""
        return Place(self.nodes[0]).operator


def select(model: onnx.ModelProto, operator: str, node: str) -> Selection:
    """Choose by operator (`domain::type`) or by a node's name or label; one of them is empty.

    Raises:
        UsageError: there is none, or the name is that of nodes of several operators.
    """
    copied = onnx.ModelProto()
    copied.CopyFrom(model)
    every = [place for graph in (copied.graph, *copied.functions) for place in places(graph)]
    chosen = _by_operator(every, operator) if operator else _by_name(every, node)
    first = chosen[0].node
    kinds = {place.operator for place in chosen}
    if len(kinds) > 1:
        raise UsageError(f"{shown(node)} is the name of nodes of several operators: {', '.join(sorted(kinds))}.")
    for place in chosen:
        place.node.attribute.append(onnx.helper.make_attribute(MARK, place.label))
    function = next((one for one in copied.functions if (one.domain, one.name) == (first.domain, first.op_type)), None)
    own = _inlined(copied, first)
    nodes = [place.node for place in places(own.graph) if _label(place.node)]
    if not nodes:
        raise UsageError(f"{chosen[0].label} stands in a function that nothing calls.")
    labels: list[str] = []
    for node_ in nodes:
        labels.append(_single(node_, labels))
    return Selection(own, first.domain, first.op_type, tuple(nodes), tuple(labels), function)


def _single(node: onnx.NodeProto, taken: Sequence[str]) -> str:
    """A label that no node before has: nodes may share a name, and a function that is called twice is there twice."""
    mark = next(one for one in node.attribute if one.name == MARK)
    label = mark.s.decode()
    names = (label, *(f"{label} ({number})" for number in range(2, len(taken) + 2)))
    unused: str = next(name for name in names if name not in taken)
    mark.s = unused.encode()
    return unused


def _inlined(model: onnx.ModelProto, kept: onnx.NodeProto) -> onnx.ModelProto:
    """The model with all of its local functions written out but the one that the chosen nodes call."""
    others = [
        (one.domain, one.name) for one in model.functions if (one.domain, one.name) != (kept.domain, kept.op_type)
    ]
    try:
        return onnx.inliner.inline_selected_functions(model, others) if others else model
    except Exception:  # noqa: BLE001 - it has several, and each means that functions stay as they are
        return model


def _label(node: onnx.NodeProto) -> str:
    return next((one.s.decode() for one in node.attribute if one.name == MARK), "")


def _by_operator(every: Sequence[Place], operator: str) -> list[Place]:
    found = [place for place in every if operator in {place.operator, f"::{place.operator}"}]
    if found:
        return found
    there = list(dict.fromkeys(place.operator for place in every))
    same = [one for one in there if one.rpartition("::")[2] == operator.rpartition("::")[2]]
    close = same or difflib.get_close_matches(operator, there, n=1)
    hint = f"Is {close[0]} meant?" if close else f"It has {', '.join(sorted(there)[:12])}."
    raise UsageError(f"The model has no node of the operator {operator}.", hint=hint)


def _by_name(every: Sequence[Place], name: str) -> list[Place]:
    found = [place for place in every if place.label == name] or [place for place in every if place.node.name == name]
    if found:
        return found
    labels = [place.label for place in every]
    close = difflib.get_close_matches(name, [*labels, *(place.node.name for place in every)], n=1)
    hint = f"Is {close[0]} meant?" if close else f"Its nodes are {', '.join(labels[:8])}."
    raise UsageError(f"The model has no node {name}.", hint=hint)
