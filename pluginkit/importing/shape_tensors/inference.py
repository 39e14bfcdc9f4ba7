"""The inference of shape tensors and execution tensors by use: from what needs a shape tensor to what makes it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import onnx
from onnx import AttributeProto

from pluginkit.importing.onnx_graph import Place, places, subgraphs
from pluginkit.importing.plugin_node import SHAPE_INPUTS
from pluginkit.importing.shape_tensors.signatures import OTHER, SIGNATURES, LayerSignature

DIMENSIONS = ("Shape", "Size")


@dataclass(frozen=True)
class TensorClass:
    """What a tensor is.

    Attributes:
        name: the tensor's.
        node: the label of the node that makes it; empty of an input or an initializer.
        operator: that node's operator.
        shape: whether it is a shape tensor.
        execution: whether it is an execution tensor; it can be both.
        rule: why it is a shape tensor: who takes it as what, and the layer's signature. Empty if it is none.
        computed: whether a layer that gives execution tensors makes it, so that each run copies it to the CPU.
    """

    name: str
    node: str
    operator: str
    shape: bool
    execution: bool
    rule: str = ""
    computed: bool = False

    @property
    def kind(self) -> str:
        """`shape`, `execution`, `both`, or `unused`."""
        if self.shape and self.execution:
            return "both"
        return "shape" if self.shape else "execution" if self.execution else "unused"


def classify(model: onnx.ModelProto, marked: Sequence[str] = ()) -> tuple[TensorClass, ...]:
    """All tensors of the main graph and of those in it, in the order of their nodes; functions are not looked into.

    Args:
        model: the model.
        marked: outputs that are marked by INetworkDefinition::markOutputForShapes.
    """
    every = places(model.graph)
    makers = {name: place for place in every for name in place.node.output if name}
    rules: dict[str, str] = {}
    todo = [(name, "it is marked by markOutputForShapes") for name in marked]
    todo += [
        (name, f"{place.label} takes it as {what} ({_signature(place.node).layer})")
        for place in every
        for name, what in needed(place)
    ]
    while todo:
        name, rule = todo.pop(0)
        if name in rules:
            continue
        rules[name] = rule
        if name in makers:
            todo += _passed(makers[name], name)
    executed = _executed(model, every, rules)
    found = [
        TensorClass(value.name, "", "", value.name in rules, value.name in executed, rules.get(value.name, ""))
        for value in model.graph.input
    ]
    for name, place in makers.items():
        shape = name in rules
        computed = shape and not (place.node.op_type in DIMENSIONS or _signature(place.node).same or _fill(place.node))
        operator, rule = place.operator, rules.get(name, "")
        found.append(TensorClass(name, place.label, operator, shape, name in executed, rule, computed))
    return tuple(found)


def _signature(node: onnx.NodeProto) -> LayerSignature:
    known = SIGNATURES.get(node.op_type) if node.domain in {"", "ai.onnx"} else None
    if known is not None:
        return known
    asked = next((list(one.ints) for one in node.attribute if _asks(one)), [])
    positions = {index % max(1, len(node.input)): "an input of its shapes" for index in asked}
    return LayerSignature(f"IPluginV3Layer with {SHAPE_INPUTS}" if positions else OTHER, positions, False)


def _asks(attribute: onnx.AttributeProto) -> bool:
    return bool(attribute.name == SHAPE_INPUTS and attribute.type == AttributeProto.INTS)


def _fill(node: onnx.NodeProto) -> bool:
    """A layer that gives a shape tensor of shape tensors."""
    return node.op_type in {"ConstantOfShape", "Range"}


def needed(place: Place) -> Iterator[tuple[str, str]]:
    """A node's inputs that are shape tensors whatever its outputs are, each with what it is taken as."""
    layer = _signature(place.node)
    for position, what in layer.shapes.items():
        if position < len(place.node.input) and place.node.input[position]:
            yield place.node.input[position], what


def _passed(place: Place, name: str) -> Iterator[tuple[str, str]]:
    """What must be shape tensors because the node's output is one."""
    layer = _signature(place.node)
    rule = f"{place.label} gives a shape tensor ({layer.layer})"
    if place.node.op_type == "If":
        index = list(place.node.output).index(name)
        for _, graph in subgraphs(place.node):
            if index < len(graph.output):
                yield graph.output[index].name, rule
    elif layer.same:
        yield from ((one, rule) for index, one in enumerate(place.node.input) if one and index not in layer.shapes)
    elif place.node.op_type == "Range":
        yield from ((one, rule) for one in place.node.input)


def _executed(model: onnx.ModelProto, every: Sequence[Place], rules: dict[str, str]) -> set[str]:
    """Tensors that the GPU works on: what an execution layer takes or makes, and the model's outputs."""
    found = {value.name for value in model.graph.output}
    for place in reversed(every):
        node, layer = place.node, _signature(place.node)
        made = [name for name in node.output if name]
        if node.op_type in DIMENSIONS:
            continue
        if node.op_type == "If":
            for _, graph in subgraphs(node):
                pairs = zip(node.output, graph.output, strict=False)
                found |= {one.name for name, one in pairs if name in found or name not in rules}
        elif not layer.same or any(name in found or name not in rules for name in made):
            found |= {one for index, one in enumerate(node.input) if one and index not in layer.shapes}
            found |= {name for name in made if not _fill(node) or name not in rules}
    used = {value.name for value in model.graph.output} | {name for place in every for name in place.node.input}
    used |= {one.name for place in every for _, graph in subgraphs(place.node) for one in graph.output}
    return {name for name in found if name in used} | {name for name in used if name and name not in rules}
