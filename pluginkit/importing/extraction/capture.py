"""The arrays that a model's nodes work on: the model is run by onnxruntime up to them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from typing_extensions import Self

from pluginkit.importing import inputs, plugin_node
from pluginkit.importing.extraction.capture_worker import Captured
from pluginkit.importing.extraction.neighbours import Neighbour, of
from pluginkit.importing.extraction.selection import MARK, Selection
from pluginkit.importing.files import recorded
from pluginkit.importing.onnx_graph import places
from pluginkit.manifest import Manifest
from pluginkit.network.networks import NetworkProfile
from pluginkit.process.worker import Worker, WorkerCrashed, WorkerTimeout

CHILD = "pluginkit.importing.extraction.capture_worker"


def single(selection: Selection, kinds: Mapping[int, int] | None = None) -> onnx.ModelProto:
    """A model of the first chosen node alone, its tensors called by their positions: i0, o0.

    `kinds` are the inputs' element types by position, float where none is given.
    """
    node = onnx.NodeProto()
    node.CopyFrom(selection.nodes[0])
    for one in [one for one in node.attribute if one.name == MARK]:
        node.attribute.remove(one)
    given = [index for index, name in enumerate(node.input) if name]
    node.input[:] = [f"i{index}" if name else "" for index, name in enumerate(node.input)]
    node.output[:] = [f"o{index}" if name else "" for index, name in enumerate(node.output)]
    kinds = kinds or {}
    graph = onnx.helper.make_graph(
        [node],
        "operator",
        [
            onnx.helper.make_tensor_value_info(f"i{index}", kinds.get(index, onnx.TensorProto.FLOAT), None)
            for index in given
        ],
        [onnx.ValueInfoProto(name=name) for name in node.output if name],
    )
    model = onnx.helper.make_model(
        graph, opset_imports=selection.model.opset_import, ir_version=min(selection.model.ir_version, 10)
    )
    if selection.function is not None:
        model.functions.append(selection.function)
    return model


class OnnxProcess:
    """onnxruntime in a worker, which begins when it is first asked, and again where it has died. A context manager."""

    def __init__(self, timeout: float) -> None:
        self._timeout = timeout
        self._worker: Worker | None = None

    def call(self, method: str, **given: Any) -> Any:
        """Call a function of `capture_child`, for `timeout` seconds at most."""
        if self._worker is None:
            self._worker = Worker(CHILD, {}, timeout=self._timeout)
        try:
            return self._worker.call(method, **given)
        except (WorkerCrashed, WorkerTimeout):
            self._worker = None
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        if self._worker is not None:
            self._worker.close()


def run(
    process: OnnxProcess,
    selection: Selection,
    profile: NetworkProfile,
    data: Path | None,
    *,
    seed: int,
    neighbours: Sequence[Neighbour] = (),
) -> dict[str, Captured]:
    """What each chosen node is given in a run at the profile's opt, by label.

    Args:
        process: what runs it.
        selection: the nodes.
        profile: the shapes of the model's inputs.
        data: an .npz with arrays for the model's inputs; those that it lacks are drawn.
        seed: what drawn values follow from.
        neighbours: plugins of other nodes; those whose projects are there compute them.

    Raises:
        UsageError: the model can't be run on these inputs, or the data isn't for it.
        ToolMissing: onnxruntime isn't installed.
    """
    model = onnx.ModelProto()
    model.CopyFrom(selection.model)
    projects: dict[plugin_node.Identity, tuple[Path, Manifest]] = {}
    for node in (place.node for place in places(model.graph)):
        if any(one.name == MARK for one in node.attribute):
            node.domain = plugin_node.DOMAIN
        elif (found := of(node, neighbours)) and found.folder is not None:
            projects[found.identity] = found.folder, found.manifest
            _name(node, found.identity)
    feeds, _ = inputs.draw(model, profile, plugin_node.DOMAIN, np.random.default_rng(seed))
    if data is not None:
        feeds = recorded.fed(data, recorded.arrays(data, feeds, "input"), feeds)
    found = process.call(
        "run",
        model=model.SerializeToString(),
        single=single(selection).SerializeToString(),
        feeds=feeds,
        projects=projects,
    )
    assert isinstance(found, dict)
    return found


def _name(node: onnx.NodeProto, identity: plugin_node.Identity) -> None:
    """Let a node name its plugin, as `plugin_node.identity` reads it."""
    _, version, namespace = identity
    others = [one for one in node.attribute if one.name not in (plugin_node.VERSION, plugin_node.NAMESPACE)]
    del node.attribute[:]
    node.attribute.extend(others)
    node.attribute.append(onnx.helper.make_attribute(plugin_node.VERSION, version))
    node.attribute.append(onnx.helper.make_attribute(plugin_node.NAMESPACE, namespace))
    node.domain = plugin_node.DOMAIN


def runnable(process: OnnxProcess, model: onnx.ModelProto) -> bool:
    """Whether onnxruntime can run a model.

    Raises:
        ToolMissing: onnxruntime isn't installed.
    """
    return not process.call("loads", single=model.SerializeToString())
