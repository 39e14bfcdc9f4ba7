"""What a TensorRT makes of a plugin by the table of behaviours, without that TensorRT: networks that it refuses
whatever the plugin, and what it accepts.

What a TensorRT does with plugins in loops and conditionals is known of 8.5.3 only (docs/loops-and-conditionals.md), and
so is what it does with INT8 in few dimensions.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import onnx

from pluginkit import bases
from pluginkit.dtypes import DType
from pluginkit.interpreter.api_structure import reads
from pluginkit.layouts import TARGETS, TargetName
from pluginkit.network import api_model as api
from pluginkit.network.networks import Network, PluginCall
from pluginkit.runtimes.tensorrt.behaviours import BEHAVIOURS, Behaviour

IN_LOOP, NESTED, QUANTIZED = (
    BEHAVIOURS[name] for name in ("plugin-in-loop", "plugin-in-if-in-if", "quantized-in-flow")
)
IN_BRANCH, IN_BRANCHES = (BEHAVIOURS[name] for name in ("plugin-in-branch", "plugins-in-branches"))
SHARED, FEW_DIMENSIONS = (BEHAVIOURS[name] for name in ("shared-input-layers", "int8-few-dimensions"))


@dataclass(frozen=True)
class PluginPlace:
    """Where a plugin stands.

    Attributes:
        node: its name.
        looped: whether what it computes changes from one iteration of a loop to the next.
        conditionals: in how many it is.
        quantized: whether it gets its input from a QuantizeLinear within the same branch or body.
    """

    node: str
    looped: bool
    conditionals: int
    quantized: bool

    def refused(self, target: TargetName) -> Behaviour | None:
        """The row of TensorRT's refusal, whatever the plugin; None where none is known."""
        if target != "8.5":
            return None
        if self.looped:
            return IN_LOOP
        if self.conditionals > 1:
            return NESTED
        return QUANTIZED if self.quantized else None


def places(graph: onnx.GraphProto, is_plugin: Callable[[onnx.NodeProto], bool]) -> Iterator[PluginPlace]:
    """Where the plugins of a model stand."""
    return _Graphs(is_plugin).places(graph, frozenset(), 0, inner=False, controlled=False)


def of_network(network: Network | api.ApiNetwork, target: TargetName) -> Behaviour | None:
    """Why a TensorRT refuses a test network, whatever the plugin; None where no reason is known."""
    if row := next((row for place in _places_in(network) if (row := place.refused(target))), None):
        return row
    if target != "8.5":
        return None
    if isinstance(network, api.ApiNetwork) and _shares_inputs(network):
        return SHARED
    return FEW_DIMENSIONS if any(map(_has_few_dimensions, network.calls)) else None


def shown_by(network: Network | api.ApiNetwork) -> Behaviour | None:
    """The row of the table that a test network is an example of, by where its plugins stand; None where all stand
    outside of conditionals and compute the same in each iteration of a loop."""
    if refused := of_network(network, "8.5"):
        return refused
    inside = sum(place.conditionals > 0 for place in _places_in(network))
    return {0: None, 1: IN_BRANCH}.get(inside, IN_BRANCHES)


LEAST_OF_INT8 = 3
"""Dimensions of an INT8 tensor of a plugin in TensorRT 8.5."""


def _has_few_dimensions(call: PluginCall) -> bool:
    ranks = zip(call.types, call.ranks, strict=True)
    return call.live and any(kind is DType.INT8 and (rank or 0) < LEAST_OF_INT8 for kind, rank in ranks)


def _shares_inputs(network: api.ApiNetwork) -> bool:
    """Whether a plugin reads two input layers of a conditional or more, one of which another step reads too."""
    inner = {step.out for step in network.steps if isinstance(step, api.BranchInput)}
    readers = Counter(name for step in network.steps for name in {*reads(step)})
    layers = [step.inputs for step in network.steps if isinstance(step, api.PluginLayer)]
    return any(
        sum(name in inner for name in names) > 1 and any(readers[name] > 1 for name in names if name in inner)
        for names in layers
    )


def _places_in(network: Network | api.ApiNetwork) -> list[PluginPlace]:
    # What nothing depends on is left out by the builder before it can refuse it.
    live = {call.node for call in network.calls if call.live}
    if isinstance(network, Network):
        return list(places(onnx.load_from_string(network.model).graph, lambda node: node.name in live))
    return [place for place in _by_api(network) if place.node in live]


