"""What an ONNX model says of a plugin's node: values of fields, shapes, types, and constant inputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import onnx
from onnx import AttributeProto, TensorProto

from pluginkit import field_types
from pluginkit.adoption.answers import FieldValue, ListedCreator
from pluginkit.errors import UsageError
from pluginkit.importing import onnx_graph
from pluginkit.importing.implementations import wanted
from pluginkit.importing.profiles import DEFAULT, POINTS
from pluginkit.network.networks import Array

DATA_TYPES = {
    TensorProto.FLOAT: 0,
    TensorProto.DOUBLE: 0,  # NVIDIA's parser makes float32 of it
    TensorProto.FLOAT16: 1,
    TensorProto.INT8: 2,
    TensorProto.FLOAT8E4M3FN: 6,
    TensorProto.INT32: 3,
    TensorProto.BOOL: 4,
    TensorProto.BFLOAT16: 7,
    TensorProto.INT64: 8,
}
"""ONNX's element types -> `nvinfer1::DataType`."""

_WHOLE = (3, 4, 8)
"""INT32, BOOL and INT64 there."""
_TENSORS = {"float32": "kFLOAT32", "float64": "kFLOAT32", "float16": "kFLOAT16", "int32": "kINT32", "int8": "kINT8"}


@dataclass(frozen=True)
class ModelNode:
    """What a model says of a plugin's node.

    Attributes:
        name: of the node, for messages.
        inputs, outputs: names of its tensors.
        shapes: of each input its dimensions: a number, or a name where it is open; None where no rank is known.
        types: of each input the number of `nvinfer1::DataType`; None where it is not known.
        given: the attributes as NVIDIA's parser passes them, of the fields that the creator lists.
        constants: the inputs that are constants of the model, by their places.
        missing: fields that the creator lists and the node has no attribute for.
    """

    name: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    shapes: tuple[tuple[int | str, ...] | None, ...]
    types: tuple[int | None, ...]
    given: tuple[FieldValue, ...]
    constants: dict[int, Array] = field(default_factory=dict)
    missing: tuple[str, ...] = ()

    @property
    def ranks(self) -> tuple[int, ...] | None:
        """Of the inputs; None where one is not known."""
        known = [len(shape) for shape in self.shapes if shape is not None]
        return tuple(known) if len(known) == len(self.shapes) else None

    def sizes(self, dim: int | str) -> tuple[int, int, int]:
        """min, opt and max of a dimension: the number that it is, or `pluginkit import`'s defaults."""
        low, best, high = (dim if isinstance(dim, int) else DEFAULT[point] for point in POINTS)
        return low, best, high

    def network(self) -> tuple[tuple[int, ...], ...]:
        """The inputs' dimensions with -1 where they are open; none where a shape is not known."""
        if self.ranks is None:
            return ()
        return tuple(tuple(dim if isinstance(dim, int) else -1 for dim in shape or ()) for shape in self.shapes)

    def opt_sizes(self) -> tuple[tuple[int, ...], ...]:
        """The inputs' dimensions at opt; none where a shape is not known."""
        if self.ranks is None:
            return ()
        return tuple(tuple(self.sizes(dim)[1] for dim in shape or ()) for shape in self.shapes)

    def data(self) -> list[Array]:
        """The inputs for `pluginkit test --data`: constants as they are, other numbers drawn; none where the model has
        no constant inputs, or a shape is not known."""
        if not self.constants or self.ranks is None:
            return []
        draw = np.random.default_rng(0)
        sizes = self.opt_sizes()
        whole = [kind in _WHOLE for kind in self.types]
        return [
            self.constants[index]
            if index in self.constants
            else np.zeros(size, np.int32)
            if whole[index]
            else draw.standard_normal(size).astype(np.float32)
            for index, size in enumerate(sizes)
        ]


