"""The worker's side of `capture`: a model is run, and what the chosen nodes are given is kept.

Nodes behind an operator that can't be run here have no values: they are left out, and so is what depends on them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import onnx

from pluginkit.errors import CheckFailed, ToolMissing, UsageError
from pluginkit.importing import onnx_sessions
from pluginkit.importing.cut_model import used
from pluginkit.importing.expected_worker import Oracle, Projects
from pluginkit.importing.extraction.selection import MARK
from pluginkit.importing.onnx_graph import subgraphs
from pluginkit.importing.plugin_node import DOMAIN, Identity
from pluginkit.manifest import Manifest
from pluginkit.network.networks import Array
from pluginkit.testing.reference import Reference

Captured = tuple[list[Array | None], list[Array] | None]
"""A node's inputs, None where it has none; and its outputs, None where it can't be run."""


def run(model: bytes, single: bytes, feeds: Mapping[str, Array], projects: Projects) -> dict[str, Captured]:
    """The first run of each chosen node, by its label.

    Args:
        model: the chosen nodes are in the domain `plugin_node.DOMAIN`, and have the attribute `selection.MARK`.
        single: a model of one such node alone, as it was; it is run where onnxruntime can.
        feeds: the graph's inputs.
        projects: the plugins that other nodes of that domain name, whose reference.py computes them.

    Raises:
        ToolMissing: onnxruntime isn't installed.
        UsageError: the model can't be run on these inputs.
    """
    plugins = {key: (manifest, Reference.load(path, manifest)) for key, (path, manifest) in projects.items()}
    recorder = _Recorder(onnx.load_from_string(model), onnx.load_from_string(single), plugins)
    recorder.graph(recorder.model.graph, feeds, {})
    return recorder.found


def loads(single: bytes) -> str:
    """Whether onnxruntime runs a model; what it has against it, empty if nothing.

    Raises:
        ToolMissing: onnxruntime isn't installed.
    """
    try:
        onnx_sessions.session(single)
    except ToolMissing:
        raise
    except Exception as error:  # noqa: BLE001 - it has a class for each of its codes, and no common one
        return str(error).splitlines()[0]
    return ""


class _Recorder(Oracle):
    """An oracle that keeps what the chosen nodes get. `lost` are the tensors that have no value."""

    def __init__(
        self,
        model: onnx.ModelProto,
        single: onnx.ModelProto,
        plugins: Mapping[Identity, tuple[Manifest, Reference]],
    ) -> None:
        super().__init__(model, plugins, 0)
        self.model = model
        self.found: dict[str, Captured] = {}
        self._single = single
        self._lost: set[str] = set()

    def graph(
        self, graph: onnx.GraphProto, values: Mapping[str, Array], constants: Mapping[str, onnx.TensorProto]
    ) -> list[Array]:
        """As of `Oracle`, but for outputs that have no value: these are empty arrays."""
        missing = [value.name for value in graph.output]
        known = dict(values)
        here = {**constants, **{tensor.name: tensor for tensor in graph.initializer}}
        pieces = list(self._pieces(graph.node))
        wanted = set(missing)
        for index, piece in enumerate(pieces):
            later = {name for other in pieces[index + 1 :] for node in other for name in used(node)}
            whole = [node for node in piece if not self._loses(node)]
            if len(piece) == 1 and self._has_plugin(piece[0]):
                if whole:
                    self._node(piece[0], known, here)
            elif whole:
                self._standard(whole, known, here, wanted | later)
        return [
            known[name]
            if name in known
            else onnx.numpy_helper.to_array(here[name])
            if name in here
            else self._without(name)
            for name in missing
        ]

    def _without(self, name: str) -> Array:
        self._lost.add(name)
        return np.zeros(0, np.float32)

    def _loses(self, node: onnx.NodeProto) -> bool:
        """Whether a node has no value; its outputs then have none either."""
        inner = self._has_plugin(node) and node.domain != DOMAIN
        needed = {name for name in node.input if name} if inner else used(node)
        if not needed & self._lost and (inner or node.domain == DOMAIN or _known(node)):
            return False
        self._lost.update(name for name in node.output if name)
        return True

    def _node(self, node: onnx.NodeProto, known: dict[str, Array], constants: Mapping[str, onnx.TensorProto]) -> None:
        super()._node(node, known, constants)
        if node.domain != DOMAIN and any(self._is_lost(graph) for _, graph in subgraphs(node)):
            self._lost.update(name for name in node.output if name)
        for name in [name for name in node.output if name in self._lost]:
            known.pop(name, None)

    def _is_lost(self, body: onnx.GraphProto) -> bool:
        """A loop ends with its first step then: its nodes have been seen."""
        return any(value.name in self._lost for value in body.output)

    def _plugin(self, node: onnx.NodeProto, inputs: Sequence[Array]) -> list[Array]:
        label = next((one.s.decode() for one in node.attribute if one.name == MARK), None)
        if label is None:
            try:
                return super()._plugin(node, inputs)
            except (CheckFailed, UsageError):  # as a reference.py that isn't written yet
                return self._nothing(node)
        given = iter(inputs)
        listed = [next(given) if name else None for name in node.input]
        outputs = self._run(node, listed)
        self.found.setdefault(label, (listed, outputs))
        return self._nothing(node) if outputs is None else outputs

    def _nothing(self, node: onnx.NodeProto) -> list[Array]:
        self._lost.update(name for name in node.output if name)
        return [np.zeros(0, np.float32)] * len(node.output)

    def _run(self, node: onnx.NodeProto, inputs: Sequence[Array | None]) -> list[Array] | None:
        single = onnx.ModelProto()
        single.CopyFrom(self._single)
        alone = single.graph.node[0]
        del alone.attribute[:]
        alone.attribute.extend(one for one in node.attribute if one.name != MARK)
        feeds = {}
        for value, array in zip(single.graph.input, [one for one in inputs if one is not None], strict=False):
            value.type.tensor_type.elem_type = onnx.helper.np_dtype_to_tensor_dtype(array.dtype)
            value.type.tensor_type.ClearField("shape")
            feeds[value.name] = array
        for value in single.graph.output:
            value.ClearField("type")
        try:
            outputs = list(onnx_sessions.session(single.SerializeToString()).run(None, feeds))
        except ToolMissing:
            raise
        except Exception:  # noqa: BLE001 - it has a class for each of its codes, and no common one
            return None
        # Sequences and maps are nothing that a plugin has.
        return outputs if all(isinstance(one, np.ndarray) for one in outputs) else None


def _known(node: onnx.NodeProto) -> bool:
    """Whether onnxruntime may have an operator: it has all of ONNX's, and its own domains."""
    domain = "" if node.domain == "ai.onnx" else node.domain
    return onnx.defs.has(node.op_type, domain) or domain.startswith(("com.microsoft", "ai.onnx"))


def compute(single: bytes, feeds: Mapping[str, Array]) -> list[Array]:
    """The outputs of a model.

    Raises:
        CheckFailed: onnxruntime can't compute them.
        ToolMissing: onnxruntime isn't installed.
    """
    try:
        return list(onnx_sessions.session(single).run(None, dict(feeds)))
    except ToolMissing:
        raise
    except Exception as error:  # noqa: BLE001 - it has a class for each of its codes, and no common one
        raise CheckFailed(str(error).splitlines()[0]) from None