class _Graphs:
    def __init__(self, is_plugin: Callable[[onnx.NodeProto], bool]) -> None:
        self._is_plugin = is_plugin

    def places(
        self, graph: onnx.GraphProto, outer: frozenset[str], conditionals: int, *, inner: bool, controlled: bool
    ) -> Iterator[PluginPlace]:
        """Those in a graph. `outer` are the tensors around it that change in a loop; `controlled`: whether a condition
        around it does."""
        varying, quantized = set(outer), set[str]()
        for node in graph.node:
            bodies = [one.g for one in node.attribute if one.type == onnx.AttributeProto.GRAPH]
            varies = not varying.isdisjoint(_used(node, bodies))
            if self._is_plugin(node):
                feeds = inner and not quantized.isdisjoint(node.input)
                yield PluginPlace(node.name, varies or controlled, conditionals, feeds)
            for body in bodies:
                loop = node.op_type in ("Loop", "Scan")
                inside = frozenset(varying | {one.name for one in body.input}) if loop else frozenset(varying)
                condition = controlled or (not loop and node.input[0] in varying)
                yield from self.places(body, inside, conditionals + (not loop), inner=True, controlled=condition)
            quantized |= set(node.output) if node.op_type == "QuantizeLinear" else set()
            varying |= set(node.output) if varies else set()


def _used(node: onnx.NodeProto, bodies: Sequence[onnx.GraphProto]) -> set[str]:
    names = set(node.input)
    for body in bodies:
        for one in body.node:
            names |= _used(one, [found.g for found in one.attribute if found.type == onnx.AttributeProto.GRAPH])
    return names


def _by_api(network: api.ApiNetwork) -> Iterator[PluginPlace]:
    """The same of a network made by NVIDIA's API, where it follows from what a layer depends on."""
    around = _Around(network)
    for step in network.steps:
        if isinstance(step, api.PluginLayer) and not api.is_probe(step.node):
            kinds = [kind for kind, _ in {one for name in step.inputs for one in around.of(name)}]
            yield PluginPlace(step.node, "loop" in kinds, kinds.count("if"), quantized=False)


class _Around:
    """The loops and conditionals that each tensor is in."""

    def __init__(self, network: api.ApiNetwork) -> None:
        self._by_out: dict[str, api.Step] = {}
        self._known: dict[str, frozenset[tuple[str, str]]] = {}
        for step in network.steps:
            outs = step.outs if isinstance(step, api.PluginLayer) else [getattr(step, "out", "")]
            self._by_out.update(dict.fromkeys(outs, step))

    def of(self, name: str) -> frozenset[tuple[str, str]]:
        if name not in self._known:
            step = self._by_out[name]
            inputs = (step.x,) if isinstance(step, (api.Recurrence, api.IteratorLayer)) else reads(step)
            found = {one for other in inputs for one in self.of(other)}
            if isinstance(step, (api.Recurrence, api.IteratorLayer)):
                found |= {("loop", step.loop)}
            elif isinstance(step, api.BranchInput):
                found |= {("if", step.conditional)}
            elif isinstance(step, api.LoopOutput):
                found -= {("loop", step.loop)}
            elif isinstance(step, api.BranchOutput):
                found -= {("if", step.conditional)}
            self._known[name] = frozenset(found)
        return self._known[name]


@dataclass(frozen=True)
class Accepted:
    """What is known of one matter.

    Attributes:
        what: the matter.
        text: what that TensorRT does, in Markdown.
        known: `by a run`, `by a document` or `not known`.
        refused: whether that TensorRT refuses it.
    """

    what: str
    text: str
    known: str
    refused: bool = False

    @property
    def line(self) -> str:
        """As it is shown."""
        text = re.sub(r"\[([^]]*)\]\([^)]*\)|[*`]", r"\1", self.text)
        return f"{self.what}: {text if text == self.known else f'{text} ({self.known})'}"


MATTERS = {
    "plugins in loops": "plugin-in-loop",
    "plugins in conditionals": "plugin-in-branch",
    "plugins in nested conditionals": "plugin-in-if-in-if",
    "INT8 by dynamic ranges": "scale-of-ranges",
    "INT8 by calibration": "calibration",
    "INT8 by Q/DQ layers": "explicit-quantization",
}
"""What is reported for each TensorRT, with the row of the table that says it."""


def of_table(target: TargetName) -> list[Accepted]:
    """What a TensorRT accepts of plugins, by the table of behaviours."""
    rows = {what: BEHAVIOURS[name] for what, name in MATTERS.items()}
    return [Accepted(what, *row.of(target), target == "8.5" and bool(row.refused)) for what, row in rows.items()]


def of_plugin(interfaces: Sequence[bases.Name], target: TargetName) -> list[Accepted]:
    """The same with whether that TensorRT has one of a plugin's interfaces."""
    there = [bases.BASES[name] for name in interfaces]
    layout = TARGETS[target].layout
    fits = [one for one in there if layout.has_v3 or one.generation == "v2"]
    if target == "rtx" and not any(one.generation == "v3" for one in there):
        first = Accepted("interface", "takes no V2 class; what was tried is with the V3 adapter", "by a run")
    elif fits:
        first = Accepted("interface", f"has {fits[-1].interface}", "by a document")
    else:
        first = Accepted("interface", f"has no {there[0].interface}", "by a document", refused=True)
    return [first, *of_table(target)]


def lacking(kinds: Sequence[DType], lacks: frozenset[DType]) -> str:
    """Of a plugin's element types those that are not there, for the user."""
    return ", ".join(kind.short for kind in kinds if kind in lacks)
