"""A network as an SVG: the graph, and below it the graphs inside its nodes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, fields

import networkx as nx
import onnx
from jinja2 import Environment, PackageLoader, StrictUndefined

from pluginkit.network.api_model import AnyNetwork, ApiNetwork, NetworkInput, NetworkOutput, PluginLayer, Step
from pluginkit.testing.families.base import DOMAIN

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


def svg(network: AnyNetwork) -> str:
    """The network, one SVG a graph; one for all that NVIDIA's API made."""
    environment = Environment(
        loader=PackageLoader("pluginkit.reporting", "."), autoescape=True, undefined=StrictUndefined
    )
    template = environment.get_template("network.svg.jinja")
    if isinstance(network, ApiNetwork):
        drawn = [api_panel(network)]
    else:
        drawn = list(panels(onnx.load_from_string(network.model).graph, network.id))
    return template.render(panels=drawn, node=(WIDTH, HEIGHT))


def panels(graph: onnx.GraphProto, title: str) -> Iterator[Panel]:
    """A graph, then those inside its nodes."""
    yield _panel(graph, title)
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.GRAPH:
                yield from panels(attribute.g, f"{attribute.name} of {node.op_type} {node.name}")


def api_panel(network: ApiNetwork) -> Panel:
    """The calls of NVIDIA's API as a graph. What a recurrence gets after a trip ends in a box of its own, `Recur`."""
    drawing = _Drawing(network.id)
    for step in network.steps:
        values = {one.name: getattr(step, one.name) for one in fields(step)}
        kind = {NetworkInput: "input", NetworkOutput: "output", PluginLayer: "plugin"}.get(type(step), "operator")
        about = ", ".join(f"{name} = {value}" for name, value in values.items() if value not in {"", ()})
        name = {"input": values.get("out"), "output": values.get("x")}.get(kind) or _operation(step)
        detail = next((str(values[key]) for key in ("kind", "op", "dtype", "loop", "conditional") if key in values), "")
        text = name if kind in {"input", "output"} else f"{name} {detail}".rstrip()
        made = drawing.add(text, kind, f"{_operation(step)}: {about}")
        for key, value in values.items():
            if key not in {"out", "outs"}:
                drawing.link(value if isinstance(value, tuple) else (value,), made)
        drawing.gives([values.get("out", values.get("name", "")), *values.get("outs", ())], made)
    return drawing.placed()


def _operation(step: Step) -> str:
    """What a step is called on the page: its class without what all of them are."""
    return type(step).__name__.removeprefix("Network").removesuffix("Layer").removesuffix("Step")


class _Drawing:
    """A panel under way: boxes, and an edge from whoever gives a tensor to whoever takes it."""

    def __init__(self, title: str) -> None:
        self._panel = Panel(title)
        self._graph = nx.DiGraph()
        self._givers: dict[str, int] = {}

    def add(self, text: str, kind: str, title: str) -> int:
        """A box."""
        number = len(self._panel.boxes)
        self._panel.boxes.append(Box(text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…", kind, title))
        self._graph.add_node(number)
        return number

    def link(self, takes: Iterable[object], number: int) -> None:
        """Edges to that box from those that make what it takes; what none makes is left out."""
        for name in takes:
            if name in self._givers:
                self._graph.add_edge(self._givers[str(name)], number, text=name)

    def known(self, name: str) -> bool:
        """Whether a box gives it."""
        return name in self._givers

    def gives(self, names: Iterable[str], number: int) -> None:
        """What that box gives."""
        self._givers.update(dict.fromkeys(filter(None, names), number))

    def placed(self) -> Panel:
        """The panel, laid out."""
        _place(self._panel, self._graph)
        boxes = self._panel.boxes
        self._panel.edges = [(boxes[a], boxes[b], text) for a, b, text in self._graph.edges(data="text")]
        return self._panel


def _panel(graph: onnx.GraphProto, title: str) -> Panel:
    drawing = _Drawing(title)
    constants = {tensor.name for tensor in graph.initializer}
    for value in graph.input:
        drawing.gives([value.name], drawing.add(value.name, "input", f"input {_typed(value)}"))
    for node in graph.node:
        used = [name for name in dict.fromkeys((*node.input, *_captured(node))) if name and name not in constants]
        made = drawing.add(node.op_type, "plugin" if node.domain == DOMAIN else "operator", node.name)
        for name in used:
            if not drawing.known(name):
                drawing.gives([name], drawing.add(name, "outer", f"{name}, of the graph around this one"))
        drawing.link(used, made)
        drawing.gives(node.output, made)
    for value in graph.output:
        drawing.link([value.name], drawing.add(value.name, "output", f"output {_typed(value)}"))
    return drawing.placed()


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
