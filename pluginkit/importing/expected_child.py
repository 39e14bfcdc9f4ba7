"""The oracle of `running`, in a worker: plugins by reference.py, all else by onnxruntime.

The graph is cut at the plugins' nodes: what lies between them is run by onnxruntime in one piece. An If or Loop with a
plugin in it is run here, its body cut in the same way.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal

import numpy as np
import onnx

from pluginkit.dtypes import PRECISIONS, DType
from pluginkit.errors import CheckFailed, UsageError
from pluginkit.field_types import Value
from pluginkit.importing import onnx_sessions
from pluginkit.importing.hosting import DOMAIN, Identity, identity
from pluginkit.importing.model import subgraphs
from pluginkit.importing.running import Expected
from pluginkit.importing.serving import attribute
from pluginkit.interpreter import walker
from pluginkit.manifest import Attribute, Manifest
from pluginkit.network.model import Array
from pluginkit.testing import precision
from pluginkit.testing.families.base import MEANINGLESS
from pluginkit.testing.reference import Reference

Projects = Mapping[Identity, tuple[Path, Manifest]]


def run(model: bytes, projects: Projects, feeds: Mapping[str, Array]) -> Expected:
    """What the model's outputs must be; the nodes of the domain `hosting.DOMAIN` are the plugins'.

    Raises:
        UsageError: a plugin stands where this can't follow, or reference.py can't be loaded.
        ToolMissing: onnxruntime isn't installed, and there is a node that only it can run.
        CheckFailed: reference.py fails, or the shape of an output follows from elements that it masks.
    """
    proto = onnx.load_from_string(model)
    plugins = {key: (manifest, Reference.load(path, manifest)) for key, (path, manifest) in projects.items()}
    first = Oracle(proto, plugins, 0)
    outputs = first.outputs(feeds)
    if not any(mask.any() for calls in first.free.values() for masks in calls for mask in masks):
        return Expected(outputs)
    # What depends on elements that mean nothing changes with them.
    other = Oracle(proto, plugins, 1).outputs(feeds)
    arbitrary = {}
    for name, value in outputs.items():
        if value.shape != other[name].shape:
            raise CheckFailed(f"the shape of '{name}' depends on elements that reference() masks")
        same = (value == other[name]) | ((value != value) & (other[name] != other[name]))  # noqa: PLR0124 - NaN
        if not same.all():
            arbitrary[name] = ~same
    return Expected(outputs, arbitrary, first.free)


class Oracle:
    """One computation of a model. `free` collects what reference.py masks: of each plugin's node, of each of its runs,
    for each output which elements mean nothing; they get the value number `fill` of `MEANINGLESS`."""

    def __init__(
        self,
        model: onnx.ModelProto,
        plugins: Mapping[Identity, tuple[Manifest, Reference]],
        fill: Literal[0, 1],
    ) -> None:
        self._model = model
        self._plugins = plugins
        self._fill = fill
        self.free: dict[str, list[tuple[Array, ...]]] = {}

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
        """Nodes without a plugin, by onnxruntime."""
        onnx_sessions.runtime("onnxruntime, which runs what is no plugin,")
        made = {name for node in nodes for name in node.output if name}
        needed = {name for node in nodes for name in used(node)} - made
        inputs = [name for name in sorted(needed) if name in known]
        outputs = sorted(made & wanted)
        if not outputs:
            return
        kind = onnx.helper.np_dtype_to_tensor_dtype
        graph = onnx.helper.make_graph(
            nodes,
            "piece",
            [onnx.helper.make_tensor_value_info(name, kind(known[name].dtype), None) for name in inputs],
            # Without a type: onnxruntime finds it.
            [onnx.ValueInfoProto(name=name) for name in outputs],
            [constants[name] for name in sorted(needed) if name in constants and name not in known],
        )
        model = onnx.helper.make_model(
            graph, opset_imports=self._model.opset_import, ir_version=min(self._model.ir_version, 10)
        )
        try:
            session = onnx_sessions.session(model.SerializeToString())
            made_now = session.run(outputs, {name: known[name] for name in inputs})
        except Exception as error:  # noqa: BLE001 - it has a class for each of its codes, and they have no base of their own
            raise UsageError(_plain(str(error))) from None
        known.update(zip(outputs, made_now, strict=True))

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
        else:
            raise UsageError(f"node {node.name}: a plugin inside of {node.op_type} is not followed here")
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
            proceed, states = bool(left[0].item()), left[1 : 1 + len(states)]
            for values, value in zip(scanned, left[1 + len(states) :], strict=True):
                values.append(value)
            trip += 1
        kinds = body.output[1 + len(states) :]
        stacked = [np.stack(v) if v else walker.no_trips(kind) for v, kind in zip(scanned, kinds, strict=True)]
        return [*states, *stacked]

    def _plugin(self, node: onnx.NodeProto, inputs: Sequence[Array]) -> list[Array]:
        """reference.py on what the inputs stand for, its outputs as the plugin's types hold them."""
        manifest, reference = self._plugins[identity(node)]
        fields = {field.name: _field(node, field) for field in manifest.fields}
        scales = {t.name: _scale(fields[t.scale]) if t.scale else 1.0 for t in (*manifest.inputs, *manifest.outputs)}
        # As NVIDIA's parser has it: float64 is float32.
        wide = any(value.dtype == np.float64 for value in inputs)
        kinds = [DType.FLOAT32 if value.dtype == np.float64 else DType(value.dtype.name) for value in inputs]
        computed = next((kind for kind in kinds if kind in PRECISIONS), DType.FLOAT32)
        real = [
            precision.dequantize(value, scales[tensor.name])
            if kind is DType.INT8
            else value.astype(np.int64 if kind is DType.INT32 else np.float64)
            for tensor, value, kind in zip(manifest.inputs, inputs, kinds, strict=True)
        ]
        given = {name: value for name, value in fields.items() if name not in manifest.scale_fields()}
        answer = reference.masked(real, given)
        self.free.setdefault(node.name, []).append(tuple(np.ma.getmaskarray(one) for one in answer))
        filled = [np.ma.filled(one, MEANINGLESS[one.dtype.kind][self._fill]) for one in answer]
        outputs = []
        for tensor, value in zip(manifest.outputs, filled, strict=True):
            kind = manifest.type_of(tensor, computed)
            held = precision.quantize(value, scales[tensor.name]) if kind is DType.INT8 else value
            outputs.append(np.asarray(held).astype(np.float64 if wide and kind is DType.FLOAT32 else kind.numpy))
        return outputs


def _field(node: onnx.NodeProto, field: Attribute) -> Value:
    """What the plugin reads of a node's attribute: the default where there is none."""
    found = attribute(node, field.name)
    if found is None:
        return field.example({field.symbol: 1} if field.symbol else {}, 0) if field.default is None else field.default
    value = onnx.helper.get_attribute_value(found)
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    numbers = onnx.numpy_helper.to_array(value) if isinstance(value, onnx.TensorProto) else np.asarray(value)
    listed = tuple(numbers.reshape(-1).tolist())
    return listed if field.is_list else listed[0]


def _scale(value: Value) -> float:
    return float(value) if isinstance(value, (int, float)) else 1.0


def _value(name: str, known: Mapping[str, Array], constants: Mapping[str, onnx.TensorProto]) -> Array:
    if name in known:
        return known[name]
    value: Array = onnx.numpy_helper.to_array(constants[name])
    return value


def _plain(message: str) -> str:
    """onnxruntime's message without its codes and the places in its source."""
    text = re.sub(r"^\[ONNXRuntimeError\] : \d+ : \w+ : ", "", message.strip())
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
