"""Regions become plugins' nodes; what was there for them alone goes."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import onnx_ir as ir

from pluginkit.creators.facts import CreatorFacts
from pluginkit.errors import UsageError
from pluginkit.grafting.regions import Subgraph, graphs
from pluginkit.importing.plugin_node import NAMESPACE, VERSION

DOMAIN = "pluginkit"
"""Of nodes whose plugin has no namespace: onnx's checker refuses unknown operators in its default domain."""


def replace(model: Any, regions: Sequence[Subgraph], creator: CreatorFacts) -> None:
    """Put a plugin's node in the place of each region.

    Raises:
        UsageError: a region's input depends on its output, by nodes that are not in it.
    """
    domain = creator.namespace or DOMAIN
    # One region's output may be another's input.
    instead: dict[int, Any] = {}
    taken = {node.name for graph, _ in graphs(model) for node in graph}
    for number, region in enumerate(regions, 1):
        last = region.nodes[-1]
        attributes = {**region.attributes, VERSION: creator.version, NAMESPACE: creator.namespace}
        node = ir.node(
            creator.name,
            [instead.get(id(value), value) for value in region.inputs],
            attributes,
            domain=domain,
            num_outputs=len(region.outputs),
            name=_unused(f"{last.name[: last.name.rfind('/') + 1] if last.name else ''}{creator.name}", number, taken),
            metadata_props=dict(last.metadata_props),
        )
        region.graph.insert_after(last, node)
        for old, new in zip(region.outputs, node.outputs, strict=True):
            instead[id(old)] = new
            new.name, old.name = old.name, None
            new.type, new.shape = old.type, old.shape
            ir.convenience.replace_all_uses_with(old, new, replace_graph_outputs=True)
        inputs = [value for one in region.nodes for value in one.inputs if value is not None]
        region.graph.remove(region.nodes, safe=True)
        _remove_unused(inputs)
    try:
        for graph in {id(region.graph): region.graph for region in regions}.values():
            graph.sort()
    except ValueError:
        raise UsageError(
            "A place can't be cut out: one of its inputs depends on one of its outputs, by nodes outside of it.",
            hint="Have the pattern hold these nodes too.",
        ) from None
    model.graph.opset_imports.setdefault(domain, 1)
    for function in model.functions.values():
        function.opset_imports.setdefault(domain, 1)


def _unused(name: str, number: int, taken: set[str]) -> str:
    """A name for a new node: a model that was grafted before has some already."""
    found = next(one for one in (f"{name}_{count}" for count in itertools.count(number)) if one not in taken)
    taken.add(found)
    return found


def _remove_unused(values: Sequence[Any]) -> None:
    """What made these values only, and constants that nobody uses any more."""
    waiting = list(values)
    while waiting:
        value = waiting.pop()
        if value.uses() or value.is_graph_output():
            continue
        node = value.producer()
        if node is None:
            if value.is_initializer() and not value.is_graph_input() and value.graph is not None:
                value.graph.initializers.pop(value.name, None)
            continue
        if node.graph is None or any(one.uses() or one.is_graph_output() for one in node.outputs):
            continue
        waiting += [one for one in node.inputs if one is not None]
        node.graph.remove(node, safe=True)