def read(path: Path, creators: Sequence[ListedCreator]) -> dict[int, ModelNode]:
    """The first node of each creator that a model has one for, by the creator's index.

    Raises:
        UsageError: no model, or none of its nodes is one of these creators'.
    """
    proto = onnx_graph.load(path)
    known = onnx_graph.shapes(proto)
    constants = {one.name: onnx.numpy_helper.to_array(one) for one in proto.graph.initializer}
    found: dict[int, ModelNode] = {}
    operators = dict.fromkeys(place.node.op_type for place in onnx_graph.places(proto.graph))
    for place in onnx_graph.places(proto.graph):
        identities = wanted(place.node, native=False)
        for one in creators:
            if one.index not in found and (one.name, one.version, one.namespace) in identities:
                found[one.index] = _node(place.node, one, known, constants)
    if not found:
        raise UsageError(
            f"{path} has no node of {', '.join(f'{one.name} {one.version}' for one in creators)}; its operators are "
            f"{', '.join(operators)}.",
            hint="A node names its plugin by op_type, and by the attributes plugin_version and plugin_namespace.",
        )
    return found


def _node(
    node: onnx.NodeProto,
    creator: ListedCreator,
    known: Mapping[str, onnx.TypeProto.Tensor],
    constants: Mapping[str, Array],
) -> ModelNode:
    inputs = [name for name in node.input if name]
    tensors = [known.get(name) for name in inputs]
    by_name = {one.name: one for one in node.attribute}
    # NVIDIA's parser passes them in the creator's order, and some creators read them by their places.
    attributes = {one.name: by_name[one.name] for one in creator.fields if one.name in by_name}
    return ModelNode(
        node.name or (node.output[0] if node.output else node.op_type),
        tuple(inputs),
        tuple(node.output),
        tuple(_shape(one, name) for one, name in zip(tensors, inputs, strict=True)),
        tuple(DATA_TYPES.get(one.elem_type) if one is not None else None for one in tensors),
        tuple(_field(one) for one in attributes.values()),
        {index: constants[name] for index, name in enumerate(inputs) if name in constants},
        tuple(one.name for one in creator.fields if one.name not in attributes),
    )


def _shape(tensor: onnx.TypeProto.Tensor | None, name: str) -> tuple[int | str, ...] | None:
    dims = None if tensor is None else onnx_graph.dims(tensor)
    if dims is None:
        return None
    # Some exporters write -1 or 0 for a dimension that is open.
    return tuple(
        dim if isinstance(dim, str) or (dim is not None and dim > 0) else f"{name}:{at}" for at, dim in enumerate(dims)
    )


def _field(one: onnx.AttributeProto) -> FieldValue:
    """An attribute as NVIDIA's parser (TensorRT-RTX 1.7.1) passes it; integers are cut to 32 bits there."""
    value = onnx.helper.get_attribute_value(one)
    if one.type in {AttributeProto.STRING, AttributeProto.STRINGS}:
        texts = value if one.type == AttributeProto.STRINGS else [value]
        data = b"".join(text + b"\0" for text in texts)
        return one.name, field_types.NAMES.index("kCHAR"), data, len(data)
    if one.type == AttributeProto.TENSOR:
        array = onnx.numpy_helper.to_array(value)
        kind = _TENSORS.get(array.dtype.name, "kUNKNOWN")
        array = array.astype(np.float32) if array.dtype == np.float64 else array
    elif one.type in {AttributeProto.FLOAT, AttributeProto.FLOATS}:
        kind, array = "kFLOAT32", np.atleast_1d(np.asarray(value, np.float32))
    elif one.type in {AttributeProto.INT, AttributeProto.INTS}:
        kind, array = "kINT32", np.atleast_1d(np.asarray(value, np.int64)).astype(np.int32)
    else:
        return one.name, field_types.NAMES.index("kUNKNOWN"), None, 0
    data = array.tobytes()
    return one.name, field_types.NAMES.index(kind), data or None, array.size
