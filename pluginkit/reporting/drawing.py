"""A network as an SVG: the graph, and below it the graphs inside its nodes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import networkx as nx
import onnx
from jinja2 import Environment, PackageLoader, StrictUndefined

from pluginkit.testing.model import Network
from pluginkit.testing.networks.base import DOMAIN

WIDTH, HEIGHT = 150, 34
"""Of a node."""
ACROSS, DOWN, EDGE = 24, 34, 14
"""Between nodes, between layers, and around a graph."""
LONGEST = 22
"""Characters in a node."""


@dataclass
class Box:
    """A node of the drawing; x and y are its middle's."""

    text: str
    kind: str
    title: str
    x: float = 0.0
    y: float = 0.0


@dataclass
class Panel:
    """One graph, laid out."""

    title: str
    boxes: list[Box] = field(default_factory=list)
    edges: list[tuple[Box, Box, str]] = field(default_factory=list)
    width: float = 0.0
    height: float = 0.0


def svg(network: Network) -> str:
    """The network, one SVG a graph."""
    environment = Environment(
        loader=PackageLoader("pluginkit.reporting", "."), autoescape=True, undefined=StrictUndefined
    )
    template = environment.get_template("network.svg.jinja")
    graph = onnx.load_from_string(network.model).graph
    return template.render(panels=list(panels(graph, network.id)), node=(WIDTH, HEIGHT))


def panels(graph: onnx.GraphProto, title: str) -> Iterator[Panel]:
    """A graph, then those inside its nodes."""
    yield _panel(graph, title)
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.GRAPH:
                yield from panels(attribute.g, f"{attribute.name} of {node.op_type} {node.name}")


def _panel(graph: onnx.GraphProto, title: str) -> Panel:
    drawn = nx.DiGraph()
    panel = Panel(title)
    givers: dict[str, int] = {}

    def add(text: str, kind: str, about: str) -> int:
        panel.boxes.append(Box(text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…", kind, about))
        drawn.add_node(len(panel.boxes) - 1)
        return len(panel.boxes) - 1

    constants = {tensor.name for tensor in graph.initializer}
    for value in graph.input:
        givers[value.name] = add(value.name, "input", f"input {_typed(value)}")
    for node in graph.node:
        number = add(node.op_type, "plugin" if node.domain == DOMAIN else "operator", node.name)
        used = [*node.input, *_captured(node)]
        for name in dict.fromkeys(name for name in used if name and name not in constants):
            if name not in givers:
                givers[name] = add(name, "outer", f"{name}, of the graph around this one")
            drawn.add_edge(givers[name], number, text=name)
        givers.update(dict.fromkeys(node.output, number))
    for value in graph.output:
        number = add(value.name, "output", f"output {_typed(value)}")
        if value.name in givers:
            drawn.add_edge(givers[value.name], number, text=value.name)
    _place(panel, drawn)
    panel.edges = [(panel.boxes[a], panel.boxes[b], text) for a, b, text in drawn.edges(data="text")]
    return panel


def _captured(node: onnx.NodeProto) -> Iterator[str]:
    """What graphs inside a node use of the graph around them."""
    for attribute in node.attribute:
        if attribute.type == onnx.AttributeProto.GRAPH:
            inner = attribute.g
            own = {value.name for value in inner.input} | {tensor.name for tensor in inner.initializer}
            own |= {name for one in inner.node for name in one.output}
            for one in inner.node:
                yield from (name for name in (*one.input, *_captured(one)) if name and name not in own)


def _place(panel: Panel, drawn: nx.DiGraph) -> None:
    """Layers by the longest way from an input; in a layer, by the middle of those that a box comes from."""
    layers: Sequence[list[int]] = list(nx.topological_generations(drawn))
    widest = max((len(layer) for layer in layers), default=0)
    panel.width = max(1, widest) * (WIDTH + ACROSS) - ACROSS + 2 * EDGE
    panel.height = max(1, len(layers)) * (HEIGHT + DOWN) - DOWN + 2 * EDGE
    for depth, layer in enumerate(layers):

        def middle(number: int) -> float:
            before = [panel.boxes[one].x for one in drawn.predecessors(number)]
            return sum(before) / len(before) if before else 0.0

        room = panel.width / max(1, len(layer))
        for place, number in enumerate(sorted(layer, key=lambda number: (middle(number), number))):
            panel.boxes[number].x = room * (place + 0.5)
            panel.boxes[number].y = EDGE + HEIGHT / 2 + depth * (HEIGHT + DOWN)


def _typed(value: onnx.ValueInfoProto) -> str:
    tensor = value.type.tensor_type
    dims = ", ".join(
        dim.dim_param or (str(dim.dim_value) if dim.HasField("dim_value") else "?") for dim in tensor.shape.dim
    )
    return f"{value.name}: {onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type).name} [{dims}]"
