"""A model that is run in pieces: its plugins' nodes by a function, all else by onnxruntime.

The graph is cut at the plugins' nodes: what lies between them is run by onnxruntime in one piece. An If or Loop with a
plugin in it is run here, its body cut in the same way.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx

from pluginkit.errors import UsageError
from pluginkit.importing import onnx_sessions
from pluginkit.importing.onnx_graph import subgraphs
from pluginkit.importing.plugin_node import DOMAIN
from pluginkit.interpreter import walker
from pluginkit.interpreter.scan import Slicing
from pluginkit.network.networks import Array


@dataclass(frozen=True)
class _Piece:
    """Nodes without a plugin.

    Attributes:
        nodes: the nodes. What is alive keeps its id, by which the piece is found again.
        session: onnxruntime's.
    """

    nodes: Sequence[onnx.NodeProto]
    session: Any


class CutModel(ABC):
    """A model whose nodes of the domain `plugin_node.DOMAIN` are computed by `_plugin`."""

    def __init__(self, model: onnx.ModelProto) -> None:
        self._model = model
        self._pieces_by_key: dict[tuple[Any, ...], _Piece] = {}

    def outputs(self, feeds: Mapping[str, Array]) -> dict[str, Array]:
        """The graph's outputs by name."""
        graph = self._model.graph
        return dict(zip((value.name for value in graph.output), self.graph(graph, feeds, {}), strict=True))

    def graph(
        self, graph: onnx.GraphProto, values: Mapping[str, Array], constants: Mapping[str, onnx.TensorProto]
    ) -> list[Array]:
        """A graph's outputs; `values` and `constants` are what is known outside of it."""
        known = dict(values)
        here = {**constants, **{tensor.name: tensor for tensor in graph.initializer}}
        wanted = {value.name for value in graph.output}
        pieces = list(self._pieces(graph.node))
        for index, piece in enumerate(pieces):
            if len(piece) == 1 and self._has_plugin(piece[0]):
                self._node(piece[0], known, here)
            else:
                later = {name for other in pieces[index + 1 :] for node in other for name in used(node)}
                self._standard(piece, known, here, wanted | later)
        return [known[v.name] if v.name in known else onnx.numpy_helper.to_array(here[v.name]) for v in graph.output]

    def _pieces(self, nodes: Sequence[onnx.NodeProto]) -> Iterator[list[onnx.NodeProto]]:
        piece: list[onnx.NodeProto] = []
        for node in nodes:
            if self._has_plugin(node):
                yield from ([piece] if piece else [])
                yield [node]
                piece = []
            else:
                piece.append(node)
        yield from ([piece] if piece else [])

    def _has_plugin(self, node: onnx.NodeProto) -> bool:
        inner = (other for _, graph in subgraphs(node) for other in graph.node)
        return node.domain == DOMAIN or any(self._has_plugin(other) for other in inner)

    def _standard(
        self,
        nodes: Sequence[onnx.NodeProto],
        known: dict[str, Array],
        constants: Mapping[str, onnx.TensorProto],
        wanted: set[str],
    ) -> None:
        """Nodes without a plugin, by onnxruntime: a session for each piece and the types that it is fed."""
        onnx_sessions.runtime("onnxruntime, which runs what is not a plugin,")
        made = {name for node in nodes for name in node.output if name}
        needed = sorted({name for node in nodes for name in used(node)} - made)
        if others := [name for name in needed if name in known and not hasattr(known[name], "dtype")]:
            raise UsageError(
                f"'{others[0]}' is not a tensor, and nothing else is passed from one piece of the model to another"
            )
        types = {name: known[name].dtype for name in needed if name in known}
        outputs = sorted(made & wanted)
        if not outputs:
            return
        key = (*map(id, nodes), *outputs, *((name, kind.str) for name, kind in types.items()))
        try:
            if key not in self._pieces_by_key:
                tensors = [constants[name] for name in needed if name in constants and name not in known]
                self._pieces_by_key[key] = _Piece(nodes, self._session(nodes, types, outputs, tensors))
            session = self._pieces_by_key[key].session
            values = session.run(outputs, {name: known[name] for name in types})
        except UsageError:
            raise
        except Exception as error:  # noqa: BLE001 - it has a class for each of its codes, and they have no base of their own
            raise UsageError(plain(str(error))) from None
        known.update(zip(outputs, values, strict=True))

    def _session(
        self,
        nodes: Sequence[onnx.NodeProto],
        types: Mapping[str, np.dtype[Any]],
        outputs: Sequence[str],
        constants: Sequence[onnx.TensorProto],
    ) -> Any:
        kind = onnx.helper.np_dtype_to_tensor_dtype
        graph = onnx.helper.make_graph(
            nodes,
            "piece",
            [onnx.helper.make_tensor_value_info(name, kind(dtype), None) for name, dtype in types.items()],
            # Without a type: onnxruntime finds it.
            [onnx.ValueInfoProto(name=name) for name in outputs],
            constants,
        )
        model = onnx.helper.make_model(
            graph, opset_imports=self._model.opset_import, ir_version=min(self._model.ir_version, 10)
        )
        try:
            return onnx_sessions.session(model.SerializeToString())
        except Exception as error:  # noqa: BLE001 - as of a run
            hint = "fix the model first: onnxruntime does not load it"
            raise UsageError(plain(str(error)), hint=hint) from None

    def _node(self, node: onnx.NodeProto, known: dict[str, Array], constants: Mapping[str, onnx.TensorProto]) -> None:
        """A plugin, or control flow around one."""
        inputs = [_value(name, known, constants) if name else None for name in node.input]
        if node.domain == DOMAIN:
            outputs: Sequence[Array] = self._plugin(node, [value for value in inputs if value is not None])
        elif node.op_type == "If":
            condition = inputs[0]
            chosen = "then_branch" if condition is not None and condition.item() else "else_branch"
            outputs = self.graph(dict(subgraphs(node))[chosen], known, constants)
        elif node.op_type == "Loop":
            outputs = self._loop(dict(subgraphs(node))["body"], inputs, known, constants)
        elif node.op_type == "Scan" and all(node.input):
            outputs = self._scan(node, [value for value in inputs if value is not None], known, constants)
        else:
            raise UsageError(f"node {node.name}: a plugin inside {node.op_type} is not followed here")
        known.update((name, value) for name, value in zip(node.output, outputs, strict=False) if name)

    def _loop(
        self,
        body: onnx.GraphProto,
        inputs: Sequence[Array | None],
        known: Mapping[str, Array],
        constants: Mapping[str, onnx.TensorProto],
    ) -> list[Array]:
        limit, going = (inputs[0], inputs[1]) if len(inputs) > 1 else (inputs[0], None)
        states = [value for value in inputs[2:] if value is not None]
        scanned: list[list[Array]] = [[] for _ in body.output[1 + len(states) :]]
        proceed, trip = going is None or bool(going.item()), 0
        while proceed and (limit is None or trip < int(limit.item())):
            own = [np.array(trip, np.int64), np.array(proceed), *states]
            feeds = {value.name: one for value, one in zip(body.input, own, strict=True)}
            left = self.graph(body, {**known, **feeds}, constants)
            if self._is_lost(body):
                return [np.zeros(0, np.float32)] * (len(body.output) - 1)
            proceed, states = bool(left[0].item()), left[1 : 1 + len(states)]
            for values, value in zip(scanned, left[1 + len(states) :], strict=True):
                values.append(value)
            trip += 1
        kinds = body.output[1 + len(states) :]
        stacked = [np.stack(v) if v else walker.no_trips(kind) for v, kind in zip(scanned, kinds, strict=True)]
        return [*states, *stacked]

    def _scan(
        self,
        node: onnx.NodeProto,
        inputs: Sequence[Array],
        known: Mapping[str, Array],
        constants: Mapping[str, onnx.TensorProto],
    ) -> list[Array]:
        body, slicing = dict(subgraphs(node))["body"], Slicing.of(node)
        count = len(inputs) - len(slicing.axes)
        states, scanned = list(inputs[:count]), inputs[count:]
        trips = slicing.trips(node.name, scanned)
        found: list[list[Array]] = [[] for _ in slicing.output_axes]
        for trip in range(trips):
            own = [*states, *slicing.slices(scanned, trip, trips)]
            feeds = {value.name: one for value, one in zip(body.input, own, strict=True)}
            left = self.graph(body, {**known, **feeds}, constants)
            if self._is_lost(body):
                return [np.zeros(0, np.float32)] * len(body.output)
            states = left[:count]
            for values, value in zip(found, left[count:], strict=True):
                values.append(value)
        ends = zip(found, body.output[count:], strict=True)
        return [*states, *(slicing.together(index, values, output) for index, (values, output) in enumerate(ends))]

    def _is_lost(self, body: onnx.GraphProto) -> bool:  # noqa: ARG002 - of those who go on without some values
        """Whether a body's outputs have no values, so that there is no next step."""
        return False

    @abstractmethod
    def _plugin(self, node: onnx.NodeProto, inputs: Sequence[Array]) -> Sequence[Array]:
        """The outputs of a plugin's node."""


