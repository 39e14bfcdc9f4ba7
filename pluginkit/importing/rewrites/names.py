"""The names that a model has, for those who add more."""

from __future__ import annotations

import onnx

from pluginkit.importing.onnx_graph import places, subgraphs


def every(model: onnx.ModelProto) -> set[str]:
    """Every name of a tensor or node, in whatever graph."""
    graphs = [model.graph]
    taken: set[str] = set()
    for place in places(model.graph):
        graphs += [inner for _, inner in subgraphs(place.node)]
        taken |= {place.node.name, *place.node.input, *place.node.output}
    for graph in graphs:
        taken |= {value.name for value in (*graph.input, *graph.output)}
        taken |= {tensor.name for tensor in graph.initializer}
    return taken


def free(wanted: str, taken: set[str]) -> str:
    """The name, with as many underscores behind it as make it a new one; it is added to those that are taken."""
    while wanted in taken:
        wanted += "_"
    taken.add(wanted)
    return wanted
