"""Places of a model that a plugin's node stands for: their nodes, what goes in and comes out, what is wrong there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx_ir as ir

from pluginkit.errors import UsageError
from pluginkit.network.networks import Array


@dataclass(frozen=True)
class Subgraph:
    """One place.

    Attributes:
        graph: the graph, or local function, that has its nodes.
        path: where that is, as `loop1/body`; empty for the main graph.
        nodes: its nodes, in the graph's order.
        inputs: what the plugin's node is given.
        outputs: what it makes.
        bound: constants and attributes by name: an array, number, text or list.
        attributes: the node's.
    """

    graph: Any
    path: str
    nodes: tuple[Any, ...]
    inputs: tuple[Any, ...]
    outputs: tuple[Any, ...]
    bound: dict[str, object] = field(default_factory=dict)
    attributes: dict[str, object] = field(default_factory=dict)

    @property
    def label(self) -> str:
        """What the user finds it by."""
        where = f"{self.path}/" if self.path else ""
        first, last = name_of(self.nodes[0]), name_of(self.nodes[-1])
        return where + (first if first == last else f"{first} ... {last}")


def name_of(node: Any) -> str:
    """A node's name, or what it is and makes."""
    made = next((one.name for one in node.outputs if one.name), "nothing")
    return node.name or f"({node.op_type} that makes {made})"


def graphs(model: Any) -> Iterator[tuple[Any, str]]:
    """All graphs of a model, with where they are: the main one, local functions, and those inside nodes."""
    yield from _graphs(model.graph, "")
    for function in model.functions.values():
        yield from _graphs(function, f"{function.domain}::{function.name}")


def _graphs(graph: Any, path: str) -> Iterator[tuple[Any, str]]:
    yield graph, path
    for node in graph:
        for attribute in node.attributes.values():
            several = {ir.AttributeType.GRAPH: [attribute.value], ir.AttributeType.GRAPHS: attribute.value}
            for inner in several.get(attribute.type, ()):
                inside = "/".join(filter(None, (path, name_of(node), attribute.name)))
                yield from _graphs(inner, inside)


def constant(value: Any) -> Array | None:
    """A value that doesn't depend on the model's inputs: an initializer's, or a Constant node's; else None."""
    if not isinstance(value, ir.Value):  # an attribute, or nothing
        return None
    tensor = ir.convenience.get_const_tensor(value)
    return None if tensor is None else np.asarray(tensor.numpy())


def boundary(nodes: Iterable[Any]) -> tuple[list[Any], list[Any], list[Any]]:
    """What nodes are given from outside, of which constants last, and what they make that is used outside.

    Returns:
        Values that are not constants, and constants, both in the order in which they are used; and outputs.
    """
    listed = list(nodes)
    inside = set(map(id, _with_inner(listed)))
    made = {id(value) for node in _with_inner(listed) for value in node.outputs}
    given = {id(v): v for node in _with_inner(listed) for v in node.inputs if v is not None and id(v) not in made}
    # Inputs of bodies inside belong to these.
    own = {id(value) for node in listed for value in _inputs_of_bodies(node)}
    free = [value for key, value in given.items() if key not in own]
    data = [value for value in free if constant(value) is None]
    constants = [value for value in free if constant(value) is not None]
    outputs = [value for node in listed for value in node.outputs if _used_outside(value, inside)]
    return data, constants, outputs


def _with_inner(nodes: Sequence[Any]) -> Iterator[Any]:
    for node in nodes:
        yield node
        for attribute in node.attributes.values():
            if attribute.type == ir.AttributeType.GRAPH:
                yield from attribute.value.all_nodes()


def _inputs_of_bodies(node: Any) -> Iterator[Any]:
    for attribute in node.attributes.values():
        if attribute.type == ir.AttributeType.GRAPH:
            yield from attribute.value.inputs
            for inner in attribute.value:
                yield from _inputs_of_bodies(inner)


def _used_outside(value: Any, inside: set[int]) -> bool:
    return value.is_graph_output() or any(id(use.node) not in inside for use in value.uses())


def check(regions: Sequence[Subgraph]) -> None:
    """That each can be replaced.

    Raises:
        UsageError: two have a node in common, or a value that isn't replaced is used outside.
    """
    owner: dict[int, int] = {}
    for number, region in enumerate(regions, 1):
        for node in region.nodes:
            other = owner.setdefault(id(node), number)
            if other != number:
                raise UsageError(
                    f"Places {other} and {number} overlap: both have node {name_of(node)}.",
                    hint="Choose one of them by --place, or make the pattern more specific.",
                )
        inside = set(map(id, _with_inner(region.nodes)))
        outputs = set(map(id, region.outputs))
        for value in (value for node in region.nodes for value in node.outputs):
            if id(value) not in outputs and _used_outside(value, inside):
                users = [name_of(use.node) for use in value.uses() if id(use.node) not in inside]
                by = f"node {users[0]}" if users else "the graph: it is one of its outputs"
                raise UsageError(
                    f"Place {number}, {region.label}, can't be cut out: its value {value.name} is used by {by}.",
                    hint="Make it an output of the pattern and of the plugin, choose other places by --place, or "
                    "have the pattern end there.",
                )