def _value(name: str, known: Mapping[str, Array], constants: Mapping[str, onnx.TensorProto]) -> Array:
    if name in known:
        return known[name]
    value: Array = onnx.numpy_helper.to_array(constants[name])
    return value


def plain(message: str) -> str:
    """onnxruntime's message without its codes and the places in its source."""
    text = re.sub(r"^\[ONNXRuntimeError\] : \d+ : \w+ : ", "", message.strip())
    # The place in its source, and the function that says it.
    text = re.sub(r"^/\S+:\d+ [^\n]*?\) (?=[A-Z])", "", text)
    if found := re.match(
        r"Non-zero status code returned while running (\w+) node\. Name:'(.*?)' Status Message: ", text
    ):
        rest = re.sub(r"^/\S+:\d+ .*? was false\. ?", "", text[found.end() :])
        return f"onnxruntime: {found[1]} node {found[2]!r} can't be computed: {rest}"
    return f"onnxruntime: {text}"


def used(node: onnx.NodeProto) -> set[str]:
    """The names that a node needs from around it, those that its subgraphs use included."""
    names = {name for name in node.input if name}
    for _, graph in subgraphs(node):
        own = {value.name for value in graph.input} | {tensor.name for tensor in graph.initializer}
        own |= {name for other in graph.node for name in other.output}
        names |= {name for other in graph.node for name in used(other)} - own
        names |= {value.name for value in graph.output} - own
    return names
