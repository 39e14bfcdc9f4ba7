"""What a model shows of its chosen nodes' tensors: types, dimensions, and sizes at the profile's min, opt and max."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import onnx

from pluginkit.importing.control_flow.types import declare, write
from pluginkit.importing.extraction.capture_worker import Captured
from pluginkit.importing.extraction.neighbours import Neighbour, resolved, types
from pluginkit.importing.extraction.selection import MARK, Selection
from pluginkit.importing.inputs import inferred_at
from pluginkit.importing.onnx_graph import dims
from pluginkit.importing.profiles import POINTS
from pluginkit.importing.rules.tensor_types import walk
from pluginkit.network.networks import NetworkProfile

ROUNDS = 8
"""Chosen nodes behind each other cost an inference of the model each; behind so many nothing more is known."""
FLOATS = (
    onnx.TensorProto.FLOAT,
    onnx.TensorProto.FLOAT16,
    onnx.TensorProto.BFLOAT16,
    onnx.TensorProto.DOUBLE,
)

Dim = int | str | None


@dataclass(frozen=True)
class TensorFacts:
    """A tensor of a node.

    Attributes:
        kind: `onnx.TensorProto.DataType`; 0: not known.
        dims: numbers, names, None for what is open; None if even the rank isn't known.
        sizes: the shape at the profile's min, opt and max, as far as it is known.
        assumed: whether kind and dims are those of the first floating input, because the model doesn't have them.
    """

    kind: int
    dims: tuple[Dim, ...] | None
    sizes: tuple[tuple[int, ...] | None, ...] = (None,) * len(POINTS)
    assumed: bool = False


@dataclass(frozen=True)
class NodeFacts:
    """A chosen node: its inputs and outputs that are not left out, with their positions."""

    label: str
    node: onnx.NodeProto
    inputs: dict[int, TensorFacts]
    outputs: dict[int, TensorFacts]


def read(
    selection: Selection,
    profile: NetworkProfile,
    captured: Mapping[str, Captured],
    neighbours: Sequence[Neighbour] = (),
) -> list[NodeFacts]:
    """All of the chosen nodes.

    Args:
        selection: the nodes.
        profile: what the model's inputs are at min, opt and max.
        captured: what some of the nodes were given in a run at opt.
        neighbours: plugins of other nodes.
    """
    plain, assumed = _seen(selection.model, captured, neighbours)
    at = [
        _seen(inferred_at(resolved(selection.model, profile, point), profile, point), captured, neighbours)[0]
        for point in range(len(POINTS))
    ]
    found = []
    for label, node in zip(selection.labels, selection.nodes, strict=True):
        given = captured.get(label)

        def facts(name: str, array: object, label: str = label) -> TensorFacts:
            tensor = plain[label].get(name)
            known = [one[label].get(name) if label in one else None for one in at]
            sizes = [_numbers(one) for one in known]
            shape = getattr(array, "shape", None)
            if shape is not None:
                sizes[1] = tuple(shape)
            kind = tensor.elem_type if tensor is not None else 0
            if shape is not None and not kind:
                kind = onnx.helper.np_dtype_to_tensor_dtype(array.dtype)  # type: ignore[attr-defined]
            have = dims(tensor) if tensor is not None else None
            if have is None and shape is not None:
                have = tuple(shape) if None not in (sizes[0], sizes[2]) else (None,) * len(shape)
            return TensorFacts(kind, have, tuple(sizes), name in assumed)

        arrays_in = given[0] if given else [None] * len(node.input)
        arrays_out = given[1] if given and given[1] is not None else [None] * len(node.output)
        inputs = {
            index: facts(name, array)
            for index, (name, array) in enumerate(zip(node.input, arrays_in, strict=True))
            if name
        }
        outputs = {
            index: facts(name, array)
            for index, (name, array) in enumerate(zip(node.output, arrays_out, strict=False))
            if name
        }
        found.append(NodeFacts(label, node, inputs, outputs))
    return found


Seen = dict[str, Mapping[str, onnx.TypeProto.Tensor]]


def _seen(
    model: onnx.ModelProto, captured: Mapping[str, Captured], neighbours: Sequence[Neighbour]
) -> tuple[Seen, set[str]]:
    """What each chosen node sees, by label, and the names of the outputs that are assumed to be as the inputs are."""
    copied = onnx.ModelProto()
    copied.CopyFrom(model)
    assumed: set[str] = set()
    for _ in range(ROUNDS):
        copied = _inferred(copied)
        added = declare(copied.graph)
        for graph, node, known in walk(copied.graph, ChainMap()):
            label = _label(node)
            for name, kind in ({} if label else types(node, neighbours, known)).items():
                added |= not _declared(known, name) and write(graph, name, kind.tensor_type)
            for index, name in enumerate(node.output if label else ()):
                if not name or _declared(known, name):
                    continue
                like = _like(node, known, captured.get(label), index)
                if like is not None:
                    added |= write(graph, name, like)
                    if captured.get(label, (None, None))[1] is None:
                        assumed.add(name)
        if not added:
            break
    return {_label(node): known for _, node, known in walk(copied.graph, ChainMap()) if _label(node)}, assumed


def _declared(known: Mapping[str, onnx.TypeProto.Tensor], name: str) -> bool:
    return name in known and known[name].HasField("shape")


def _like(
    node: onnx.NodeProto,
    known: Mapping[str, onnx.TypeProto.Tensor],
    captured: Captured | None,
    index: int,
) -> onnx.TypeProto.Tensor | None:
    """What an output is, of which nothing is declared: as it was in a run, or as the first floating input."""
    names = [name for name in node.input if name in known and known[name].elem_type in FLOATS]
    first = known[names[0]] if names else None
    if captured is None or captured[1] is None:
        return first
    array = captured[1][index]
    position = list(node.input).index(names[0]) if names else -1
    source = captured[0][position] if names else None
    kind = onnx.helper.np_dtype_to_tensor_dtype(array.dtype)
    if first is not None and source is not None and source.shape == array.shape:
        found = onnx.TypeProto.Tensor()
        found.CopyFrom(first)
        found.elem_type = kind
        return found
    return onnx.helper.make_tensor_type_proto(kind, [None] * array.ndim).tensor_type


def _inferred(model: onnx.ModelProto) -> onnx.ModelProto:
    try:
        return onnx.shape_inference.infer_shapes(model)
    except Exception:  # noqa: BLE001 - inference is a help: what it can't follow stays open
        return model


def _label(node: onnx.NodeProto) -> str:
    return next((one.s.decode() for one in node.attribute if one.name == MARK), "")


def _numbers(tensor: onnx.TypeProto.Tensor | None) -> tuple[int, ...] | None:
    have = dims(tensor) if tensor is not None else None
    sizes: Sequence[int] = [one for one in have or () if isinstance(one, int)]
    return tuple(sizes) if have is not None and len(sizes) == len(have) else None
