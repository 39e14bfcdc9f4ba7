"""ONNX models around chameleons: for NVIDIA with a probe behind each plugin output, for the host with Identity."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import onnx
from onnx import TensorProto, helper

from pluginkit.dtypes import DType
from pluginkit.network.api_model import PROBE
from pluginkit.network.networks import Network, NetworkProfile, PluginCall, Range
from pluginkit.testing.families.base import DOMAIN, SHAPE_INPUTS, versions

from .signature import Signature

NAMES = {"v2": "Chameleon", "v3": "ChameleonV3"}
SCALE = 0.0625


@dataclass(frozen=True)
class Value:
    """A tensor of the graph: its name and type, and its shape per profile at min, opt and max; of a shape input
    (`gives_shapes`) its elements."""

    name: str
    kind: DType
    ranges: tuple[Range, ...]
    gives_shapes: bool = False

    @property
    def rank(self) -> int:
        return len(self.ranges[0][0])


@dataclass
class Graph:
    """A graph under way; `within` makes bodies of Loop and If, whose plugin calls and names are the whole model's."""

    profiles: int
    base: str
    nodes: list[onnx.NodeProto] = field(default_factory=list)
    constants: list[onnx.TensorProto] = field(default_factory=list)
    calls: list[PluginCall] = field(default_factory=list)
    numbers: list[int] = field(default_factory=lambda: [0])

    def within(self) -> Graph:
        """A body's graph."""
        return Graph(self.profiles, self.base, [], [], self.calls, self.numbers)

    def name(self, label: str) -> str:
        """Unique; none is a prefix of another: NVIDIA's parser finds layers by prefix."""
        self.numbers[0] += 1
        return f"n{self.numbers[0]:03d}_{label}"

    def op(self, kind: str, inputs: Sequence[str], label: str, **attributes: Any) -> str:
        """A standard node; returns its output."""
        out = self.name(label)
        self.nodes.append(helper.make_node(kind, list(inputs), [out], f"{out}_{kind}", **attributes))
        return out

    def constant(self, kind: int, values: Sequence[float], dims: Sequence[int] = ()) -> str:
        """An initializer."""
        out = self.name("constant")
        self.constants.append(helper.make_tensor(out, kind, dims, values))
        return out

    def quantized(self, value: Value, operator: str) -> Value:
        """An INT8 or FP8 value from FP32 or the other way round; others as they are."""
        if not value.kind.is_quantized:
            return value
        scale, zero = self.constant(TensorProto.FLOAT, [SCALE]), self.constant(value.kind.onnx, [0])
        return Value(self.op(operator, [value.name, scale, zero], "q"), value.kind, value.ranges)

    def plugin(
        self, inputs: Sequence[Value], signature: Signature, *, ask: int = 0, version: str = "1", namespace: str = ""
    ) -> list[Value]:
        """A chameleon's node, a probe behind each output; the values are what the probes give. Shape inputs come last.

        `ask` is how many outputs the node has beyond those of the signature.
        """
        node = self.name("plugin")
        raw = [self.name("raw") for _ in range(len(signature.shapes) + ask)]
        fields = signature.fields()
        made = helper.make_node(
            NAMES[self.base],
            [value.name for value in inputs],
            raw,
            node,
            domain=DOMAIN,
            plugin_version=version,
            plugin_namespace=namespace,
        )
        for name, (_, value) in fields.items():
            # The type of an empty list can't be seen.
            kind = onnx.AttributeProto.INTS if value == () else None
            made.attribute.append(helper.make_attribute(name, value, attr_type=kind))
        shape_inputs = tuple(index for index, value in enumerate(inputs) if value.gives_shapes)
        if shape_inputs:
            made.attribute.append(helper.make_attribute(SHAPE_INPUTS, list(shape_inputs)))
        self.nodes.append(made)
        kinds = signature.output_types([value.kind for value in inputs])
        self.calls.append(
            PluginCall(
                node=node,
                fields=fields,
                types=tuple(value.kind for value in inputs),
                output_types=kinds,
                inputs=tuple(tuple(value.ranges[profile] for value in inputs) for profile in range(self.profiles)),
                scales=(0.0,) * len(inputs),
                output_scales=(0.0,) * len(kinds),
                shape_inputs=shape_inputs,
            )
        )
        ranges = [
            tuple(signature.output_range(index, [v.ranges[p] for v in inputs]) for p in range(self.profiles))
            for index in range(len(signature.shapes))
        ]
        outputs = [Value(self._probe(name), kind, one) for name, kind, one in zip(raw, kinds, ranges, strict=False)]
        return outputs + [Value(name, DType.FLOAT32, outputs[0].ranges) for name in raw[len(outputs) :]]

    def _probe(self, value: str) -> str:
        out = self.name("seen")
        name, version, namespace = PROBE
        self.nodes.append(
            helper.make_node(
                name, [value], [out], f"{out}_probe", DOMAIN, domain=DOMAIN, plugin_version=version,
                plugin_namespace=namespace,
            )
        )  # fmt: skip
        return out

    def body(self, label: str, inputs: Sequence[onnx.ValueInfoProto], outputs: Sequence[Value]) -> onnx.GraphProto:
        """This graph as a body with those outputs."""
        ends = [info(value) for value in outputs]
        graph: onnx.GraphProto = helper.make_graph(self.nodes, label, list(inputs), ends, self.constants)
        return graph


def info(value: Value, dims: Sequence[int | str | None] | None = None) -> onnx.ValueInfoProto:
    """A graph's input or output. INT8 and FP8 values are FP32 where they cross a boundary."""
    kind = TensorProto.FLOAT if value.kind.is_quantized else value.kind.onnx
    return helper.make_tensor_value_info(value.name, kind, [None] * value.rank if dims is None else dims)


def finish(
    graph: Graph,
    label: str,
    inputs: Sequence[onnx.ValueInfoProto],
    outputs: Sequence[Value],
    profiles: Sequence[NetworkProfile],
) -> Network:
    """The network for NVIDIA."""
    ends = [info(value) for value in outputs]
    proto = helper.make_graph(graph.nodes, "fidelity", list(inputs), ends, graph.constants)
    model = helper.make_model(proto, **versions(graph.calls))
    return Network(
        id=label,
        family=label.partition("/")[0],
        precision=DType.FLOAT32,
        model=model.SerializeToString(),
        calls=tuple(graph.calls),
        profiles=tuple(profiles),
        outputs=tuple(value.name for value in outputs),
    )


def without_probes(model: bytes) -> bytes:
    """The same for the host: a probe is y = x."""
    proto = onnx.load_from_string(model)
    _replace(proto.graph)
    plain: bytes = proto.SerializeToString()
    return plain


def _replace(graph: onnx.GraphProto) -> None:
    for node in graph.node:
        if node.op_type == PROBE[0]:
            node.op_type, node.domain = "Identity", ""
            del node.attribute[:]
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.GRAPH:
                _replace(attribute.g)
